package run

// Rounds and slices.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// hangTime is how long after the end of its slice a contender may take to finish
// its last operations.
const hangTime = 20 * time.Second

// ErrHang means that a contender did not come back from a call. Its goroutines
// are still there.
var ErrHang = errors.New("a call does not return")

// Run measures row and returns one Slice for each contender and round. It stops
// at the first error, which names the contender. round, unless it is nil, is
// called when a round begins. Run closes the contenders.
func Run(ctx context.Context, row Row, opts Options, round func(int)) ([]Slice, error) {
	r := &rowRun{Row: row, opts: opts, times: make([]*samples, row.Callers)}
	defer r.close()
	for i := range r.times {
		r.times[i] = newSamples(row.Callers)
	}
	for _, c := range row.Contenders {
		callers := make([]Caller, row.Callers)
		for i := range callers {
			var err error
			if callers[i], err = c.Caller(i); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
		}
		r.callers = append(r.callers, callers)
	}

	var taken []Slice
	for n := range opts.Rounds {
		if round != nil {
			round(n)
		}
		for turn := range row.Contenders {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			who := (turn + n) % len(row.Contenders)
			s, err := r.slice(who)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", row.Contenders[who].Name, n, err)
			}
			s.Round, s.Turn = n, turn
			taken = append(taken, s)
		}
	}
	return taken, nil
}

type rowRun struct {
	Row
	opts    Options
	callers [][]Caller // of each contender
	times   []*samples // of each caller, used by one contender after the other
	merged  []uint32
	slices  int
	hung    bool
}

func (r *rowRun) close() {
	if r.hung {
		return // to close what hangs may hang too
	}
	for _, c := range r.Contenders {
		if c.Close != nil {
			c.Close()
		}
	}
}

// turn is what the callers of one slice share.
type turn struct {
	ready, done sync.WaitGroup
	gate        chan struct{}
	start       time.Time // set before gate is closed
	length      time.Duration

	failed atomic.Bool
	once   sync.Once
	err    error // set once, before done is complete
}

func (t *turn) fail(err error) {
	t.once.Do(func() { t.err = err })
	t.failed.Store(true)
}

// slice gives one turn to contender who.
func (r *rowRun) slice(who int) (Slice, error) {
	callers := r.callers[who]
	r.slices++
	for _, c := range callers {
		if s, ok := c.(Slicer); ok {
			s.Begin(r.slices)
		}
	}
	var hogs *hogs
	if r.Hogs > 0 {
		hogs = startHogs(r.Hogs, r.HogWork)
		defer hogs.stop()
	}

	t := &turn{gate: make(chan struct{}), length: r.opts.Slice}
	ops := make([]int64, len(callers))
	for i, c := range callers {
		t.ready.Add(1)
		t.done.Go(func() { ops[i] = t.work(c, r.times[i]) })
	}
	ready, done := completed(&t.ready), completed(&t.done)
	if !within(ready, hangTime) {
		r.hung = true
		return Slice{}, ErrHang
	}
	if t.failed.Load() {
		close(t.gate)
		<-done
		return Slice{}, t.err
	}

	// The garbage of the contender before is not this one's to collect.
	runtime.GC()
	var before, after Traffic
	var err error
	if r.Traffic != nil {
		if before, err = r.Traffic(); err != nil {
			return Slice{}, err
		}
	}
	var start, end usage
	var units int64
	start.memory()
	start.syscalls()
	if hogs != nil {
		units = hogs.units.Load()
	}
	start.processor()
	t.start = time.Now()
	close(t.gate)
	if !within(done, t.length+hangTime) {
		r.hung = true
		return Slice{}, ErrHang
	}
	elapsed := time.Since(t.start)
	end.processor()
	if hogs != nil {
		units = hogs.units.Load() - units
	}
	end.syscalls()
	end.memory()
	if t.err != nil {
		return Slice{}, t.err
	}

	s := Slice{Client: r.Contenders[who].Name, Items: max(r.Items, 1), Elapsed: elapsed, HogUnits: units}
	s.put(&start, &end)
	for _, n := range ops {
		s.Ops += n
	}
	r.merged = merge(r.merged[:0], r.times)
	s.P25, s.P50, s.P99 = quantile(r.merged, 0.25), quantile(r.merged, 0.5), quantile(r.merged, 0.99)
	if r.Traffic != nil {
		if after, err = r.Traffic(); err != nil {
			return Slice{}, err
		}
		moved := after.Sub(before)
		s.Traffic = &moved
	}
	for _, c := range callers {
		if c, ok := c.(Slicer); ok {
			if err := c.End(); err != nil {
				return Slice{}, err
			}
		}
	}
	return s, nil
}

// work is the life of a caller's goroutine: one operation that does not count,
// which opens connections and warms what is warm in use, then as many as fit, and
// one at least.
func (t *turn) work(c Caller, times *samples) (ops int64) {
	times.reset()
	err := callOnce(c)
	if err != nil {
		t.fail(err)
	}
	t.ready.Done()
	<-t.gate
	for begin := time.Since(t.start); !t.failed.Load(); {
		if err = c.Call(); err != nil {
			t.fail(err)
			break
		}
		times.add(time.Since(t.start) - begin)
		if err = c.Check(); err != nil {
			t.fail(err)
			break
		}
		ops++
		if begin = time.Since(t.start); begin >= t.length {
			break
		}
	}
	return ops
}

func callOnce(c Caller) error {
	if err := c.Call(); err != nil {
		return err
	}
	return c.Check()
}

// completed returns a channel that is closed when wg is done.
func completed(wg *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// within reports whether done is closed before d is over.
func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// Of returns the slices of one contender in the order of rounds.
func Of(all []Slice, client string) []Slice {
	return slices.DeleteFunc(slices.Clone(all), func(s Slice) bool { return s.Client != client })
}
