package link

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"
)

// This file is the flusher's part: it writes what everybody has appended.

// startFlush flushes for k, which has just become the flusher. On a connection
// where a write cannot be interrupted without breaking it, a caller that may be
// cancelled leaves the write to a helper.
func (c *conn) startFlush(ctx context.Context, k *call) {
	if ctx.Done() != nil && !c.wire.plain() {
		c.mu.Lock()
		lent := c.turns.lend(&k.turn)
		c.mu.Unlock()
		if lent {
			go c.flush(context.Background(), &c.turns.spare)
		}
		return
	}
	c.flush(ctx, &k.turn)
}

// flush writes until nothing is left or the role has passed to another caller.
func (c *conn) flush(ctx context.Context, me *turn) {
	if c.link.cfg.Activity.several() {
		runtime.Gosched() // their requests will join this write
	}
	for {
		c.mu.Lock()
		if c.turns.closed {
			c.mu.Unlock()
			return
		}
		if c.written == len(c.flight) {
			if cap(c.flight) > keepBuffer {
				c.flight = nil
			}
			c.flight, c.out = c.out, c.flight[:0]
			c.written, c.litter = 0, 0
			c.taken += uint64(len(c.flight))
		}
		rest := c.flight[c.written:]
		lone := c.turns.lone() && len(rest) <= writeChunk // a larger one may be refused half way
		c.mu.Unlock()

		n, err := c.write(ctx, me, rest, lone)

		c.mu.Lock()
		c.written += n
		var next duty
		switch {
		case err == nil, err == errBlocked:
			var woken *turn
			next, woken = c.turns.wrote(me, n)
			wake(woken)
			if err == errBlocked && next == dutyFlush && c.turns.lend(me) {
				next = dutyNone
				go c.flush(context.Background(), &c.turns.spare)
			}
		case ctx.Err() != nil:
			c.passFlushLocked(me, n)
		default:
			c.closeLocked(err)
		}
		if c.turns.reader == &c.turns.spare && !c.turns.blocked {
			c.wire.SetReadDeadline(longAgo) // the helper is not needed any more
			c.readArmed = 0
		}
		c.mu.Unlock()
		if next != dutyFlush {
			return
		}
	}
}

// passFlushLocked gives up the flusher's role with n more bytes written.
func (c *conn) passFlushLocked(me *turn, n int) {
	next, woken := c.turns.quitFlush(me, n)
	wake(woken)
	switch next {
	case dutySpare:
		go c.flush(context.Background(), &c.turns.spare)
	case dutyClose:
		c.closeLocked(errAbandoned)
	}
}

// errAbandoned closes a connection on which half a request stands that nobody
// is left to complete. No caller ever sees it.
var errAbandoned = errors.New("request given up half way")

// write writes b and returns how much went out. An error that is not the end
// of ctx means that the connection is of no use any more.
func (c *conn) write(ctx context.Context, me *turn, b []byte, lone bool) (n int, err error) {
	if c.wire.plain() {
		n, err = c.wire.tryWrite(b)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || n == len(b) {
			return n, err
		}
		if k := me.call; k != nil && k.batch {
			return n, errBlocked
		}
	}
	defer c.disarmWrite() // last, when nothing sets one any more
	if k := me.call; c.wire.plain() && k != nil && ctx.Done() != nil {
		defer c.interruptWrite(ctx, k)()
	}
	if !lone {
		defer c.readWhileBlocked()()
	}
	for n < len(b) {
		end := min(len(b), n+writeChunk)
		if !lone && c.wire.tls && end == len(b) && n < end-1 {
			// A memcached before 1.6.45 that has TLS may leave requests lying in its
			// TLS library until more bytes arrive. These are more bytes.
			end--
		}
		m, err := c.writeChunk(ctx, b[n:end])
		n += m
		if err != nil {
			return n, err
		}
		if m == writeChunk {
			c.mu.Lock()
			c.progress = c.clock()
			c.mu.Unlock()
		}
	}
	return n, nil
}

// errBlocked leaves a write that blocks to a helper: the caller of a batch may
// have other servers to write to meanwhile.
var errBlocked = errors.New("write blocks")

// blockedAfter is when a write on a connection that cannot be tried without
// blocking is taken to be blocked.
const blockedAfter = time.Millisecond

// readWhileBlocked makes sure that somebody reads if the write that follows
// blocks, until the returned function is called: the server may have stopped to
// read until its replies are read. On a plain connection the write has blocked
// already; on others a helper is started only when it lasts.
func (c *conn) readWhileBlocked() (end func()) {
	c.mu.Lock()
	c.mayBlock = true
	c.mu.Unlock()
	if c.wire.plain() {
		c.blocked()
	} else if c.patience == nil {
		c.patience = time.AfterFunc(blockedAfter, c.blocked)
	} else {
		c.patience.Reset(blockedAfter)
	}
	return func() {
		if c.patience != nil {
			c.patience.Stop()
		}
		c.mu.Lock()
		c.mayBlock = false
		c.mu.Unlock()
	}
}

// blocked starts a helper that reads, if the write is still under way and no
// caller reads.
func (c *conn) blocked() {
	c.mu.Lock()
	spare := c.mayBlock && c.turns.block()
	if spare {
		c.listening = c.clock()
	}
	c.mu.Unlock()
	if spare {
		go c.read(context.Background(), &c.turns.spare)
	}
}

// writeChunk writes b, for as long as the connection makes progress.
func (c *conn) writeChunk(ctx context.Context, b []byte) (n int, err error) {
	start := c.clock()
	for {
		if err := c.armWrite(ctx, start); err != nil {
			return n, err
		}
		m, err := c.wire.Write(b[n:])
		n += m
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if !c.wire.plain() {
			return n, ErrNoProgress // crypto/tls has given up for good
		}
	}
}

// armWrite sets the deadline of the next write. A reader that sees progress
// moves it on, so it passes only when there was none.
func (c *conn) armWrite(ctx context.Context, start int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.turns.closed {
		return c.err
	}
	bound := max(start, c.progress) + c.writeTimeout()
	if c.clock() >= bound {
		return ErrNoProgress
	}
	c.wire.SetWriteDeadline(c.at(bound))
	c.writeArmed = true
	return nil
}

// disarmWrite takes the write deadline away: the next write that does not wait
// would fail by it, and so would what crypto/tls writes while it reads, such as
// the answer to a new key, after which it writes no more.
func (c *conn) disarmWrite() {
	c.mu.Lock()
	c.writeArmed = false
	c.wire.SetWriteDeadline(time.Time{})
	c.mu.Unlock()
}

// interruptWrite lets the end of ctx wake k's caller from a write, until the
// returned function is called.
func (c *conn) interruptWrite(ctx context.Context, k *call) (done func()) {
	c.mu.Lock()
	c.writing = k
	c.mu.Unlock()
	stop := k.watch(ctx)
	return func() {
		k.unwatch(stop)
		c.mu.Lock()
		c.writing = nil
		c.mu.Unlock()
	}
}
