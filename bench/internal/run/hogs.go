package run

// Goroutines that keep the processors busy, as the rest of an application does.

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type hogs struct {
	stopped atomic.Bool
	units   atomic.Int64
	wg      sync.WaitGroup
}

// startHogs lets n goroutines work for d at a time, with a yield in between.
func startHogs(n int, d time.Duration) *hogs {
	h := new(hogs)
	for range n {
		h.wg.Go(func() {
			for !h.stopped.Load() {
				spin(d)
				h.units.Add(1)
				runtime.Gosched()
			}
		})
	}
	return h
}

func (h *hogs) stop() {
	h.stopped.Store(true)
	h.wg.Wait()
}

// spin uses a processor for d, or for less if the system takes it away.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}
