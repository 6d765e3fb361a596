package table

// From the end of a server to the first fast failure, and from its return to the
// first answer.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type outage struct {
	served
	callers int
	timeout time.Duration
	watch   time.Duration
}

const (
	fastFailure = 5 * time.Millisecond // what takes longer is no fast failure
	between     = time.Millisecond     // two calls of a caller
	returnTime  = 35 * time.Second     // for a server to be used again
)

// What is told of an outage.
const (
	untilError = "ms to the first error"
	untilFast  = "ms to fast failures alone"
	slowCalls  = "calls above 5 ms"
	untilBack  = "ms from its return to the first answer"
)

func newOutage(fs *flag.FlagSet) Work {
	t := &outage{callers: 8, timeout: 100 * time.Millisecond, watch: time.Second}
	t.flags(fs, ints{4}, contender.Vaquero, contender.Gomemcache)
	t.valueFlag(fs, workload.DefaultValueSize)
	fs.IntVar(&t.callers, "callers", t.callers, "number of callers, each with a millisecond between its calls")
	fs.DurationVar(&t.timeout, "timeout", t.timeout, "the timeout of clients")
	fs.DurationVar(&t.watch, "watch", t.watch, "how long the server is away")
	return t.work
}

func (t *outage) work(ctx context.Context, s *Session) error {
	if err := t.start(ctx, s); err != nil {
		return err
	}
	defer t.stop()
	s.Report.Events = true
	s.Report.Add("callers", "%d, with %v between two calls of one, all for the server that goes away; timeout %v", t.callers, between, t.timeout)
	s.Report.Add("outage", "%v; its return is when the server answers again", t.watch)
	n := slices.Max(t.servers)
	target := t.target(n, t.callers)
	target.Timeout = t.timeout
	for _, way := range []struct {
		name     string
		away     func() error
		comeBack func() error
	}{
		{"the process is killed", func() error { t.fleet.Kill(0); return nil }, func() error { return t.fleet.Restart(ctx, 0) }},
		{"the process is stopped", func() error { return t.fleet.Freeze(0) }, func() error { return t.fleet.Thaw(0) }},
	} {
		row := run.Row{Name: "one of " + count(n, "server") + ": " + way.name, Callers: 1}
		for _, kind := range t.kinds {
			if kind.Open == nil {
				s.skip("%s: takes part in GetMulti on servers alone", kind.Name)
				continue
			}
			opened, err := kind.Open(target, t.set)
			if err != nil || opened.Store == nil {
				s.skip("%s: cannot take part: %v", kind.Name, err)
				continue
			}
			w := &watched{outage: t, client: opened, target: target}
			row.Contenders = append(row.Contenders, run.Contender{
				Name: kind.Name, Close: opened.Close,
				Measure: func(time.Duration) (run.Slice, error) { return w.event(way.away, way.comeBack) },
			})
		}
		if err := s.measure(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// watched is a client during outages.
type watched struct {
	*outage
	client *contender.Opened
	target contender.Target
}

// call is one store, by times since the start of the event.
type call struct {
	begin, end time.Duration
	failed     bool
}

// event takes server 0 away, brings it back, and says what the callers noticed.
func (w *watched) event(away, comeBack func() error) (s run.Slice, err error) {
	start := time.Now()
	stop := make(chan struct{})
	stopped := sync.OnceFunc(func() { close(stop) })
	calls := make([][]call, w.callers)
	var all sync.WaitGroup
	healthy := make(chan call) // what was answered after nothing, or after failures
	for i := range w.callers {
		all.Go(func() { calls[i] = w.caller(i, start, stop, healthy) })
	}
	defer all.Wait()
	defer stopped()
	serving := func(since time.Duration) error {
		for timeout := time.After(returnTime); ; {
			select {
			case c := <-healthy:
				if c.begin >= since {
					return nil
				}
			case <-timeout:
				return fmt.Errorf("not served within %v", returnTime)
			}
		}
	}
	for range w.callers {
		if err := serving(0); err != nil {
			return s, err
		}
	}

	gone := time.Since(start)
	if err := away(); err != nil {
		return s, err
	}
	time.Sleep(w.watch)
	// The callers go on while it comes back: they are how a client notices.
	if err := comeBack(); err != nil {
		return s, err
	}
	back := time.Since(start)
	if err := serving(gone); err != nil {
		return s, err
	}
	served := time.Since(start)
	stopped()
	all.Wait()

	s.Elapsed = served
	var slow []call
	firstError := time.Duration(-1)
	for _, c := range slices.Concat(calls...) {
		s.Ops++
		if c.end < gone || c.begin > back {
			continue
		}
		if c.failed && (firstError < 0 || c.end < firstError) {
			firstError = c.end
		}
		if c.end-c.begin > fastFailure {
			slow = append(slow, c)
		}
	}
	if firstError < 0 {
		return s, errors.New("no call has failed while the server was away")
	}
	lastSlow := firstError
	for _, c := range slow {
		lastSlow = max(lastSlow, min(c.end, back))
	}
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	s.Extra = map[string]float64{
		untilError: millis(firstError - gone),
		untilFast:  millis(lastSlow - gone),
		slowCalls:  float64(len(slow)),
		untilBack:  millis(max(0, served-back)),
	}
	return s, nil
}

// caller stores at keys of server 0 until it is told to stop. It announces its first
// success, and each that follows a failure, as soon as somebody listens.
func (w *watched) caller(i int, start time.Time, stop <-chan struct{}, healthy chan<- call) (calls []call) {
	value := w.set.NewValue(i)
	announce := true
	var told []call // to be announced
	for n := i; ; n++ {
		key := w.set.Puts[n%len(w.set.Puts)]
		if w.target.Place(key) != 0 {
			continue
		}
		c := call{begin: time.Since(start)}
		err := w.client.Store(key, value)
		c.end, c.failed = time.Since(start), err != nil
		calls = append(calls, c)
		if err != nil {
			announce = true
		} else if announce {
			announce = false
			told = append(told, c)
		}
		for len(told) > 0 {
			select {
			case healthy <- told[0]:
				told = told[1:]
				continue
			default: // nobody listens now
			}
			break
		}
		select {
		case <-stop:
			return calls
		case <-time.After(between):
		}
	}
}
