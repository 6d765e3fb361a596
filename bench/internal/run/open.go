package run

// Operations that are due at times of their own, as requests from outside are: who
// is slow does not get fewer of them. The time that one has waited for a caller
// counts, so nothing is left out because something else was late.

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TailQuantiles are those that a slice with a rate tells.
var TailQuantiles = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1}

// openLoop is the schedule of one slice and what came of it.
type openLoop struct {
	length time.Duration
	dues   []time.Duration    // since the start, in order
	queue  chan time.Duration // those that have come, closed behind the last
	hists  []*histogram       // of each caller
	missed atomic.Int64
}

// histogram counts times in nanoseconds.
type histogram = hdrhistogram.Histogram

// longest is what a histogram can hold; slower operations count as that.
const longest = int64(30 * time.Second)

func newHistogram() *histogram { return hdrhistogram.New(int64(time.Microsecond), longest, 3) }

// newOpenLoop draws the times: the same for every contender, and as irregular as those
// of many independent users.
func newOpenLoop(rate float64, length time.Duration, callers int) *openLoop {
	o := &openLoop{length: length}
	rng := rand.New(rand.NewPCG(uint64(rate), uint64(length)))
	for due := time.Duration(0); ; {
		due += time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
		if due >= length {
			break
		}
		o.dues = append(o.dues, due)
	}
	if len(o.dues) == 0 {
		o.dues = []time.Duration{0}
	}
	o.queue = make(chan time.Duration, len(o.dues))
	for range callers {
		o.hists = append(o.hists, newHistogram())
	}
	return o
}

// issue puts each operation into the queue when it is due. It returns at once; what it
// returns waits for the end, and undoes what it changed. The goroutine that waits has
// a processor of its own, so that no contender has to do without one for it.
func (o *openLoop) issue(start time.Time) (end func()) {
	done := make(chan struct{})
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 1)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it: the thread ends with its settings
		precise()
		for _, due := range o.dues {
			for {
				rest := due - time.Since(start)
				if rest <= 0 {
					break
				}
				nap(rest)
			}
			o.queue <- due
		}
		close(o.queue)
	}()
	return func() {
		<-done
		runtime.GOMAXPROCS(before)
	}
}

// put writes what all callers have counted into s.
func (o *openLoop) put(s *Slice) {
	all := newHistogram()
	for _, h := range o.hists {
		all.Merge(h)
	}
	at := func(q float64) time.Duration { return time.Duration(all.ValueAtQuantile(100 * q)) }
	s.P25, s.P50, s.P99, s.Missed = at(0.25), at(0.5), at(0.99), o.missed.Load()
	for _, q := range TailQuantiles {
		s.Tail = append(s.Tail, at(q))
	}
}

// openCaller takes operations from the queue while there are any. What is still there
// when the slice has taken twice its length is not begun; it counts with the time
// that it has waited.
func (t *turn) openCaller(i int, c Caller) (w worked) {
	hist := t.open.hists[i]
	record := func(d time.Duration) { hist.RecordValue(min(max(int64(d), 1), longest)) }
	for due := range t.open.queue {
		now := time.Since(t.start)
		if t.failed.Load() {
			continue // the queue is emptied all the same
		}
		if now > 2*t.length && w.ops > 0 { // one at least
			t.open.missed.Add(1)
			record(now - due)
			continue
		}
		if err := c.Call(); err != nil {
			t.fail(err)
			continue
		}
		record(time.Since(t.start) - due)
		if err := c.Check(); err != nil {
			t.fail(err)
			continue
		}
		w = worked{w.ops + 1, time.Since(t.start)}
	}
	return w
}
