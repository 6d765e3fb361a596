// Package link is one server's shared connection: any number of callers append
// requests to it, flush for each other and read for each other, and each gets
// the reply that is its own or an error. It dials when a call needs it, checks
// what lay idle, and repeats what may be repeated. It is where the protocols
// become alike: one neutral Request and Reply, one codec picked for each server.
//
//	link.go      Link: a call's way to a connection and back
//	gather.go    batches over several servers; stream.go: in rounds
//	admit.go     what comes before a connection may be used; login.go: who we are
//	protocol.go  which protocol a connection speaks; question.go: how it is asked
//	gate.go      how many calls may be in flight
//	dial.go      one dial at a time, and how long to wait after a failure
//	retry.go     what may be repeated on a fresh connection
//	fault.go     what a failure says of the server
//	fence.go     writes that are under way when a connection is lost
//	trial.go     connections by which to find out whether it is back
//	conn.go      the shared connection: submit, await, leave, close
//	flush.go     the flusher's part
//	read.go      the reader's part
//	turns.go     who has which part: a state machine without I/O
//	call.go      a request under way; body.go, keep.go: its value
//	request.go   the neutral operation; codec*.go: its bytes
//	dropped.go   values that a server has refused, and may take for commands
//	wire.go      what the sockets of this platform can do; readwait_unix.go: when a reader waits
package link

