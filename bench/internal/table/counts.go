package table

// What the client, the standard library and the runtime do for one operation.

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/counts"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type counted struct{ served }

func newCounts(fs *flag.FlagSet) Work {
	t := new(counted)
	t.flags(fs, ints{4}, contender.Vaquero)
	t.valueFlag(fs, workload.DefaultValueSize)
	return t.work
}

// work counts once: these are numbers of events, which have no spread.
func (t *counted) work(ctx context.Context, s *Session) error {
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Events = true
	s.Report.Add("counted", "by a program built with a standard library whose functions count their calls: %s; means of 2,000 operations",
		strings.Join(counts.Names, ", "))
	s.printf("building a program that counts\n")
	all, err := counts.Measure(ctx, t.fleet.Addrs(slices.Max(t.servers))...)
	if err != nil {
		s.skip("%v", err)
		return nil
	}
	row := &report.Row{Name: "for one operation"}
	for _, what := range slices.Sorted(maps.Keys(all)) {
		row.Clients = append(row.Clients, what)
		row.Slices = append(row.Slices, run.Slice{Client: what, Ops: 1, Items: 1, Extra: all[what]})
	}
	s.Report.Rows = append(s.Report.Rows, row)
	return nil
}
