package table

// What it costs that keys have to find their server: the same pipelines to one server,
// spread over several, and over several with all keys on one.

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
)

type routing struct {
	served
	depths  ints
	callers int
	ops     words
}

// The ways that keys go; a contender's name is client/way.
const (
	plain     = "plain"
	spread    = "spread"
	oneServer = "one server"
)

func newRouting(fs *flag.FlagSet) Work {
	t := &routing{depths: ints{16, 64, 1, 2, 4, 8, 256}, callers: 8, ops: words{"get", "set"}}
	t.flags(fs, ints{4}, contender.FloorMeta, contender.Vaquero, contender.Gomemcache, contender.QuangTung)
	t.valueFlag(fs, 32)
	fs.Var(&t.depths, "depths", "numbers of keys in a GetMulti or SetMulti")
	fs.IntVar(&t.callers, "callers", t.callers, "number of callers")
	fs.Var(&t.ops, "ops", "operations, of get and set")
	return t.work
}

func (t *routing) work(ctx context.Context, s *Session) error {
	for _, op := range t.ops {
		if op != "get" && op != "set" {
			return fmt.Errorf("no operation %q: there are get and set", op)
		}
	}
	if err := checkKeys(t.depths); err != nil {
		return err
	}
	t.tagged = true
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Floor = contender.FloorMeta + "/" + plain
	s.Report.PerItem = true
	s.Report.Ratios = []report.Ratio{
		{Figure: report.UserCPU, Base: "*/" + plain},
		{Figure: report.CPU, Base: "*/" + plain},
		{Figure: report.Speed, Base: "*/" + plain},
	}
	for _, base := range []string{contender.Gomemcache, contender.QuangTung, contender.FloorMeta} {
		if slices.ContainsFunc(t.kinds, func(k contender.Kind) bool { return k.Name == base }) {
			s.Report.Ratios = append(s.Report.Ratios, report.Ratio{Figure: report.CPU, Base: base + "/*"})
		}
	}
	s.Report.Add("depths", "slices of other depths than 16 and 64 are a quarter as long")
	servers := slices.Max(t.servers)
	for _, op := range t.ops {
		for _, depth := range t.depths {
			batches := contender.Batches{Set: t.set, Batches: t.set.Batches(depth, 100)}
			name, work := "GetMulti", multiOf(batches)
			if op == "set" {
				name, work = "SetMulti", storesOf(batches)
			}
			row := run.Row{
				Name:    fmt.Sprintf("%s of %s, %s", name, count(depth, "key"), count(t.callers, "caller")),
				Callers: t.callers, Items: depth, Traffic: t.fleet.Traffic(servers),
			}
			for _, way := range []struct {
				name    string
				servers int
				route   contender.Route
			}{{plain, 1, contender.Modulo}, {spread, servers, contender.Ring}, {oneServer, servers, contender.Tagged}} {
				target := t.target(way.servers, t.callers)
				target.Route = way.route
				for _, c := range s.contenders(name, work, t.kinds, target, t.set) {
					c.Name += "/" + way.name
					row.Contenders = append(row.Contenders, c)
				}
			}
			if err := s.shorter(t.slices(depth)).measure(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// typicalDepths are those that count. The kernel tells user time by ticks of milliseconds, so
// their slices are long; the other depths get a quarter.
var typicalDepths = []int{16, 64}

func (t *routing) slices(depth int) int {
	if slices.Contains(typicalDepths, depth) {
		return 1
	}
	return 4
}
