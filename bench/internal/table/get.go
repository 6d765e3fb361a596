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
	t.flags(fs, servers, contender.FloorMeta, contender.Vaquero, contender.Gomemcache, contender.QuangTung)
	fs.Var(&t.callers, "callers", "numbers of callers")
	fs.Var(&t.ops, "ops", "operations, of get and set")
	fs.IntVar(&t.hogs, "hogs", t.hogs, "goroutines that keep processors busy beside the callers")
	fs.DurationVar(&t.hogWork, "hogwork", 100*time.Microsecond, "how long each of them works between two yields")
	return t.work
}

func (t *singles) work(ctx context.Context, s *Session) error {
	picks := map[string]func(*contender.Opened, int) (run.Caller, error){
		"get": func(o *contender.Opened, i int) (run.Caller, error) { return o.Getter(i) },
		"set": func(o *contender.Opened, i int) (run.Caller, error) { return o.Setter(i) },
	}
	names := map[string]string{"get": "GET", "set": "SET"}
	for _, op := range t.ops {
		if picks[op] == nil {
			return fmt.Errorf("no operation %q: there are get and set", op)
		}
	}
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Ratios = ratios(t.kinds,
		report.Ratio{Figure: report.Speed, Base: contender.Gomemcache},
		report.Ratio{Figure: report.Speed, Base: contender.QuangTung},
		report.Ratio{Figure: report.CPU, Base: contender.Gomemcache},
		report.Ratio{Figure: report.P99, Base: contender.Gomemcache},
		report.Ratio{Figure: report.P25, Base: contender.FloorMeta},
		report.Ratio{Figure: report.CPU, Base: contender.FloorMeta},
	)
	for _, op := range t.ops {
		for _, servers := range t.servers {
			for _, callers := range t.callers {
				name := fmt.Sprintf("%s, %s, %s", names[op], count(callers, "caller"), count(servers, "server"))
				if t.hogs > 0 {
					name += fmt.Sprintf(", %s of %v", count(t.hogs, "hog"), t.hogWork)
				}
				row := t.row(s, name, servers, callers, picks[op])
				row.Hogs, row.HogWork = t.hogs, t.hogWork
				if err := s.measure(ctx, row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
