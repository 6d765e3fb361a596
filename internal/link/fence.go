package link

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// This file sees to it that what a lost connection carries is over before
// somebody relies on it. A server that was stopped finds the requests in its
// buffers when it goes on, those of closed connections too, and may perform an
// old write after a delete that came by a new connection. So a connection that
// is given up with writes on it is not closed at once: it is shut for writing
// and read to its end, which comes behind the last reply.

// Write is a request that may store something, or a delete, to which there is no
// reply.
type Write struct {
	Key    string
	Op     Op
	Stores bool // it may change what was stored after it was sent
}

// changesLater reports whether r, performed late, may change what was stored
// after it was sent: also what needs an item finds one, once that has been stored
// again. A late CompareAndSwap finds that its version is gone, and a late Touch
// leaves the value alone.
func (r *Request) changesLater() bool {
	switch r.Op {
	case Set, Add, Replace, Append, Prepend, Increment, Decrement:
		return true
	}
	return false
}

// drainBytes is how much of late replies is read at a time, and at the most in
// one go.
const (
	drainBuffer = 16 << 10
	drainBytes  = 64 << 20
)

// writes appends to list those requests of k that have no reply.
func (k *call) writes(list []Write) []Write {
	if k.keys != nil {
		return list
	}
	for i := int(k.got.Load()); i < len(k.reqs); i++ {
		if r := &k.reqs[i]; r.Op == Delete || r.changesLater() {
			list = append(list, Write{Key: r.Key, Op: r.Op, Stores: r.changesLater()})
		}
	}
	return list
}

// loseLocked tells of the writes that are lost with c, which closes for the
// reason err, before their callers hear of it. When the other side is gone
// nothing is left to be performed, and callers that still wait can tell for
// themselves; those that gave up cannot.
func (c *conn) loseLocked(err error) {
	if c.link.cfg.Unsettled == nil {
		return
	}
	var writes []Write
	over := hungUp(err)
	for t := c.turns.first; t != nil; t = t.next {
		k := t.call
		if k.settled != nil {
			c.settled, k.settled = append(c.settled, k.settled), nil
		}
		left := t.state == gone
		if left || !over && k.end-uint64(k.size) < c.taken {
			writes = k.writes(writes)
		}
	}
	if len(writes) > 0 {
		c.settled = append(c.settled, c.link.cfg.Unsettled(writes, true))
	}
	c.fenced = len(c.settled) > 0 && !over
}

// leftLocked tells of the writes of k, which its caller has given up, where
// what comes after them may go by another connection. On the same one it is
// performed after them.
func (c *conn) leftLocked(k *call) {
	if c.link.cfg.Unsettled == nil || len(c.link.current) == 1 {
		return
	}
	if writes := k.writes(nil); len(writes) > 0 {
		k.settled = c.link.cfg.Unsettled(writes, false)
	}
}

// end ends a connection that has closed, for the reason given.
func (c *conn) end(reason error) {
	c.mu.Lock()
	fenced := c.fenced
	c.mu.Unlock()
	over := !fenced || !c.shut() || c.drain(context.Background())
	if over {
		c.wire.abort()
	}
	if c.link.cfg.Closed != nil {
		c.link.cfg.Closed(reason)
	}
	if over {
		c.bury()
	} else {
		c.park()
	}
	close(c.ended)
}

// socket is the connection below TLS, if there is any.
func (c *conn) socket() net.Conn {
	if t, ok := c.wire.Conn.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c.wire.Conn
}

// shut ends what c sends, and waits until nobody of ours reads any more. It
// reports false for a connection that cannot be shut for one direction alone.
func (c *conn) shut() bool {
	half, ok := c.socket().(interface{ CloseWrite() error })
	if !ok {
		return false
	}
	c.socket().SetDeadline(longAgo) // whoever reads or writes finds that c has closed
	c.filling.Wait()
	if goodbye, ok := c.wire.Conn.(interface{ CloseWrite() error }); ok && c.wire.tls {
		enough := time.AfterFunc(c.link.cfg.Timeout(), func() { c.socket().SetWriteDeadline(longAgo) })
		goodbye.CloseWrite() // close_notify, for which crypto/tls has five seconds
		enough.Stop()
	}
	half.CloseWrite()
	return true
}

// drain reads c to its end and reports whether that came within Timeout.
func (c *conn) drain(ctx context.Context) bool {
	nc := c.socket()
	nc.SetReadDeadline(time.Now().Add(c.link.cfg.Timeout()))
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		nc.SetReadDeadline(longAgo)
		close(interrupted)
	})
	defer func() {
		if !stop() { // no later drain shall be hit
			<-interrupted
		}
	}()
	buf := make([]byte, drainBuffer)
	for read := 0; read < drainBytes; {
		n, err := nc.Read(buf)
		read += n
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return false
}

// park leaves c open until Settle comes back to it. Close does not: what c
// carries would be under way all the same, and nobody would ever hear of its end.
// Nothing runs for c meanwhile, and its socket goes with the Link.
func (c *conn) park() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parked = true
}

// bury is the very end of c, whose network connection has been closed.
func (c *conn) bury() {
	for _, settled := range c.settled { // nobody changes it any more
		settled()
	}
	l := c.link
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
}

// Settle reads lost connections on that have not come to their end, for Timeout
// at the most. Those that are about to be parked are among them.
func (l *Link) Settle(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, l.cfg.Timeout())
	defer stop()
	var settling sync.WaitGroup
	for _, c := range l.all() {
		c.mu.Lock()
		fenced := c.fenced
		c.mu.Unlock()
		if fenced {
			settling.Go(func() { c.settle(ctx) })
		}
	}
	settling.Wait()
}

func (c *conn) settle(ctx context.Context) {
	select {
	case <-c.ended:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	parked := c.parked
	c.parked = false
	c.mu.Unlock()
	switch {
	case !parked: // it is over, or another reads it on
	case c.drain(ctx):
		c.wire.abort()
		c.bury()
	default:
		c.park()
	}
}
