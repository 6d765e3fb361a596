package memcachetest

// memcached keeps a reference to each item that a reply refers to until the reply
// is sent, which shows in what incr and decr do to the item meanwhile.

import "sync/atomic"

// batch counts the times that a connection wrote its replies.
type batch struct{ sent atomic.Uint64 }

// hold is a reference to an item by an unsent reply.
type hold struct {
	by *batch
	at uint64
}

// now tells whether the reply is still unsent.
func (h hold) now() bool { return h.by != nil && h.by.sent.Load() == h.at }

// hold returns a reference that ends with the next write.
func (b *batch) hold() hold { return hold{b, b.sent.Load()} }
