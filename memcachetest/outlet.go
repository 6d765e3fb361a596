package memcachetest

// A server's connection as the place where faults happen.

import (
	"net"
	"time"
)

func (c *conn) write(b []byte) { c.out = append(c.out, b...) }

func (c *conn) swapped() *[]byte { return &c.held }

// wait sleeps for d, or until gone when d is negative.
func (c *conn) wait(d time.Duration, gone <-chan struct{}) bool {
	if pause(d, gone, c.done) {
		return true
	}
	c.abort()
	return false
}

// pause sleeps for d, for ever when it is negative, but not longer than until gone
// is closed. It reports false when done was closed.
func pause(d time.Duration, gone, done <-chan struct{}) bool {
	var after <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
	case <-gone:
	case <-done:
		return false
	}
	return true
}

func (c *conn) cut() {
	c.flush()
	c.abort()
}

func (c *conn) reset() {
	c.flush()
	c.abort()
	resetConn(c.nc)
}

// resetConn closes with a TCP reset where it can.
func resetConn(nc net.Conn) {
	if wrapper, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = wrapper.NetConn()
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	nc.Close()
}

// halfClose ends the sending side. A connection that has no sides is closed.
func (c *conn) halfClose() {
	c.flush()
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		c.mute = true
		return
	}
	c.abort()
}
