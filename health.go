package memcache

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file keeps the verdict on each server and lets calls know of it: what
// links report goes in, and what failover.go makes of it comes out. probe.go
// finds out whether a server is back.

// ErrServerDown is what errors.Is finds in the *OpError of a call that was not
// made because its server is known to be down. Nothing was sent. The error wraps
// the failure that took the server down.
var ErrServerDown = errors.New("memcache: server is down")

// downError refuses calls to a server that is down.
type downError struct{ reason error }

func (e *downError) Error() string {
	if e.reason == nil {
		return "server is down"
	}
	return "server is down: " + e.reason.Error()
}

// Is reports whether target is ErrServerDown.
func (e *downError) Is(target error) bool { return target == ErrServerDown }

func (e *downError) Unwrap() error { return e.reason }

// Timeout returns false, whatever took the server down: the call itself took no
// time.
func (e *downError) Timeout() bool { return false }

// ServerHealth is what a client holds of one server. See Client.Health.
type ServerHealth struct {
	Server string // the server's address
	State  ServerState
	Since  time.Time // when it came into State; zero for a server that never left its first
	Reason error     // why, where a failure is the reason

	// NextProbe is the time from which a call starts a probe; zero if none is
	// waited for.
	NextProbe time.Time

	// What has happened since the client first used the server.
	Failures     uint64 // that counted
	Downs        uint64 // times that it went down
	FastFailures uint64 // calls and shares of batches that failed at once
	Probes       uint64
	ProbesFailed uint64
}

// ServerStateChange is a transition, as Hooks.ServerState is told of it.
type ServerStateChange struct {
	Server   string // the server's address
	From, To ServerState
	Reason   error // why, where a failure is the reason
}

// health is what a client holds of one server.
type health struct {
	client *Client

	// word is zero for a server that is up and of which no failure is counted:
	// all that a call looks at then.
	word atomic.Uint32
	due  atomic.Int64              // clock from which a call starts a probe
	down atomic.Pointer[downError] // what calls are refused with
	fast atomic.Uint64             // ServerHealth.FastFailures

	mu      sync.Mutex
	server  *server      // guarded by mu, as all that follows
	verdict verdict      //
	since   time.Time    // when verdict.state was reached
	reason  error        // of verdict.state
	counts  ServerHealth // the counters of it
	news    []ServerStateChange
	telling bool
}

// What the word of a server says.
const (
	wordRefuses  = 1 << iota // calls fail at once
	wordCounting             // a reply ends a row of failures
)

func (c *Client) newHealth(s *server) *health {
	h := &health{client: c, server: s}
	h.verdict.set = c.Failover
	return h
}

// clock is a time that never goes back.
func (c *Client) clock() int64 { return int64(time.Since(c.base)) }

// changeLocked is called after each use of verdict: it lets calls know.
func (h *health) changeLocked(from ServerState, reason error) {
	v := &h.verdict
	if v.state != from {
		h.since, h.reason = time.Now(), reason
		if !v.state.serves() {
			h.down.Store(&downError{reason})
		}
		if hooks := h.client.Hooks; hooks != nil && hooks.ServerState != nil {
			h.news = append(h.news, ServerStateChange{h.server.addr.String(), from, v.state, reason})
		}
	}
	due := never
	if v.state == ServerDown {
		due = v.due
	}
	h.due.Store(due)
	var word uint32
	if !v.state.serves() {
		word |= wordRefuses
	}
	if v.counting() {
		word |= wordCounting
	}
	h.word.Store(word)
}

// tell calls the hook for what has changed, in order, with no lock held.
func (h *health) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.telling {
		return // who does it goes on
	}
	h.telling = true
	for len(h.news) > 0 {
		news := h.news
		h.news = nil
		h.mu.Unlock()
		for _, change := range news {
			h.client.Hooks.ServerState(change)
		}
		h.mu.Lock()
	}
	h.telling = false
}

// failed is told by the link of each failure.
func (h *health) failed(fault link.Fault, reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := h.verdict.state
	h.counts.Failures++
	if h.verdict.failed(h.client.clock(), fault == link.Hard, rand.Float64()) {
		h.counts.Downs++
	}
	h.changeLocked(from, h.server.reason(reason))
}

