package table

// GetMulti: how long it takes to get many keys from several servers.

import (
	"context"
	"flag"
	"fmt"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type multis struct {
	served
	keys    ints
	callers ints
}

func newGetMulti(fs *flag.FlagSet) Work {
	t := &multis{keys: ints{3, 20, 100, 1000}, callers: ints{1}}
	t.flags(fs, ints{1, 4, 16}, contender.FloorClassic, contender.FloorMeta, contender.Vaquero, contender.VaqueroMeta, contender.VaqueroFunc,
		contender.Gomemcache, contender.Grafana, contender.Rainycape, contender.QuangTung)
	fs.Var(&t.keys, "keys", fmt.Sprintf("numbers of keys in a call, up to %d", workload.KeyCount))
	fs.Var(&t.callers, "callers", "numbers of callers")
	return t.work
}

func (t *multis) work(ctx context.Context, s *Session) error {
	if err := checkKeys(t.keys); err != nil {
		return err
	}
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Ratios = ratios(t.kinds,
		report.Ratio{Figure: report.P25, Base: contender.FloorClassic},
		report.Ratio{Figure: report.CPU, Base: contender.FloorClassic},
		report.Ratio{Figure: report.P25, Base: contender.FloorMeta},
		report.Ratio{Figure: report.P25, Base: contender.Gomemcache},
	)
	for _, servers := range t.servers {
		for _, keys := range t.keys {
			batches := t.set.Batches(keys)
			for _, callers := range t.callers {
				name := fmt.Sprintf("GetMulti, %s × %s", count(servers, "server"), count(keys, "key"))
				if callers > 1 {
					name += fmt.Sprintf(", %s", count(callers, "caller"))
				}
				row := run.Row{
					Name: name, Callers: callers, Items: keys, Traffic: t.fleet.Traffic(servers),
					Contenders: s.contenders("GetMulti", multiOf(contender.Batches{Set: t.set, Batches: batches}),
						t.kinds, t.target(servers, callers), t.set),
				}
				if err := s.measure(ctx, row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// multiOf returns the callers that ask for batches, each beginning with another.
func multiOf(b contender.Batches) callers {
	return func(o *contender.Opened) newCaller {
		if o.Multi == nil {
			return nil
		}
		return func(i int) (run.Caller, error) {
			own := b
			own.Next = i
			return o.Multi(own)
		}
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
