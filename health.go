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
// links report goes in, and what failover.go makes of it comes out. owed.go has
// what a server missed, keeper.go finds out whether it is back.

// ErrServerDown is what errors.Is finds in the *OpError of a call that was not
// made because its server is known to be down. Nothing was sent. The error wraps
// the failure that took the server down. Calls may share one *OpError: it must
// not be changed.
var ErrServerDown = errors.New("memcache: server is down")

// downError refuses calls to a server that is down. It is made once for an outage,
// with what each operation is told, so that a call that fails at once costs next
// to nothing: what callers do meanwhile is ask again.
type downError struct {
	reason error
	told   [link.OpEnd]OpError
}

func newDownError(server string, reason error) *downError {
	e := &downError{reason: reason}
	for op := link.Get; op < link.OpEnd; op++ {
		e.told[op] = OpError{Op: op.String(), Server: server, Err: e}
	}
	return e
}

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
	Failovers    uint64 // operations that other servers were given in its place

	// Owed is how many keys are to be deleted on the server because it missed a
	// change of theirs, Overflowed that there were more than could be remembered.
	Owed       int
	Overflowed bool
	Replayed   uint64 // keys that have been deleted so
	Overflows  uint64 // times that there were more
}

// ServerStateChange is a transition, as Hooks.ServerState is told of it.
type ServerStateChange struct {
	Server   string // the server's address
	From, To ServerState
	Reason   error // why, where a failure is the reason
}

// health is what a client holds of one server, whose identity is its name where
// it has one: its address may change.
type health struct {
	client   *Client
	identity string

	// Guarded by client.mu.
	former []*link.Link // of the servers before this one, as far as they have to do
	left   int64        // clock when the server left the list; 0 = it is there

	// word is zero for a server that is up, of which no failure is counted, and
	// that is owed nothing: all that a call looks at then.
	word atomic.Uint32
	due  atomic.Int64              // clock from which a call starts the keeper
	down atomic.Pointer[downError] // what calls are refused with
	fast atomic.Uint64             // ServerHealth.FastFailures

	mu      sync.Mutex
	server  *server       // guarded by mu, as all that follows
	verdict verdict       //
	since   time.Time     // when verdict.state was reached
	reason  error         // of verdict.state
	counts  ServerHealth  // the counters of it
	owes    *journal      // nil when nothing is remembered
	keeping bool          // the keeper runs
	again   bool          // and shall once more: somebody waits since it began
	tries   int           // of the keeper, in a row, that left something owed
	retry   int64         // clock from which it may try again
	settled chan struct{} // closed when a write has come to its end; nil if nobody waits
	news    []news
	telling bool
}

// news is what hooks have to be told.
type news struct {
	change ServerStateChange
	owed   string // or the key that is owed
}

// What the word of a server says.
const (
	wordRefuses  = 1 << iota // calls fail at once
	wordCounting             // a reply ends a row of failures
	wordOwing                // there are keys in the journal
	wordKept                 // the server is there, and kept out because the journal overflowed
)

func (c *Client) newHealth(s *server, identity string) *health {
	h := &health{client: c, identity: identity, server: s, owes: newJournal(&c.Failover)}
	h.verdict.set = c.Failover
	h.due.Store(never)
	return h
}

// moves gives the identity another address, or the one that it had, if it has
// been absent from the list. What failed was the old one, and of an absent server
// nothing is known any more; but what is owed to it is owed still.
func (h *health) moves(s *server, absent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server = s
	if d := h.down.Load(); d != nil { // it is told with the address
		h.down.Store(newDownError(s.addr.String(), d.reason))
	}
	if absent {
		h.verdict = verdict{set: h.verdict.set}
		h.since, h.reason, h.counts = time.Time{}, nil, ServerHealth{}
	}
	from, reason := h.verdict.state, h.reason
	h.verdict.answered()
	h.verdict.restoreDown(h.client.clock())
	if from == ServerUp && h.owes != nil && (h.owes.owed > 0 || h.owes.overflowed) {
		h.verdict.down(h.client.clock())
		if reason = ErrInvalidationPending; h.owes.overflowed {
			reason = errOverflow
		}
	}
	h.changeLocked(from, reason)
}

