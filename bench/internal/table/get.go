package table

// GET and SET of one key at a time, by one caller and by many.

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// singles is a table of single operations.
type singles struct {
	served
	callers ints
	ops     words
	hogs    int
	hogWork time.Duration
}

func newGet(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{1, 8, 64, 256}, hogs: 0}, 1, 4, 16)
}

func newBusy(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{1, 16, 64}, hogs: 2}, 1)
}

func newSingles(fs *flag.FlagSet, defaults singles, servers ...int) Work {
	t := defaults
	t.ops = words{"get", "set"}
	if t.hogs > 0 {
		t.ops = words{"get"}
	}
	t.flags(fs, servers, contender.FloorEcho, contender.FloorMeta, contender.FloorClassic, contender.Vaquero, contender.Gomemcache, contender.QuangTung)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.Var(&t.callers, "callers", "numbers of callers")
	fs.Var(&t.ops, "ops", "operations, of get and set")
	fs.IntVar(&t.hogs, "hogs", t.hogs, "goroutines that keep processors busy beside the callers")
	fs.DurationVar(&t.hogWork, "hogwork", 100*time.Microsecond, "how long each of them works between two yields")
	return t.work
}

func (t *singles) work(ctx context.Context, s *Session) error {
	ops := map[string]struct {
		name string
		callers
	}{
		"get": {"GET", func(o *contender.Opened) newCaller { return o.Getter }},
		"set": {"SET", func(o *contender.Opened) newCaller { return o.Setter }},
	}
	for _, op := range t.ops {
		if _, ok := ops[op]; !ok {
			return fmt.Errorf("no operation %q: there are get and set", op)
		}
	}
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	list := []report.Ratio{
		{Figure: report.Speed, Base: contender.Gomemcache},
		{Figure: report.Speed, Base: contender.QuangTung},
		{Figure: report.P99, Base: contender.Gomemcache},
	}
	if t.hogs > 0 {
		list = append(list, report.Ratio{Figure: report.HogWork, Base: contender.Gomemcache})
	} else {
		list = append(list,
			report.Ratio{Figure: report.CPU, Base: contender.Gomemcache},
			report.Ratio{Figure: report.P25, Base: contender.FloorMeta},
			report.Ratio{Figure: report.CPU, Base: contender.FloorMeta})
	}
	s.Report.Ratios = ratios(t.kinds, list...)
	for _, op := range t.ops {
		for _, servers := range t.servers {
			for _, callers := range t.callers {
				name := fmt.Sprintf("%s, %s, %s", ops[op].name, count(callers, "caller"), count(servers, "server"))
				if t.hogs > 0 {
					name += fmt.Sprintf(", %s of %v", count(t.hogs, "hog"), t.hogWork)
				}
				row := run.Row{
					Name: name, Callers: callers, Traffic: t.fleet.Traffic(servers),
					Hogs: t.hogs, HogWork: t.hogWork,
					Contenders: s.contenders(ops[op].name, ops[op].callers, t.kinds, t.target(servers, callers), t.set),
				}
				if err := s.measure(ctx, row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
