package table

// GetMulti: how long it takes to get many keys from several servers.

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/delay"
	"github.com/vaquero-cache/memcache/bench/internal/peer"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type multis struct {
	served
	keys    ints
	callers ints
	values  ints
	hits    percents
	trips   durations
	full    bool
}

func newGetMulti(fs *flag.FlagSet) Work {
	t := &multis{keys: ints{3, 20, 100, 1000}, callers: ints{1}, values: ints{100, 10, 1 << 10, 10 << 10},
		hits: percents{100, 50, 0}, trips: durations{0, 300 * time.Microsecond}}
	t.flags(fs, ints{1, 4, 16}, contender.FloorClassic, contender.FloorMeta,
		contender.Vaquero, contender.VaqueroMeta, contender.VaqueroFunc, contender.VaqueroStream,
		contender.VaqueroMetaFunc, contender.VaqueroMetaStream,
		contender.Gomemcache, contender.Grafana, contender.Rainycape, contender.QuangTung,
		peer.Dalli, peer.Pylibmc, peer.Libmemcached)
	fs.Var(&t.keys, "keys", fmt.Sprintf("numbers of keys in a call, up to %d", workload.KeyCount))
	fs.Var(&t.callers, "callers", "numbers of callers; those in other languages have one")
	fs.Var(&t.values, "values", "sizes of a value in bytes. This and -hits and -trips: the first with all servers and keys, the others with 4 servers and 100 keys")
	fs.Var(&t.hits, "hits", "how many of 100 keys are there")
	fs.Var(&t.trips, "trips", "round trips that a proxy adds to each exchange; beside the first, 16 servers too")
	fs.BoolVar(&t.full, "full", false, "everything with everything, which takes hours")
	return t.work
}

// point is one combination.
type point struct {
	servers, keys, value, hits int
	trip                       time.Duration
}

// points are the rows, those with the same values together.
func (t *multis) points() []point {
	var all []point
	typical := point{usual(t.servers, 4), usual(t.keys, 100), t.values[0], t.hits[0], t.trips[0]}
	wide := typical
	wide.servers = usual(t.servers, 16)
	for _, value := range t.values {
		for _, trip := range t.trips {
			for _, hits := range t.hits {
				for _, servers := range t.servers {
					for _, keys := range t.keys {
						p := point{servers, keys, value, hits, trip}
						var others int // than the first
						for _, other := range []bool{value != t.values[0], hits != t.hits[0], trip != t.trips[0]} {
							if other {
								others++
							}
						}
						like := func(q point) bool { return servers == q.servers && keys == q.keys }
						switch {
						case t.full, others == 0, others == 1 && like(typical), others == 1 && trip != t.trips[0] && like(wide):
							all = append(all, p)
						}
					}
				}
			}
		}
	}
	return all
}

// usual is n if it is in the list, else the last of the list.
func usual(list ints, n int) int {
	if slices.Contains(list, n) {
		return n
	}
	return list[len(list)-1]
}

func (t *multis) name(p point, callers int) string {
	name := fmt.Sprintf("GetMulti, %s × %s", count(p.servers, "server"), count(p.keys, "key"))
	if p.value != t.values[0] {
		name += fmt.Sprintf(", %s", size(p.value))
	}
	if p.hits != t.hits[0] {
		name += fmt.Sprintf(", %d %% hits", p.hits)
	}
	if p.trip != t.trips[0] {
		name += fmt.Sprintf(", %v round trip", p.trip)
	}
	if callers > 1 {
		name += fmt.Sprintf(", %s", count(callers, "caller"))
	}
	return name
}

func (t *multis) work(ctx context.Context, s *Session) error {
	if err := checkKeys(t.keys); err != nil {
		return err
	}
	t.valueSize = t.values[0]
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Ratios = ratios(t.kinds,
		report.Ratio{Figure: report.P25, Base: contender.FloorClassic},
		report.Ratio{Figure: report.CPU, Base: contender.FloorClassic},
		report.Ratio{Figure: report.P25, Base: contender.FloorMeta},
		report.Ratio{Figure: report.P25, Base: contender.Gomemcache},
		report.Ratio{Figure: report.P25, Base: contender.Vaquero},
	)
	lines := map[time.Duration]*delay.Line{}
	for _, trip := range t.trips {
		if trip == 0 || lines[trip] != nil {
			continue
		}
		line, err := delay.Start(trip, t.fleet.Addrs(slices.Max(t.servers)))
		if err != nil {
			return err
		}
		defer line.Stop()
		lines[trip] = line
	}
	for _, p := range t.points() {
		if p.value != t.valueSize {
			t.valueSize = p.value
			t.set = workload.NewSet(p.value)
			if err := t.fleet.Fill(t.set); err != nil {
				return err
			}
		}
		batches := contender.Batches{Set: t.set, Batches: t.set.Batches(p.keys, p.hits)}
		for _, callers := range t.callers {
			target := t.target(p.servers, callers)
			if line := lines[p.trip]; line != nil {
				target.Addrs = line.Addrs[:p.servers]
			}
			row := run.Row{
				Name: t.name(p, callers), Callers: callers, Items: p.keys, Traffic: t.fleet.Traffic(p.servers),
				Contenders: s.contenders("GetMulti", multiOf(batches), inGo(t.kinds), target, t.set),
			}
			if callers == 1 {
				row.Contenders = append(row.Contenders, s.programs(t.kinds, target, batches)...)
			}
			if err := s.measure(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// inGo are the kinds that are not programs of their own.
func inGo(kinds []contender.Kind) []contender.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k contender.Kind) bool { return k.Open == nil })
}

// programs starts the contenders in other languages, as far as they are here.
func (s *Session) programs(kinds []contender.Kind, target contender.Target, b contender.Batches) []run.Contender {
	var list []run.Contender
	for _, kind := range kinds {
		if kind.Open != nil {
			continue
		}
		p, err := peer.Start(kind.Name, target.Addrs, b.Set, b.Batches)
		if err != nil {
			s.skip("%s: %v", kind.Name, err)
			continue
		}
		s.Report.Note("other languages", p.What)
		list = append(list, run.Contender{Name: kind.Name, Measure: p.Measure, Close: p.Stop})
	}
	return list
}

// multiOf returns the callers that ask for batches, each beginning with another.
func multiOf(b contender.Batches) callers {
	return func(o *contender.Opened) newCaller { return batched(b, o.Multi) }
}

// storesOf returns the callers that store batches.
func storesOf(b contender.Batches) callers {
	return func(o *contender.Opened) newCaller { return batched(b, o.Storer) }
}

func batched(b contender.Batches, open func(contender.Batches) (run.Caller, error)) newCaller {
	if open == nil {
		return nil
	}
	return func(i int) (run.Caller, error) {
		own := b
		own.Next = i
		return open(own)
	}
}

// checkKeys refuses numbers of keys that there are not.
func checkKeys(numbers ints) error {
	for _, n := range numbers {
		if n > workload.KeyCount {
			return fmt.Errorf("%d keys in a call: there are %d", n, workload.KeyCount)
		}
	}
	return nil
}

// size is a number of bytes as one says it.
func size(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// durations is a flag that holds a list of times.
type durations []time.Duration

func (l *durations) String() string {
	parts := make([]string, len(*l))
	for i, d := range *l {
		parts[i] = d.String()
	}
	return strings.Join(parts, ",")
}

func (l *durations) Set(s string) error {
	*l = nil
	for part := range strings.SplitSeq(s, ",") {
		d, err := time.ParseDuration(part)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a list of times", s)
		}
		*l = append(*l, d)
	}
	return nil
}
