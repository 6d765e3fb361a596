package table

// One GET, rung by rung: from the parsing of its reply to the whole client.

import (
	"context"
	"flag"
	"fmt"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/memwire"
	"github.com/vaquero-cache/memcache/bench/internal/micro"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type ladder struct {
	served
	callers ints
}

// The rungs without a system call.
const (
	rungCode   = "without a wire"
	rungMemory = "GET on a wire in memory, 1 caller"
)

func newLadder(fs *flag.FlagSet) Work {
	t := &ladder{callers: ints{1, 16, 64, 256}}
	t.flags(fs, ints{1}, contender.FloorEcho, contender.FloorMeta, contender.Vaquero, contender.Gomemcache, contender.QuangTung)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.Var(&t.callers, "callers", "numbers of callers on sockets")
	return t.work
}

func (t *ladder) work(ctx context.Context, s *Session) error {
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Ratios = ratios(t.kinds,
		report.Ratio{Figure: report.P25, Base: contender.FloorMeta},
		report.Ratio{Figure: report.CPU, Base: contender.FloorMeta},
		report.Ratio{Figure: report.P25, Base: contender.FloorEcho},
	)
	rungs, err := micro.Rungs()
	if err != nil {
		return err
	}
	code := run.Row{Name: rungCode, Callers: 1, Items: rungs.Items}
	for _, c := range rungs.Contenders {
		code.Contenders = append(code.Contenders, run.Contender{Name: c.Name, Caller: func(int) (run.Caller, error) { return c, nil }})
	}
	if err := s.measure(ctx, code); err != nil {
		return err
	}

	wire := memwire.NewServer(t.set)
	memory := contender.Target{Addrs: []string{"127.0.0.1:1"}, Callers: 1, Dial: wire.Dial} // nobody goes there
	get := operations["get"]
	if err := s.measure(ctx, run.Row{
		Name: rungMemory, Callers: 1,
		Contenders: s.contenders(get.name, get.callers, t.kinds, memory, t.set),
	}); err != nil {
		return err
	}
	for _, callers := range t.callers {
		if err := s.measure(ctx, run.Row{
			Name: fmt.Sprintf("GET on sockets, %s", count(callers, "caller")), Callers: callers, Traffic: t.fleet.Traffic(1),
			Contenders: s.contenders(get.name, get.callers, t.kinds, t.target(1, callers), t.set),
		}); err != nil {
			return err
		}
	}
	return nil
}
