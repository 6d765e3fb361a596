package run

// The goroutines of one slice: they get ready, start together, and work until the
// time is over.

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// hangTime is how long a contender may take to get ready, and to finish its last
// operations when its slice is over.
const hangTime = 20 * time.Second

// ErrHang means that a contender did not come back from a call. Its goroutines
// are still there.
var ErrHang = errors.New("a call does not return")

// turn is what the callers of one slice share.
type turn struct {
	length      time.Duration
	ready, done sync.WaitGroup
	finished    <-chan struct{} // closed once done is
	gate        chan struct{}   // closed when the time starts
	start       time.Time       // set before
	open        *openLoop       // nil: each caller works as fast as it can

	failed atomic.Bool
	once   sync.Once
	err    error // set once, before done is

	work []worked // of each caller
}

// worked is what one caller did.
type worked struct {
	ops int64
	end time.Duration // of its last operation and the check of it, since the start
}

// startTurn returns when all callers are ready to work for length, at a rate unless
// that is 0.
func startTurn(callers []Caller, times []*samples, length time.Duration, rate float64) (*turn, error) {
	t := &turn{length: length, gate: make(chan struct{}), work: make([]worked, len(callers))}
	if rate > 0 {
		t.open = newOpenLoop(rate, length, len(callers))
	}
	t.ready.Add(len(callers))
	for i, c := range callers {
		t.done.Go(func() { t.work[i] = t.caller(i, c, times[i]) })
	}
	t.finished = completed(&t.done)
	if !within(completed(&t.ready), hangTime) {
		t.fail(ErrHang)
		t.release() // for those that come yet
		return nil, ErrHang
	}
	if t.failed.Load() {
		t.abandon(nil)
		return nil, t.err
	}
	return t, nil
}

// run starts the time and returns when all callers have finished.
func (t *turn) run() error {
	t.start = time.Now()
	limit := t.length + hangTime
	if t.open != nil {
		limit += t.length // what is due late may begin until then
		defer t.open.issue(t.start)()
	}
	close(t.gate)
	if !within(t.finished, limit) {
		t.fail(ErrHang)
		return ErrHang
	}
	return t.err
}

// abandon ends the callers before their time has started. Err counts if none of
// them has failed yet.
func (t *turn) abandon(err error) {
	t.fail(err)
	t.release()
	<-t.finished
}

// release lets the callers go that wait for a time which does not come.
func (t *turn) release() {
	if t.open != nil {
		close(t.open.queue)
	}
	close(t.gate)
}

func (t *turn) fail(err error) {
	t.once.Do(func() { t.err = err })
	t.failed.Store(true)
}

// sum returns the operations of all callers, and when the last of them ended.
func (t *turn) sum() (ops int64, elapsed time.Duration) {
	for _, w := range t.work {
		ops += w.ops
		elapsed = max(elapsed, w.end)
	}
	return ops, elapsed
}

// caller is the life of a caller's goroutine: one operation that does not count,
// which opens connections and warms what is warm in use, then as many as fit, and
// one at least.
func (t *turn) caller(i int, c Caller, times *samples) (w worked) {
	times.reset()
	err := c.Call()
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		t.fail(err)
	}
	t.ready.Done()
	<-t.gate
	if t.open != nil {
		return t.openCaller(i, c)
	}
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
		begin = time.Since(t.start)
		w = worked{w.ops + 1, begin}
		if begin >= t.length {
			break
		}
	}
	return w
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