// reason is why a connection of s failed, as callers and hooks see it.
func (s *server) reason(err error) error {
	var nonsense *link.ProtocolError
	if errors.As(err, &nonsense) {
		return &ProtocolError{Op: nonsense.Want, Server: s.addr.String(), Got: nonsense.Got, Err: nonsense.Err}
	}
	return err
}

// answered notes that a call got a reply that began when word was not zero.
func (h *health) answered() {
	if h.word.Load()&wordCounting == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.verdict.answered()
	h.changeLocked(h.verdict.state, nil)
}

// admit returns why a call to the server fails at once, nil if it does not. The
// first call after the pause starts a probe.
func (h *health) admit() error {
	if h.word.Load()&wordRefuses == 0 {
		return nil
	}
	if h.client.clock() >= h.due.Load() {
		h.startProbe()
	}
	h.fast.Add(1)
	return h.down.Load()
}

func (h *health) snapshot() ServerHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.counts
	s.Server, s.State, s.Since, s.Reason = h.server.addr.String(), h.verdict.state, h.since, h.reason
	s.FastFailures = h.fast.Load()
	if s.State == ServerDown {
		s.NextProbe = time.Now().Add(time.Duration(h.verdict.due - h.client.clock()))
	}
	return s
}

// Health returns what the client holds of each server that the selector has, in
// its order. It asks no server. It is nil when the selector fails.
func (c *Client) Health() []ServerHealth {
	var list []ServerHealth
	var seen []*health
	c.selector.Each(func(addr net.Addr) error {
		h := c.server(addr).health
		if !slices.Contains(seen, h) {
			seen = append(seen, h)
			list = append(list, h.snapshot())
		}
		return nil
	})
	return list
}

// SetServerState puts the server with the given address, as net.Addr.String
// gives it, into a state from which only Restore and another SetServerState take
// it: ServerForcedUp, ServerForcedDown or ServerDraining. Calls under way go on.
// It returns ErrNoServers if the selector has no such server, and an error for
// any other state.
func (c *Client) SetServerState(address string, state ServerState) error {
	if state != ServerForcedUp && state != ServerForcedDown && state != ServerDraining {
		return errors.New("memcache: not a state to be set: " + state.String())
	}
	return c.onServer(address, func(h *health) {
		h.change(func(v *verdict) { v.force(state) })
		if state == ServerDraining {
			h.server.link.Drain()
		}
	})
}

// Restore ends what SetServerState began. A server that got no calls is probed
// before it gets any; one that is down is probed by the next call, without
// further pause. It returns ErrNoServers if the selector has no such server.
func (c *Client) Restore(address string) error {
	return c.onServer(address, func(h *health) {
		h.change(func(v *verdict) { v.restore(c.clock()) })
	})
}

// change applies the operator's word.
func (h *health) change(f func(v *verdict)) {
	h.mu.Lock()
	from := h.verdict.state
	f(&h.verdict)
	h.changeLocked(from, nil)
	h.mu.Unlock()
	h.tell()
}

// onServer calls f for the server with the given address.
func (c *Client) onServer(address string, f func(*health)) error {
	found := ErrNoServers
	err := c.selector.Each(func(addr net.Addr) error {
		if found != nil && addr.String() == address {
			found = nil
			f(c.server(addr).health)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return found
}

// background is the goroutines of a client that belong to no call and no link.
type background struct {
	mu    sync.Mutex
	group *group // guarded by mu; nil when none has been started since the last stop
}

type group struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// start runs f beside its caller, with a context that ends at stop.
func (b *background) start(f func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.group == nil {
		b.group = new(group)
		b.group.ctx, b.group.cancel = context.WithCancel(context.Background())
	}
	g := b.group
	g.running.Go(func() { f(g.ctx) })
}

// stop ends what start has begun, and waits for it.
func (b *background) stop() {
	b.mu.Lock()
	g := b.group
	b.group = nil
	b.mu.Unlock()
	if g != nil {
		g.cancel()
		g.running.Wait()
	}
}
