package table

// Is a cache between a key and its server worth having?

import (
	"context"
	"flag"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/micro"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type caches struct {
	served
	limits  ints
	callers ints
}

func newCache(fs *flag.FlagSet) Work {
	t := &caches{limits: ints{100_000, 10_000}, callers: ints{1, 64}}
	t.flags(fs, ints{4}, contender.Vaquero)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.Var(&t.limits, "limits", "entries of a cache, for 100,000 keys of four to a tag")
	fs.Var(&t.callers, "callers", "numbers of callers of a whole GET")
	return t.work
}

func (t *caches) work(ctx context.Context, s *Session) error {
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Ratios = []report.Ratio{
		{Figure: report.P25, Base: micro.RouteSearch},
		{Figure: report.P25, Base: micro.RouteTable},
		{Figure: report.Speed, Base: micro.RouteTable},
	}
	for _, limit := range t.limits {
		for _, law := range []string{"Zipf", "uniform"} {
			row := run.Row{Name: fmt.Sprintf("place keys, %s, caches of %d", law, limit), Callers: 1, Items: micro.CallKeys}
			for _, way := range micro.Ways {
				row.Contenders = append(row.Contenders, run.Contender{Name: way, Caller: func(int) (run.Caller, error) {
					return micro.NewRouter(way, limit, law == "Zipf")
				}})
			}
			if err := s.measure(ctx, row); err != nil {
				return err
			}
		}
	}
	made := run.Row{Name: fmt.Sprintf("made anew, and 100,000 keys placed twice, caches of %d", t.limits[0]), Callers: 1, Items: micro.CacheKeys}
	for _, way := range micro.Ways {
		made.Contenders = append(made.Contenders, run.Contender{
			Name: way, Measure: func(time.Duration) (run.Slice, error) { return micro.MakeWay(way, t.limits[0]) },
		})
	}
	if err := s.measure(ctx, made); err != nil {
		return err
	}
	for _, callers := range t.callers {
		if err := t.whole(ctx, s, callers); err != nil {
			return err
		}
	}
	return nil
}

// whole measures operations from end to end by a client whose selector is one of the ways.
func (t *caches) whole(ctx context.Context, s *Session, callers int) error {
	n := slices.Max(t.servers)
	row := run.Row{
		Name:    fmt.Sprintf("9 whole GETs to a SET, Zipf, %s, %s", count(callers, "caller"), count(n, "server")),
		Callers: callers, Traffic: t.fleet.Traffic(n),
	}
	for _, name := range micro.Ways {
		way, err := micro.NewWay(name, t.limits[0], n)
		if err != nil {
			return err
		}
		selector := &selecting{pick: way.Pick}
		for _, addr := range t.fleet.Addrs(n) {
			resolved, err := net.ResolveTCPAddr("tcp", addr)
			if err != nil {
				return err
			}
			selector.addrs = append(selector.addrs, resolved)
		}
		target := t.target(n, callers)
		target.Selector = selector
		for _, c := range s.contenders("GET", func(o *contender.Opened) newCaller { return o.Mixer }, t.kinds, target, t.set) {
			c.Name = name
			row.Contenders = append(row.Contenders, c)
		}
	}
	return s.measure(ctx, row)
}

// selecting is a memcache.ServerSelector by one of the ways.
type selecting struct {
	addrs []net.Addr
	pick  func(string) int
}

func (s *selecting) PickServer(key string) (net.Addr, error) { return s.addrs[s.pick(key)], nil }

func (s *selecting) Each(f func(net.Addr) error) error {
	for _, a := range s.addrs {
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}
