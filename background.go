package memcache

import (
	"context"
	"sync"
)

// background is the goroutines of a client that belong to no call and no link.
// Each ends by itself, soon; Close does not wait for that.
type background struct {
	mu      sync.Mutex
	group   *group // of those that run; guarded by mu
	stopped int    // how many Closes are under way; guarded by mu
}

type group struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// start runs f beside its caller, with a context that ends at stop. It reports
// false, and does nothing, during a Close.
func (b *background) start(f func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped > 0 {
		return false
	}
	if b.group == nil {
		b.group = new(group)
		b.group.ctx, b.group.cancel = context.WithCancel(context.Background())
	}
	g := b.group
	g.running.Go(func() { f(g.ctx) })
	return true
}

// stop ends what start has begun, waits for it, and lets nothing more start
// until allow.
func (b *background) stop() {
	b.mu.Lock()
	g := b.group
	b.group = nil
	b.stopped++
	b.mu.Unlock()
	if g != nil {
		g.cancel()
		g.running.Wait()
	}
}

// allow ends stop.
func (b *background) allow() {
	b.mu.Lock()
	b.stopped--
	b.mu.Unlock()
}
