package link

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// This file makes connections: one dial at a time for all callers of a server,
// trials among them, and none for a while after one has failed.

// dialing is a dial under way. conn and err are set before done is closed. That
// of a trial has a connection for nobody else.
type dialing struct {
	lane   int // of Link.current
	done   chan struct{}
	cancel context.CancelCauseFunc
	conn   *conn
	err    error
}

// newDialing returns a dialing and the context of the dial, which derives from
// ctx.
func newDialing(ctx context.Context, lane int) (context.Context, *dialing) {
	d := &dialing{lane: lane, done: make(chan struct{})}
	ctx, d.cancel = context.WithCancelCause(ctx)
	return ctx, d
}

// backoff says when the next dial may begin.
type backoff struct {
	failures int
	until    int64 // clock
	err      error // of the latest dial
}

const (
	firstBackoff = 10 * time.Millisecond
	maxBackoff   = time.Second
)

// failed notes a failed dial. The pause doubles each time, with a jitter of a
// half each way, so that many clients do not return in step.
func (b *backoff) failed(now int64, err error) {
	pause := min(firstBackoff<<min(b.failures, 10), maxBackoff)
	b.failures++
	b.until = now + int64(pause/2) + rand.Int64N(int64(pause))
	b.err = err
}

// connect returns a connection that is open, or makes one. Its error is the
// cause of ctx or a *LostError with Dial set.
func (l *Link) connect(ctx context.Context) (*conn, error) {
	for {
		c, d, err := l.pick()
		if d == nil {
			return c, err
		}
		if c, err = l.dialed(ctx, d); c != nil || err != nil {
			return c, err
		}
	}
}

// pick returns the connection whose turn it is. Has that yet to be made, a dial
// begins, and another that is open stands in for it: only the first connection
// is waited for, and only its failure fails a call. Without any, pick returns the
// dial to wait for.
func (l *Link) pick() (*conn, *dialing, error) {
	lane := l.lane()
	if c := l.current[lane].Load(); c != nil {
		return c, nil, nil
	}
	d, err := l.dial(lane)
	for i := range l.current {
		if c := l.current[(lane+i)%len(l.current)].Load(); c != nil {
			return c, nil, nil
		}
	}
	return nil, d, err
}

// lane is the place in current whose turn it is. One where a large value is being
// read is passed over while there is another.
func (l *Link) lane() int {
	n := len(l.current)
	if n == 1 {
		return 0
	}
	turn := int(l.turn.Add(1) % uint32(n))
	for i := range n {
		lane := (turn + i) % n
		if c := l.current[lane].Load(); c == nil || !c.loud.Load() {
			return lane
		}
	}
	return turn
}

// dial joins the dial under way or begins one, unless the latest failed a
// moment ago.
func (l *Link) dial(lane int) (*dialing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialing != nil {
		return l.dialing, nil
	}
	if c := l.current[lane].Load(); c != nil { // made in the meantime
		d := &dialing{done: make(chan struct{}), conn: c}
		close(d.done)
		return d, nil
	}
	if b := &l.backoff; b.failures > 0 && l.clock() < b.until {
		return nil, &LostError{Err: b.err, Dial: true}
	}
	ctx, d := newDialing(context.Background(), lane)
	l.dialing = d
	go l.runDial(ctx, d)
	return d, nil
}

// dialed waits for d, for as long as the dial itself may take at the most. It
// returns neither a connection nor an error for a trial that got one.
func (l *Link) dialed(ctx context.Context, d *dialing) (*conn, error) {
	timer := time.NewTimer(l.cfg.DialTimeout())
	defer timer.Stop()
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C: // a dialer that does not heed its context
		return nil, &LostError{Err: context.DeadlineExceeded, Dial: true}
	}
	if d.err != nil {
		return nil, &LostError{Err: d.err, Dial: true}
	}
	return d.conn, nil
}

func (l *Link) runDial(ctx context.Context, d *dialing) {
	defer d.cancel(nil)
	bounded, stop := context.WithTimeout(ctx, l.cfg.DialTimeout())
	defer stop()
	start := l.clock()
	c, err := l.open(bounded)
	if err != nil && bounded.Err() == nil && l.cfg.Failed != nil && !errors.Is(err, ErrAuth) {
		c, err = l.open(bounded)
	}

	l.mu.Lock()
	l.dialing = nil
	closed := ctx.Err() != nil // by Close: no failure of the server
	switch {
	case closed:
		d.err = context.Cause(ctx)
	case err != nil:
		d.err = err
		l.backoff.failed(l.clock(), err)
		if l.cfg.Failed != nil {
			l.cfg.Failed(Hard, err)
		}
	default:
		l.backoff = backoff{}
		d.conn = c
		c.retired = l.retired
		l.conns[c] = struct{}{}
		l.current[d.lane].Store(c)
	}
	l.mu.Unlock()
	if closed && err == nil {
		c.wire.abort()
	}
	if l.cfg.Opened != nil {
		l.cfg.Opened(time.Duration(l.clock()-start), d.err)
	}
	close(d.done)
}

// forget is told when c begins to close, and ends what is left of it. That is
// done apart, since a connection of a custom dialer may take its time to close.
func (l *Link) forget(c *conn) {
	for lane := range l.current {
		l.current[lane].CompareAndSwap(c, nil)
	}
	go c.end(c.err)
}