// clock is a time that never goes back.
func (c *Client) clock() int64 { return int64(time.Since(c.base)) }

// changeLocked is called after each use of verdict and journal: it lets calls
// know.
func (h *health) changeLocked(from ServerState, reason error) {
	v := &h.verdict
	if v.state != from {
		h.since, h.reason = time.Now(), reason
		if !v.state.serves() {
			h.down.Store(newDownError(h.server.addr.String(), reason))
		}
		if hooks := h.client.Hooks; hooks != nil && hooks.ServerState != nil {
			h.news = append(h.news, news{change: ServerStateChange{h.server.addr.String(), from, v.state, reason}})
		}
	}
	due, word := never, uint32(0)
	if v.counting() {
		word |= wordCounting
	}
	if h.owes != nil && !h.owes.empty() {
		word |= wordOwing
		due = h.retry
	}
	if !v.state.serves() {
		word |= wordRefuses
		due = never
		if v.state == ServerDown {
			due = v.due
		}
		if h.reason == errOverflow {
			word |= wordKept
		}
	}
	if h.keeping {
		due = never
	}
	h.due.Store(due)
	h.word.Store(word)
}

// tell calls the hooks for what has changed, in order, with no lock held.
func (h *health) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.telling {
		return // who does it goes on
	}
	h.telling = true
	for len(h.news) > 0 {
		list, server := h.news, h.server.addr.String()
		h.news = nil
		h.mu.Unlock()
		for _, n := range list {
			if n.owed != "" {
				h.client.Hooks.InvalidationOwed(server, n.owed)
			} else {
				h.client.Hooks.ServerState(n.change)
			}
		}
		h.mu.Lock()
	}
	h.telling = false
}

// failed is told by the link of each failure.
func (s *server) failed(fault link.Fault, reason error) {
	h := s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != s {
		return // the server is elsewhere by now
	}
	from := h.verdict.state
	h.counts.Failures++
	if h.verdict.failed(h.client.clock(), fault == link.Hard, rand.Float64()) {
		h.counts.Downs++
	}
	h.changeLocked(from, s.reason(reason))
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
	h.changeLocked(h.verdict.state, h.reason)
}

// admit returns why calls to the server fail at once, nil if they do not. Of a
// batch it is asked once for all, changes being those of its requests that may
// leave something owed. The first call after the pause starts the keeper.
func (h *health) admit(ctx context.Context, op link.Op, changes []link.Request) error {
	h.called()
	word := h.word.Load()
	if word&wordRefuses != 0 && (word&wordKept == 0 || keyed(op)) {
		if refused := h.refuse(changes); refused != nil {
			h.fast.Add(1)
			return refused
		}
	}
	if word&wordOwing != 0 {
		return h.afterOlder(ctx, changes)
	}
	return nil
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
	if h.owes != nil {
		s.Owed, s.Overflowed = h.owes.owed, h.owes.overflowed
	}
	return s
}

// Health returns what the client holds of each server that the selector has, in
// its order, then of those of FailoverSettings.Gutter once they have been used.
// It asks no server.
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
	c.mu.RLock()
	spare := c.spare
	c.mu.RUnlock()
	if spare != nil {
		list = append(list, spare.Health()...)
	}
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
			h.current().link.Drain()
		}
	})
}

// Restore ends what SetServerState began. A server that got no calls is probed
// before it gets any; one that is down is probed by the next call, without
// further pause. For a server that is kept out because it missed more than could
// be remembered it is the caller's word that it may serve. It returns
// ErrNoServers if the selector has no such server.
func (c *Client) Restore(address string) error {
	return c.onServer(address, func(h *health) {
		h.change(func(v *verdict) {
			if h.owes != nil {
				h.owes.overflowed = false
			}
			v.restore(c.clock())
		})
	})
}

// current is the server that has the identity now.
func (h *health) current() *server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server
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
