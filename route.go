package memcache

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file finds who takes the operations of a server that is down.

// FailoverMode says what becomes of the operations of a server that is down.
//
// The operation that finds its server down goes to others itself, alone or in a
// batch, unless it may have been carried out and must not be a second time.
//
// A mode other than FailFast trades freshness for hits, and what it hands out
// instead is bounded by FailoverSettings.MaxTTL. The home server of a key is owed
// what others did in its place, so that it does not serve older values when it is
// back. Deletes go to all that may take over, too, and are pending at home. For
// MaxTTL after a server's return what others keep of that time may be out of
// date, so that in a new outage its keys are not read from them until that time
// has passed: they are misses, and are not in the result of a batch. Nothing of
// this helps against a server that only this client cannot reach, beyond the
// bound.
type FailoverMode uint8

const (
	// FailFast lets operations fail at once.
	FailFast FailoverMode = iota

	// NextServer gives them to the next server, in the order of the placement:
	// see ring.Ring.Next. It is FailFast for a ServerSelector of another package.
	NextServer

	// Gutter gives them to the server that FailoverSettings.Gutter picks.
	Gutter
)

const (
	defaultMaxHops      = 2
	defaultMaxTTL       = 30 * time.Second
	defaultMaxDownShare = 0.5

	maxRelativeTTL = 30 * 24 * 60 * 60 // seconds; a larger Expiration is a Unix time
)

// policy is what an operation does when its server is down.
type policy uint8

const (
	stays   policy = iota // fails
	reads                 // goes to another server, if that is not out of date
	touches               // likewise, and its expiration is bounded
	writes                // goes to another server, and the home server is owed it
)

// policyOf says what op does. Delete has a way of its own: see deleteElsewhere.
func (s *FailoverSettings) policyOf(op link.Op) policy {
	switch op {
	case link.Get, link.Inspect:
		return reads
	case link.GetAndTouch, link.Touch:
		return touches
	case link.Set:
		return writes
	case link.Add, link.Replace, link.Append, link.Prepend, link.CompareAndSwap, link.Increment, link.Decrement:
		if s.Conditional {
			return writes
		}
	}
	return stays
}

// refuses reports whether calls to the server fail at once.
func (h *health) refuses() bool { return h.word.Load()&wordRefuses != 0 }

// instead returns the server that takes req, whose key is placed as key, in the
// place of home, which is down: home itself if there is none. Another one is to be
// given it with its expiration bounded. blind is set for a read that must be a
// miss.
func (c *Client) instead(v *view, home *server, key string, req *link.Request) (s *server, blind bool) {
	home.health.called() // no call may ask home itself any more
	p := c.Failover.policyOf(req.Op)
	if p == stays || !c.mayFailOver(v) {
		return home, false
	}
	change := []link.Request{{Op: link.Set, Key: req.Key}}
	for t := range c.others(v, home, key) {
		if p != writes && home.health.outdated() {
			return home, true
		}
		if t.health.refuses() {
			t.health.called() // one of a gutter has no calls of its own
			if p == writes {
				t.health.refuse(change) // it may hold what it was given before
			} else if t.health.outdated() { // and the next one what it was given in this one's place
				return home, true
			}
			continue
		}
		if p == writes && home.health.refuse(change) == nil {
			return home, false // it has just come back
		}
		home.health.countFailover()
		return t, false
	}
	return home, false
}

// others yields the servers that take over a key while home is down.
func (c *Client) others(v *view, home *server, key string) iter.Seq[*server] {
	return func(yield func(*server) bool) {
		if c.Failover.Mode == Gutter {
			if g := c.gutter(); g != nil {
				if s, err := g.pick(key); err == nil {
					yield(s)
				}
			}
			return
		}
		if v == nil {
			return
		}
		hops := cmp.Or(c.Failover.MaxHops, defaultMaxHops)
		tried := []*server{home}
		for i := range v.ring.Next(key) {
			s := v.servers[i]
			if slices.Contains(tried, s) {
				continue
			}
			if tried = append(tried, s); len(tried)-1 > hops || !yield(s) {
				return
			}
		}
	}
}

// mayFailOver reports whether no more than MaxDownShare of the servers is down.
func (c *Client) mayFailOver(v *view) bool {
	share := c.Failover.MaxDownShare
	if share <= 0 {
		share = defaultMaxDownShare
	}
	if v == nil || share >= 1 {
		return true
	}
	down, all := 0, 0
	for i, s := range v.servers {
		if slices.Contains(v.servers[:i], s) {
			continue
		}
		all++
		if s.health.refuses() {
			down++
		}
	}
	return float64(down) <= share*float64(all)
}

// outdated reports whether others may hold of the server's keys what they were
// given in an earlier outage.
func (h *health) outdated() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.verdict.returns > 0 &&
		h.client.clock()-h.verdict.returned < int64(positive(h.verdict.set.MaxTTL, defaultMaxTTL))
}

func (h *health) countFailover() {
	h.mu.Lock()
	h.counts.Failovers++
	h.mu.Unlock()
}

// bound sees to it that what req stores in the place of another server ends within
// MaxTTL.
func (s *FailoverSettings) bound(req *link.Request) {
	switch s.policyOf(req.Op) {
	case touches, writes:
		req.Expiration = s.bounded(req.Expiration)
	}
}

// bounded returns an Expiration that ends within MaxTTL.
func (s *FailoverSettings) bounded(expiration int32) int32 {
	ttl := math.Ceil(positive(s.MaxTTL, defaultMaxTTL).Seconds())
	limit := int32(min(ttl, maxRelativeTTL))
	switch {
	case expiration < 0:
		return expiration
	case expiration == 0:
		return limit
	case expiration <= maxRelativeTTL:
		return min(expiration, limit)
	case int64(expiration)-time.Now().Unix() > int64(limit):
		return limit
	}
	return expiration
}

// gutter returns the client of the servers that take over in mode Gutter, nil
// without any.
func (c *Client) gutter() *Client {
	if c.Failover.Gutter == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spare == nil {
		g := NewFromSelector(c.Failover.Gutter)
		g.DialContext, g.Timeout, g.Conn, g.MaxConns, g.MaxIdleConns = c.DialContext, c.Timeout, c.Conn, c.MaxConns, c.MaxIdleConns
		g.Protocol, g.Keys, g.TLS, g.Auth, g.Hooks = c.Protocol, c.Keys, c.TLS, c.Auth, c.Hooks
		g.Failover = c.Failover
		g.Failover.Mode, g.Failover.Gutter = FailFast, nil
		g.slots = c.slots
		c.spare = g
	}
	return c.spare
}
