package table

// What is left of the service of three servers while a fourth is down, and what it
// costs to be ready for that.

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/vaquero-cache/memcache"
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
	s.Report.Add("operations", "of the three others: a key of theirs, while one call before each slice asks the fourth; of all four: what fails for the fourth is tried, and not counted")
	s.Report.Add("timeout", "%v", t.timeout)
	t.fleet.Kill(fourth[refused])
	if err := t.fleet.Freeze(fourth[frozen]); err != nil {
		return err
	}
	s.Report.Ratios = append([]report.Ratio{{Figure: report.Speed, Base: "*/" + healthy}, {Figure: report.P99, Base: "*/" + healthy}, {Figure: report.Speed, Base: "*/" + off}},
		waysOf(t.kinds, report.Speed, contender.Gomemcache)...)
	for _, callers := range t.callers {
		for _, keys := range []string{others, all} {
			row := run.Row{Name: fmt.Sprintf("GET from %s, %s", keys, count(callers, "caller")), Callers: callers}
			for _, way := range []string{healthy, refused, frozen} {
				row.Contenders = append(row.Contenders, t.survivors(s, way, callers, keys == all)...)
			}
			if err := s.measure(ctx, row); err != nil {
				return err
			}
		}
		if err := t.ready(ctx, s, callers); err != nil {
			return err
		}
	}
	return nil
}

// Whose keys are asked for.
const (
	others = "the three others"
	all    = "all four"
)

// survivors are the clients with a fourth server that is in the given way.
func (t *down) survivors(s *Session, way string, callers int, each bool) []run.Contender {
	addrs := t.fleet.Addrs(t.servers[0])
	target := contender.Target{
		Addrs:   append(addrs[:wellServers:wellServers], addrs[fourth[way]]),
		Callers: callers, Timeout: t.timeout,
	}
	list := s.contenders("client", func(o *contender.Opened) newCaller {
		if o.Fetch == nil {
			return nil
		}
		return func(i int) (run.Caller, error) {
			return &survivor{
				get: o.Fetch, target: target, set: t.set, pick: workload.NewPicker(i),
				well: way == healthy, each: each, first: i == 0,
			}, nil
		}
	}, t.kinds, target, t.set)
	for i := range list {
		list[i].Name += "/" + way
	}
	return list
}

// The ways to be ready for the end of a server.
const (
	off  = "off"  // failures are not counted, and nothing is remembered
	fast = "fast" // as the client is: calls fail at once
	next = "next" // the next server takes over
)

// readyTurns is how many turns are made of one, as the differences are small.
const readyTurns = 25

// ready measures this project's client while all is well, in each of the ways.
func (t *down) ready(ctx context.Context, s *Session, callers int) error {
	if !slices.ContainsFunc(t.kinds, func(k contender.Kind) bool { return k.Name == contender.Vaquero }) {
		return nil
	}
	ours, err := contender.Named([]string{contender.Vaquero})
	if err != nil {
		return err
	}
	row := run.Row{Name: fmt.Sprintf("GET while all is well, %s, 1 server", count(callers, "caller")), Callers: callers}
	for _, way := range []struct {
		name string
		set  memcache.FailoverSettings
	}{
		{off, memcache.FailoverSettings{HardFailures: -1, SoftFailures: -1, JournalKeys: -1}},
		{fast, memcache.FailoverSettings{}},
		{next, memcache.FailoverSettings{Mode: memcache.NextServer}},
	} {
		target := t.target(1, callers)
		target.Failover = way.set
		for _, c := range s.contenders("GET", operations["get"].callers, ours, target, t.set) {
			c.Name += "/" + way.name
			row.Contenders = append(row.Contenders, c)
		}
	}
	return s.finer(readyTurns).measure(ctx, row)
}

// survivor is a run.Caller that gets keys of the three servers that are well. Those of
// the fourth, which must fail unless it is well too, are asked for whenever one is
// picked, with each; else the first survivor asks for one before each slice, so
// that the client knows that the server is down.
type survivor struct {
	get               func(string) ([]byte, error)
	target            contender.Target
	set               *workload.Set
	pick              workload.Picker
	well, each, first bool

	i   int
	got []byte
	err error // of Begin
}

func (c *survivor) Begin(int) {
	if !c.first || c.each {
		return
	}
	for c.next() {
	}
	c.err = c.fourth()
}

func (c *survivor) Call() (err error) {
	for !c.next() {
		if c.each && !c.well {
			if err := c.fourth(); err != nil {
				return err
			}
		}
	}
	c.got, err = c.get(c.set.Keys[c.i])
	return err
}

// next picks a key and reports whether it is of one of the three.
func (c *survivor) next() bool {
	c.i = c.pick.Next()
	return c.target.Place(c.set.Keys[c.i]) != wellServers
}

// fourth asks the fourth server for the key that was picked.
func (c *survivor) fourth() error {
	if _, err := c.get(c.set.Keys[c.i]); (err == nil) != c.well {
		return fmt.Errorf("the fourth server, which is well: %t, answered with: %v", c.well, err)
	}
	return nil
}

func (c *survivor) Check() error { return c.set.Check(c.i, c.got) }

func (c *survivor) End() error { return c.err }
