package link

import (
	"context"
	"errors"
	"os"
)

// This file is the reader's part: it takes bytes from the socket and hands
// complete replies to their calls, in FIFO order.

// read reads for everybody until the call of me is answered or ctx has ended
// (its caller then leaves), or the connection is closed. With me the spare it
// reads for as long as a write may block.
func (c *conn) read(ctx context.Context, me *turn) {
	var stop func() bool
	defer func() {
		if stop != nil {
			me.call.unwatch(stop)
		}
	}()
	expired, heard := false, false
	for {
		moved, err := c.deliver()

		c.mu.Lock()
		if heard && c.late > 0 {
			c.listening, c.late = c.late, 0
		}
		switch {
		case err != nil:
			c.closeLocked(err)
		case expired && !moved:
			c.closeLocked(ErrNoProgress)
		}
		if c.turns.closed {
			c.mu.Unlock()
			return
		}
		if me.state == answered || me == &c.turns.spare && !c.turns.blocked {
			if moved && c.turns.first != nil {
				c.progress = c.clock()
			}
			woken := c.handOnLocked()
			c.mu.Unlock()
			wake(woken)
			return
		}
		if ctx.Err() != nil {
			c.mu.Unlock()
			return
		}
		c.armReadLocked(me, moved)
		crowd := c.turns.first != c.turns.last
		c.filling.Add(1)
		c.mu.Unlock()

		if stop == nil && ctx.Done() != nil {
			stop = me.call.watch(ctx)
		}
		err = c.fill(crowd)
		c.filling.Done()
		expired, heard = false, err == nil
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			expired = c.expired(me)
		default:
			c.close(err)
			return
		}
	}
}

// silentSinceLocked is the clock from which the reader me counts the time
// without progress: its call has begun by then, and somebody has listened.
func (c *conn) silentSinceLocked(me *turn) int64 {
	since := max(c.progress, c.listening)
	if me.call != nil {
		since = max(since, me.call.start)
	}
	return since
}

// armReadLocked makes sure that a read deadline is set that has not passed. It
// may come before the reader's bound: then it only wakes the reader, which sets
// a new one.
func (c *conn) armReadLocked(me *turn, moved bool) {
	if moved {
		c.progress = c.clock()
		if c.turns.blocked && c.writeArmed {
			c.wire.SetWriteDeadline(c.at(c.progress + c.writeTimeout()))
		}
	}
	since := c.silentSinceLocked(me)
	bound := since + c.readTimeout()
	if c.readArmed < since || c.readArmed > bound+2*grace { // passed, or set before Timeout became shorter
		c.readArmed = max(bound, c.clock()+grace)
		c.wire.SetReadDeadline(c.at(c.readArmed))
	}
}

// expired reports whether a read that ended by its deadline means that there
// was no progress for too long. If not, the deadline was there to wake the
// reader, or had been set for somebody else; the next read sets its own. Only a
// read that began behind the bound can tell: this process may have slept
// through an earlier deadline, with the reply in the socket.
func (c *conn) expired(me *turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	deadline := c.readArmed
	c.readArmed = 0
	return deadline >= c.silentSinceLocked(me)+c.readTimeout()+grace
}

// handOnLocked ends the caller's role as the reader and returns the turn to
// wake, if any.
func (c *conn) handOnLocked() (woken *turn) {
	next, woken := c.turns.handOn()
	if next == dutySpare {
		go c.read(context.Background(), &c.turns.spare)
	}
	return woken
}

// deliver hands out what lies in the read buffer. It reports whether that was
// progress: a complete reply, or a good part of a large value.
func (c *conn) deliver() (moved bool, err error) {
	for {
		c.mu.Lock()
		first, last, taken := c.turns.first, c.turns.last, c.taken
		c.reads = c.heard
		c.mu.Unlock()

		// Only the reader takes turns out, and others only append behind last.
		ended := 0
		for t := first; t != nil && (c.r < c.w || c.big != nil); t = t.next {
			if t.end > taken { // it cannot be the reply to what has not been sent
				c.finish(ended)
				return moved, protocolError(t.call.want(), c.in[c.r:c.w], errUnasked)
			}
			at := t.call.at
			done, err := c.feed(t.call)
			moved = moved || t.call.at != at
			if err != nil {
				if refusal, ok := err.(*ServerError); ok { // an answer, but the last one to trust
					t.call.refuse(refusal)
					t.call.publish()
					ended, err = ended+1, endOf(refusal)
				}
				c.finish(ended)
				return moved, err
			}
			if !done {
				break
			}
			ended++
			if t == last {
				break
			}
		}
		if c.step >= bigStep {
			c.step, moved = 0, true
		}
		if ended == 0 {
			if first == nil && c.r < c.w {
				return moved, protocolError("nothing", c.in[c.r:c.w], errUnasked)
			}
			return moved, nil
		}
		moved = true
		c.finish(ended)
		if c.r == c.w {
			return moved, nil
		}
	}
}

// feed gives k, the oldest call, what has been read. It reports whether k is
// complete.
func (c *conn) feed(k *call) (done bool, err error) {
	for {
		if k.body == inBody {
			n := k.feedBody(c.in[c.r:c.w])
			c.r += n
			c.step += n
			if k.body == inBody {
				c.setBig(k)
				return false, nil
			}
		}
		if c.big != nil {
			c.setBig(nil)
		}
		n, done, err := c.codec.consume(k, c.in[c.r:c.w])
		k.publish()
		c.r += n
		if err != nil || done || k.body != inBody {
			return done, err
		}
		c.step += n // the beginning of the value
	}
}

// setBig notes whose large value is being read.
func (c *conn) setBig(k *call) {
	c.big = k
	c.loud.Store(k != nil)
}

// finish ends the n oldest turns and wakes their callers.
func (c *conn) finish(n int) {
	if n == 0 {
		return
	}
	var list *turn
	end := &list
	c.mu.Lock()
	if c.turns.closed {
		n = 0 // they have failed already
	}
	for range n {
		t, parked := c.turns.answer()
		if parked {
			*end, end = t, &t.woken
		} else if t.state == gone && t.call.settled != nil {
			t.call.settled()
		}
	}
	c.restLocked()
	c.mu.Unlock()
	wakeAll(list)
}

// fill reads once, into the value that is being read if the buffer is empty,
// else into the buffer. crowd says that several calls wait.
func (c *conn) fill(crowd bool) error {
	if c.big != nil && c.r == c.w {
		if room := c.big.bodyRoom(); len(room) > 0 {
			n, err := c.wire.read(room, crowd)
			c.big.tookDirect(n)
			c.step += n
			return c.heardBytes(n, err)
		}
	}
	if c.r == c.w {
		c.r, c.w = 0, 0
	} else if c.w > len(c.in)/2 {
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.in) { // with one reply, of those that are taken whole
		return protocolError("a short reply", c.in, errLongReply)
	}
	n, err := c.wire.read(c.in[c.w:], crowd)
	c.w += n
	return c.heardBytes(n, err)
}

// heardBytes turns the result of a read into what the reader does next: an
// error beside bytes will come again.
func (c *conn) heardBytes(n int, err error) error {
	if n > 0 {
		c.heard++
		return nil
	}
	return err
}
