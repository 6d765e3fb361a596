package table

// GET and SET of one key at a time, by one caller and by many.

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	rates   ints // operations a second; none means as fast as it goes
	hogs    int
	hogWork time.Duration
}

func newGet(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{1, 8, 64, 256}, ops: words{"get", "set", "mixed"}}, 1, 4, 16)
}

func newBusy(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{1, 16, 64}, ops: words{"get"}, hogs: 2}, 1)
}

func newLoud(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{9}, ops: words{"loud"}}, 1)
}

func newOpen(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{256}, ops: words{"mixed"}, rates: ints{2000, 10000, 20000, 40000, 80000, 160000}}, 4)
}

func newGC(fs *flag.FlagSet) Work {
	return newSingles(fs, singles{callers: ints{64}, ops: words{"mixed"}}, 4)
}

func newSingles(fs *flag.FlagSet, defaults singles, servers ...int) Work {
	t := defaults
	clients := []string{contender.FloorEcho, contender.FloorMeta, contender.FloorClassic, contender.Vaquero, contender.Gomemcache, contender.QuangTung}
	if len(t.rates) > 0 || slices.Equal(t.ops, words{"mixed"}) {
		clients = []string{contender.FloorMeta, contender.Vaquero, contender.Gomemcache, contender.QuangTung}
	}
	if slices.Equal(t.ops, words{"loud"}) {
		clients = []string{contender.Vaquero, contender.VaqueroTwo, contender.Gomemcache, contender.QuangTung}
	}
	t.flags(fs, servers, clients...)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.Var(&t.callers, "callers", "numbers of callers")
	fs.Var(&t.ops, "ops", "operations, of "+strings.Join(slices.Sorted(maps.Keys(operations)), ", "))
	if len(t.rates) > 0 {
		fs.Var(&t.rates, "rates", "operations that are due in a second")
	}
	if t.hogs > 0 {
		fs.IntVar(&t.hogs, "hogs", t.hogs, "goroutines that keep processors busy beside the callers")
		fs.DurationVar(&t.hogWork, "hogwork", 100*time.Microsecond, "how long each of them works between two yields")
	}
	return t.work
}

// operation is what callers do.
type operation struct {
	name string
	callers
}

var operations = map[string]operation{
	"get":   {"GET", func(o *contender.Opened) newCaller { return o.Getter }},
	"set":   {"SET", func(o *contender.Opened) newCaller { return o.Setter }},
	"loud":  {"GET beside one of 1 MB", func(o *contender.Opened) newCaller { return o.Louder }},
	"mixed": {"9 GET 1 SET, Zipf", func(o *contender.Opened) newCaller { return o.Mixer }},
}

func (t *singles) work(ctx context.Context, s *Session) error {
	for _, op := range t.ops {
		if _, ok := operations[op]; !ok {
			return fmt.Errorf("no operation %q", op)
		}
	}
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Ratios = ratios(t.kinds, t.compared()...)
	rates := t.rates
	if rates == nil {
		rates = ints{0}
	}
	for _, op := range t.ops {
		for _, servers := range t.servers {
			for _, callers := range t.callers {
				for _, rate := range rates {
					if err := s.measure(ctx, t.row(s, operations[op], servers, callers, rate)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// compared are the ratios that matter.
func (t *singles) compared() []report.Ratio {
	switch {
	case t.rates != nil:
		return []report.Ratio{
			{Figure: report.P99, Base: contender.Gomemcache},
			{Figure: report.P99, Base: contender.FloorMeta},
			{Figure: report.P999, Base: contender.Gomemcache},
			{Figure: report.CPU, Base: contender.Gomemcache},
		}
	case t.hogs > 0:
		return []report.Ratio{
			{Figure: report.Speed, Base: contender.Gomemcache},
			{Figure: report.Speed, Base: contender.QuangTung},
			{Figure: report.P99, Base: contender.Gomemcache},
			{Figure: report.HogWork, Base: contender.Gomemcache},
		}
	case slices.Equal(t.ops, words{"loud"}):
		return []report.Ratio{{Figure: report.P50, Base: contender.Gomemcache}}
	default:
		return []report.Ratio{
			{Figure: report.Speed, Base: contender.Gomemcache},
			{Figure: report.Speed, Base: contender.QuangTung},
			{Figure: report.P99, Base: contender.Gomemcache},
			{Figure: report.CPU, Base: contender.Gomemcache},
			{Figure: report.P25, Base: contender.FloorMeta},
			{Figure: report.CPU, Base: contender.FloorMeta},
		}
	}
}

func (t *singles) row(s *Session, op operation, servers, callers, rate int) run.Row {
	name := fmt.Sprintf("%s, %s, %s", op.name, count(callers, "caller"), count(servers, "server"))
	if rate > 0 {
		name += fmt.Sprintf(", %d a second", rate)
	}
	if t.hogs > 0 {
		name += fmt.Sprintf(", %s of %v", count(t.hogs, "hog"), t.hogWork)
	}
	return run.Row{
		Name: name, Callers: callers, Traffic: t.fleet.Traffic(servers),
		Rate: float64(rate), Hogs: t.hogs, HogWork: t.hogWork,
		Contenders: s.contenders(op.name, op.callers, t.kinds, t.target(servers, callers), t.set),
	}
}
