// Package duplex is for tests: a connection in memory, of which one direction can
// be closed alone, as a socket's can and a net.Pipe's cannot.
package duplex

import (
	"net"
	"time"
)

// conn is one end.
type conn struct {
	net.Conn // what is read from, and what else there is
	out      net.Conn
}

// Pipe returns the two ends of a connection. Both have CloseWrite.
func Pipe() (near, far net.Conn) {
	nearIn, farOut := net.Pipe()
	farIn, nearOut := net.Pipe()
	return &conn{nearIn, nearOut}, &conn{farIn, farOut}
}

func (c *conn) Write(b []byte) (int, error)        { return c.out.Write(b) }
func (c *conn) CloseWrite() error                  { return c.out.Close() }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

func (c *conn) SetDeadline(t time.Time) error {
	c.out.SetWriteDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) Close() error {
	c.out.Close()
	return c.Conn.Close()
}
