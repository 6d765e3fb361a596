package table

// What is left of the service of three servers while a fourth is down.

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

type down struct {
	served
	callers ints
	timeout time.Duration
}

// The ways that the fourth server is.
const (
	healthy = "healthy"
	refused = "refused" // its process is gone
	frozen  = "frozen"  // its process is stopped: it accepts, and never answers
)

// places are the servers of the down table: three that are well, and the fourth
// in each of the ways.
const wellServers = 3

var fourth = map[string]int{healthy: wellServers, refused: wellServers + 1, frozen: wellServers + 2}

func newDown(fs *flag.FlagSet) Work {
	t := &down{callers: ints{64}, timeout: 100 * time.Millisecond}
	t.flags(fs, ints{wellServers + len(fourth)}, contender.Vaquero, contender.Gomemcache)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.Var(&t.callers, "callers", "numbers of callers")
	fs.DurationVar(&t.timeout, "timeout", t.timeout, "the timeout of clients")
	return t.work
}

func (t *down) work(ctx context.Context, s *Session) error {
	t.servers = ints{wellServers + len(fourth)}
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Add("operations", "a key of any of four servers; what fails for the fourth is tried, and not counted")
	s.Report.Add("timeout", "%v", t.timeout)
	t.fleet.Kill(fourth[refused])
	if err := t.fleet.Freeze(fourth[frozen]); err != nil {
		return err
	}
	s.Report.Ratios = append([]report.Ratio{{Figure: report.Speed, Base: "*/" + healthy}, {Figure: report.P99, Base: "*/" + healthy}},
		waysOf(t.kinds, report.Speed, contender.Gomemcache)...)
	all := t.fleet.Addrs(t.servers[0])
	for _, callers := range t.callers {
		row := run.Row{Name: fmt.Sprintf("GET from three of four servers, %s", count(callers, "caller")), Callers: callers}
		for _, way := range []string{healthy, refused, frozen} {
			target := contender.Target{
				Addrs:   append(all[:wellServers:wellServers], all[fourth[way]]),
				Callers: callers, Timeout: t.timeout,
			}
			for _, c := range s.contenders("client", func(o *contender.Opened) newCaller {
				if o.Fetch == nil {
					return nil
				}
				return func(i int) (run.Caller, error) {
					return &survivor{get: o.Fetch, target: target, set: t.set, pick: workload.NewPicker(i), ask: way != healthy}, nil
				}
			}, t.kinds, target, t.set) {
				c.Name += "/" + way
				row.Contenders = append(row.Contenders, c)
			}
		}
		if err := s.measure(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// survivor is a run.Caller that gets keys until one is there that is not of the fourth
// server; with ask it gets those too, and they must fail.
type survivor struct {
	get    func(string) ([]byte, error)
	target contender.Target
	set    *workload.Set
	pick   workload.Picker
	ask    bool

	i   int
	got []byte
}

func (c *survivor) Call() (err error) {
	for {
		c.i = c.pick.Next()
		key := c.set.Keys[c.i]
		if c.target.Place(key) != wellServers {
			c.got, err = c.get(key)
			return err
		}
		if c.ask {
			if _, err := c.get(key); err == nil {
				return fmt.Errorf("an answer from a server that is down")
			}
		}
	}
}

func (c *survivor) Check() error { return c.set.Check(c.i, c.got) }
