package link

import "sync/atomic"

// Activity counts the callers inside a client. Links that share one let a
// flusher wait a moment for the requests of others, and never when it is alone.
type Activity struct{ n atomic.Int64 }

// Enter notes one more caller, until Leave.
func (a *Activity) Enter() { a.n.Add(1) }

// Leave ends what Enter began.
func (a *Activity) Leave() { a.n.Add(-1) }

func (a *Activity) several() bool { return a.n.Load() > 1 }