import (
	"context"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says how a Link reaches its server.
type Config struct {
	// Dial opens a connection. It is called by one goroutine at a time, with a
	// context that ends after DialTimeout or on Close. See Unproven.
	Dial func(ctx context.Context) (net.Conn, error)

	// Credentials is asked before each dial for what the server wants to be
	// shown, nil for nothing, with the context of the dial. It may be nil.
	Credentials func(ctx context.Context) (*Credentials, error)

	// Protocol says how to speak to the server.
	Protocol Protocol

	// Timeout is asked at each use for the bound on time without progress.
	Timeout func() time.Duration

	// DialTimeout bounds the making of a connection, and WriteTimeout a write
	// without progress. nil means Timeout.
	DialTimeout, WriteTimeout func() time.Duration

	// MaxConns is how many connections share the calls; 0 means 1.
	MaxConns int

	// MaxCalls is how many calls may be in flight, a batch counted as one; 0
	// means no bound.
	MaxCalls int

	// MaxValue is the longest value accepted from the server, in bytes.
	MaxValue int

	// Activity is shared by all links of a client.
	Activity *Activity

	// Opened is told of each attempt at a connection, how long it took and why
	// it failed; Closed of the end of each connection, and why: ErrClosed after
	// Close or Retire. Both may be nil. They are called in goroutines of the
	// link's own, which Close waits for, with no lock held.
	Opened func(took time.Duration, err error)
	Closed func(reason error)

	// Failed is told of each failure of the server: once for a dial or a
	// connection, and before the calls that it fails return. It may be nil. It
	// is called with locks of the link held: it must not call the link, nor wait.
	// A dial is tried a second time, within DialTimeout, before it has failed.
	Failed func(fault Fault, reason error)

	// Unsettled is told, as Failed is, of writes that may yet be performed after
	// requests that are sent from now on: those on a connection that is lost, and
	// those that their callers gave up where there are several connections. It
	// returns what to call, in the same way, once that can be no more. It may be
	// nil.
	Unsettled func(writes []Write, lost bool) (settled func())
}

// Link is the way to one server. It is safe for concurrent use and holds
// nothing before the first call.
type Link struct {
	cfg  Config
	base time.Time // the clock counts from here

	gate    gate
	calls   sync.Pool              // of *call
	current []atomic.Pointer[conn] // MaxConns of them, nil where there is none
	turn    atomic.Uint32          // whose turn is next of several
	hangUps atomic.Uint32          // in a row, on connections without a reply

	mu      sync.Mutex
	conns   map[*conn]struct{} // not wholly closed; guarded by mu
	dialing *dialing           // the dial under way; guarded by mu
	backoff backoff            // guarded by mu
	retired bool               // guarded by mu
}

// New returns a Link. It does not dial.
func New(cfg Config) *Link {
	if cfg.DialTimeout == nil {
		cfg.DialTimeout = cfg.Timeout
	}
	if cfg.WriteTimeout == nil {
		cfg.WriteTimeout = cfg.Timeout
	}
	limit := int64(cfg.MaxCalls)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	// The clock starts above zero, which stands for "never".
	return &Link{
		cfg: cfg, base: time.Now().Add(-time.Second),
		gate:    gate{limit: limit},
		current: make([]atomic.Pointer[conn], max(cfg.MaxConns, 1)),
		conns:   map[*conn]struct{}{},
	}
}

func (l *Link) clock() int64 { return int64(time.Since(l.base)) }

func (l *Link) at(clock int64) time.Time { return l.base.Add(time.Duration(clock)) }

// Do performs req and returns the server's answer. Without an answer the error
// is ErrTooManyCalls or the cause of ctx when nothing was sent, a *LostError,
// which may wrap that cause too, a *ProtocolError, or a codec's error about a
// request that cannot be sent.
func (l *Link) Do(ctx context.Context, req *Request) (Reply, error) {
	if err := l.enter(ctx); err != nil {
		return Reply{}, err
	}
	defer l.gate.leave()
	k := l.newCall()
	k.single(req)
	k, err := l.do(ctx, k)
	if err != nil {
		return Reply{}, err // the reader may still hold k
	}
	reply := k.oneReply[0]
	k.recycle()
	return reply, nil
}

// enter waits until one more call may be in flight.
func (l *Link) enter(ctx context.Context) error {
	return l.gate.enter(ctx, l.cfg.Timeout())
}

// do brings k to an answer, on a second connection if the first had died while
// it lay idle. The call returned is the one that was answered.
func (l *Link) do(ctx context.Context, k *call) (*call, error) {
	before := false // an earlier attempt may have been performed
	for retried := false; ; retried = true {
		c, err := l.send(ctx, k)
		if err != nil {
			return k, alsoSent(err, before)
		}
		if err = c.await(ctx, k); err == nil {
			return k, nil
		}
		if err = c.lost(k, err); k.gone.Load() || retried || !mayRepeat(c, k, err) {
			return k, alsoSent(err, before)
		}
		before = wasSent(err)
		k = k.again()
	}
}

// send submits k on a connection that is open, and flushes if that is k's part.
func (l *Link) send(ctx context.Context, k *call) (*conn, error) {
	for tries := 1; ; {
		c, err := l.connect(ctx)
		if err != nil {
			return nil, err
		}
		if err := l.sendOn(ctx, c, k); err != errNotOpen {
			return c, err
		}
		switch err := c.err; { // it is closed: that does not change any more
		case err == ErrClosed: // by us: it was retired, and others have had their answers on it
		case tries == maxTries+len(l.current)-1:
			return nil, &LostError{Err: err}
		default:
			tries++
		}
	}
}

// maxTries is how many connections may be closed before a call is on them,
// beside those that stood open together. The first may have been closed for good
// reason a moment ago; a server that hangs up on the others does so with all.
const maxTries = 3

// sendOn is send on one connection; errNotOpen when it is closed. A call whose
// context has ended is not sent.
func (l *Link) sendOn(ctx context.Context, c *conn, k *call) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	flush, err := c.submit(k, l.clock())
	if err != nil {
		return err
	}
	if flush {
		c.startFlush(ctx, k)
	}
	return nil
}

// Retire lets each connection finish its calls and then closes it, also those
// made later: the Link serves who holds it still, and keeps nothing.
func (l *Link) Retire() {
	l.mu.Lock()
	l.retired = true
	l.mu.Unlock()
	l.Drain()
}

// Drain lets each connection finish its calls and then closes it.
func (l *Link) Drain() {
	for _, c := range l.all() {
		c.retire()
	}
}

// Idle reports whether there is no connection, not even one that is being made or
// has not wholly closed.
func (l *Link) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) == 0 && l.dialing == nil
}

// all returns the connections that are not wholly closed.
func (l *Link) all() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.conns))
}

// Close closes the connections and fails the calls on them with ErrClosed. It
// waits until nothing that it found at work runs any more, which takes the time
// of a fence if there are writes among the calls: see fence.go. The Link may be
// used again.
func (l *Link) Close() error {
	l.mu.Lock()
	dial := l.dialing
	l.backoff = backoff{}
	l.mu.Unlock()
	if dial != nil {
		dial.cancel(ErrClosed)
		<-dial.done
	}
	conns := l.all()
	for _, c := range conns {
		c.close(ErrClosed)
	}
	for _, c := range conns {
		<-c.ended
	}
	return nil
}
