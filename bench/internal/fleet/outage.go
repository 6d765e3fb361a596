package fleet

// Servers that go away and come back.

import "context"

// Kill ends server i: its connections break and new ones are refused.
func (f *Fleet) Kill(i int) { f.servers[i].Stop() }

// Restart starts it again, empty, on the same address, and returns when it answers.
// Its counters are lost, so Traffic does not work with it any more.
func (f *Fleet) Restart(ctx context.Context, i int) error { return f.servers[i].Restart(ctx) }

// Freeze stops server i as it is: connections stay, new ones are accepted by the
// kernel, and nothing answers.
func (f *Fleet) Freeze(i int) error { return f.servers[i].Signal(freeze) }

// Thaw lets it go on.
func (f *Fleet) Thaw(i int) error { return f.servers[i].Signal(thaw) }
