package table

// What TLS costs.

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/fleet"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type secured struct {
	served
	callers ints
	keys    int
}

const overTLS = "TLS"

func newTLS(fs *flag.FlagSet) Work {
	t := &secured{callers: ints{1, 64}, keys: 100}
	t.flags(fs, ints{4}, contender.FloorMeta, contender.Vaquero, contender.Gomemcache)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.Var(&t.callers, "callers", "numbers of callers of GET")
	fs.IntVar(&t.keys, "keys", t.keys, "keys in a GetMulti")
	return t.work
}

func (t *secured) work(ctx context.Context, s *Session) error {
	if err := checkKeys(ints{t.keys}); err != nil {
		return err
	}
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	servers := slices.Max(t.servers)
	secure, err := fleet.StartTLS(ctx, servers)
	if err != nil {
		return fmt.Errorf("servers with TLS: %w", err)
	}
	defer secure.Stop()
	if err := secure.Fill(t.set); err != nil {
		return err
	}
	s.Report.Ratios = []report.Ratio{{Figure: report.P25, Base: "*/" + plain}, {Figure: report.Speed, Base: "*/" + plain}, {Figure: report.CPU, Base: "*/" + plain}}
	s.Report.Ratios = append(s.Report.Ratios, waysOf(t.kinds, report.Speed, contender.Gomemcache)...)
	s.Report.Ratios = append(s.Report.Ratios, waysOf(t.kinds, report.P25, contender.FloorMeta)...)

	measure := func(row run.Row, what string, work callers) error {
		target := t.target(servers, row.Callers)
		for _, c := range s.contenders(what, work, t.kinds, target, t.set) {
			c.Name += "/" + plain
			row.Contenders = append(row.Contenders, c)
		}
		target.Addrs, target.Dial = secure.Addrs(servers), secure.Dial()
		target.TLS = secure.TLS()
		for _, c := range s.contenders(what, work, t.kinds, target, t.set) {
			c.Name += "/" + overTLS
			row.Contenders = append(row.Contenders, c)
		}
		return s.measure(ctx, row)
	}
	for _, callers := range t.callers {
		row := run.Row{Name: fmt.Sprintf("GET, %s, %s", count(callers, "caller"), count(servers, "server")), Callers: callers}
		if err := measure(row, "GET", operations["get"].callers); err != nil {
			return err
		}
	}
	batches := contender.Batches{Set: t.set, Batches: t.set.Batches(t.keys, 100)}
	return measure(run.Row{
		Name:    fmt.Sprintf("GetMulti, %s × %s", count(servers, "server"), count(t.keys, "key")),
		Callers: 1, Items: t.keys,
	}, "GetMulti", multiOf(batches))
}

// waysOf compares each way of a contender with the same way of base, if that takes part.
func waysOf(kinds []contender.Kind, figure report.Figure, base string) []report.Ratio {
	if !slices.ContainsFunc(kinds, func(k contender.Kind) bool { return k.Name == base }) {
		return nil
	}
	return []report.Ratio{{Figure: figure, Base: base + "/*"}}
}
