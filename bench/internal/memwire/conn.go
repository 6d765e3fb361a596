package memwire

// A connection: what is written is answered at once, into a buffer that is read.

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is the client's end of a connection. Like all of them it may be read and
// written by different goroutines.
type Conn struct {
	server *Server

	mu       sync.Mutex // guards all below
	changed  sync.Cond  // something to read, closed, or the deadline moved
	partial  []byte     // a line whose end has not been written
	replies  []byte
	read     int // of replies
	closed   bool
	deadline time.Time // for reads; writes never wait
}

func newConn(s *Server) *Conn {
	c := &Conn{server: s}
	c.changed.L = &c.mu
	return c
}

// Write answers each line that is complete.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if c.read == len(c.replies) {
		c.replies, c.read = c.replies[:0], 0
	}
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			c.partial = append(c.partial, p...)
			break
		}
		line := p[:end]
		if len(c.partial) > 0 {
			c.partial = append(c.partial, line...)
			line, c.partial = c.partial, c.partial[:0]
		}
		c.replies = c.server.answer(c.replies, bytes.TrimSuffix(line, []byte("\r")))
		p = p[end+1:]
	}
	c.changed.Broadcast()
	return n, nil
}

// Read waits for a reply, the deadline or Close.
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.read == len(c.replies) {
		switch {
		case c.closed:
			return 0, io.EOF
		case c.expired():
			return 0, os.ErrDeadlineExceeded
		}
		c.wait()
	}
	n := copy(p, c.replies[c.read:])
	c.read += n
	return n, nil
}

func (c *Conn) expired() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// wait waits for a change or the deadline.
func (c *Conn) wait() {
	if !c.deadline.IsZero() {
		timer := time.AfterFunc(time.Until(c.deadline), c.changed.Broadcast)
		defer timer.Stop()
	}
	c.changed.Wait()
}

// Close wakes whoever reads.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return nil
}

// SetDeadline sets the deadline of reads.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline sets the deadline of reads.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.deadline = t
	c.changed.Broadcast()
	return nil
}

// SetWriteDeadline does nothing: no write waits.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr returns an address of no meaning.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr returns an address of no meaning.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
