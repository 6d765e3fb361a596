package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// gate bounds how many calls are in flight to one server. Below the bound it
// costs one atomic addition each way; beyond it callers wait in line.
type gate struct {
	limit   int64
	inside  atomic.Int64
	waiting atomic.Int64

	mu   sync.Mutex
	line []chan struct{} // closed when the place has been passed on; guarded by mu
}

// enter waits for a place, for as long as ctx and patience allow. leave gives
// it back.
func (g *gate) enter(ctx context.Context, patience time.Duration) error {
	if g.tryEnter() {
		return nil
	}
	g.mu.Lock()
	g.waiting.Add(1) // whoever leaves from now on looks at the line
	if g.tryEnter() {
		g.waiting.Add(-1)
		g.mu.Unlock()
		return nil
	}
	place := make(chan struct{})
	g.line = append(g.line, place)
	g.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-place:
		return nil
	case <-ctx.Done():
		if g.giveUp(place) {
			return context.Cause(ctx)
		}
	case <-timer.C:
		if g.giveUp(place) {
			return ErrTooManyCalls
		}
	}
	return nil // the place came at the last moment
}

// tryEnter takes a place if there is one.
func (g *gate) tryEnter() bool {
	for {
		n := g.inside.Load()
		if n >= g.limit {
			return false
		}
		if g.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// giveUp leaves the line. It reports false when the place has been passed on.
func (g *gate) giveUp(place chan struct{}) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range g.line {
		if p == place {
			g.line = append(g.line[:i], g.line[i+1:]...)
			g.waiting.Add(-1)
			return true
		}
	}
	return false
}

func (g *gate) leave() {
	g.inside.Add(-1)
	if g.waiting.Load() == 0 {
		return // who comes into line from now on sees the place
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.line) > 0 && g.tryEnter() { // for the first in line; whoever slipped in before looks as well
		close(g.line[0])
		g.line = g.line[1:]
		g.waiting.Add(-1)
	}
}
