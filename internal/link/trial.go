package link

import (
	"context"
	"time"
)

// Trial is a connection of its own, made as any other, by which to find out
// whether the server is there. Its failures are no failures of the Link. It is
// for one goroutine, which ends it by Keep or Close.
type Trial struct{ c *conn }

// Try makes a connection, whatever the pause after a failed dial. If a dial is
// under way, it waits for that first, and fails as that does.
func (l *Link) Try(ctx context.Context) (*Trial, error) {
	dialCtx, d := newDialing(ctx, 0)
	defer d.cancel(nil)
	for other := l.precede(d); other != nil; other = l.precede(d) {
		if _, err := l.dialed(ctx, other); err != nil {
			return nil, err
		}
	}
	bounded, stop := context.WithTimeout(dialCtx, l.cfg.DialTimeout())
	defer stop()
	start := l.clock()
	c, err := l.open(bounded)
	if err == nil && dialCtx.Err() != nil {
		c.wire.abort()
		err = context.Cause(dialCtx)
	}
	l.mu.Lock()
	l.dialing, d.err = nil, err
	if err == nil {
		c.trial = true
		l.conns[c] = struct{}{}
	}
	l.mu.Unlock()
	if l.cfg.Opened != nil {
		l.cfg.Opened(time.Duration(l.clock()-start), err)
	}
	close(d.done)
	if err != nil {
		return nil, err
	}
	return &Trial{c}, nil
}

// precede makes d the dial under way, unless there is one, which it returns.
func (l *Link) precede(d *dialing) *dialing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialing == nil {
		l.dialing = d
		return nil
	}
	return l.dialing
}

// Do performs reqs on the connection and returns the replies to all of them, or
// why there are none.
func (t *Trial) Do(ctx context.Context, reqs []Request) ([]Reply, error) {
	c := t.c
	k := c.link.newCall()
	k.reqs, k.replies = reqs, make([]Reply, len(reqs))
	if err := c.link.sendOn(ctx, c, k); err != nil {
		return nil, err
	}
	if err := c.await(ctx, k); err != nil {
		return nil, err
	}
	if k.replied() < len(reqs) {
		return nil, errRefused
	}
	return k.replies, nil
}

// Vouch has the Link dial again at once from now on if it needs to: the server
// is there.
func (t *Trial) Vouch() {
	l := t.c.link
	l.mu.Lock()
	l.backoff = backoff{}
	l.mu.Unlock()
	l.hangUps.Store(0)
}

// Keep gives the connection to the Link, or closes it if that has enough.
func (t *Trial) Keep() {
	c, l := t.c, t.c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trial, c.retired = false, l.retired
	for lane := range l.current {
		if !c.turns.closed && !c.retired && l.current[lane].CompareAndSwap(nil, c) {
			return
		}
	}
	c.closeLocked(ErrClosed)
}

// Close ends the connection.
func (t *Trial) Close() { t.c.close(ErrClosed) }
