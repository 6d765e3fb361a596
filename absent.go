package memcache

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file remembers servers that have left the list, while they are owed
// something or may yet be: they may come back with what they held.

// lateCalls is how long after a server has left the list calls that had chosen it
// before may still begin.
const lateCalls = int64(time.Minute)

// absentLocked notes who is not in the list any more, whose identities present
// has. It forgets those that are owed nothing. What all the others are owed is
// bounded as for one server; beyond that the server that left first has missed
// more than can be remembered.
func (c *Client) absentLocked(present map[string]bool) {
	now := c.clock()
	var absent []*health
	for identity, h := range c.healths {
		switch {
		case present[identity]:
		case h.left == 0:
			h.left = max(now, 1)
			fallthrough
		case now-h.left < lateCalls, h.owing(), h.busyLocked():
			absent = append(absent, h)
		default:
			delete(c.healths, identity)
		}
	}
	slices.SortFunc(absent, func(a, b *health) int { return cmp.Compare(b.left, a.left) })
	keys, bytes := 0, 0
	for _, h := range absent {
		if h.owes != nil {
			h.bound(&keys, &bytes)
		}
	}
}

// owing reports whether anything is owed to h, or held.
func (h *health) owing() bool {
	if h.owes == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.owes.empty()
}

// bound adds what h is owed to keys and bytes, if that is still within bounds,
// and forgets it if not.
func (h *health) bound(keys, bytes *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.owes
	*keys, *bytes = *keys+len(j.keys), *bytes+j.bytes
	if *keys > j.maxKeys || *bytes > j.maxBytes {
		j.forget(h.client.clock())
		h.changeLocked(h.verdict.state, h.reason)
	}
}

// linksLocked returns the links of the servers that h has had and has, without
// those of earlier ones that have nothing more to do.
func (h *health) linksLocked() []*link.Link {
	h.former = slices.DeleteFunc(h.former, (*link.Link).Idle)
	return append(slices.Clone(h.former), h.current().link)
}

// busyLocked reports whether a link of h has anything to do.
func (h *health) busyLocked() bool {
	return slices.ContainsFunc(h.linksLocked(), func(l *link.Link) bool { return !l.Idle() })
}

// settleLinks has lost connections come to their end, also those to where the
// server was before.
func (h *health) settleLinks(ctx context.Context) {
	h.client.mu.Lock()
	links := h.linksLocked()
	h.client.mu.Unlock()
	var settling sync.WaitGroup
	for _, l := range links {
		settling.Go(func() { l.Settle(ctx) })
	}
	settling.Wait()
}
