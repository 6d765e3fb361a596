package link

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"
)

// wire is a network connection as this package uses it.
type wire struct {
	net.Conn

	// raw is the socket itself when nothing stands between: a TCP or unix
	// connection. It can be written without blocking, and a deadline that ends
	// a write leaves it usable. nil for TLS, pipes and the connections of custom
	// dialers, where a write deadline may be the end (crypto/tls).
	raw syscall.RawConn

	tls bool // crypto/tls, or what looks like it

	sock socket // what the platform needs for raw
}

func newWire(nc net.Conn) *wire {
	w := &wire{Conn: nc}
	switch c := nc.(type) {
	case *net.TCPConn:
		w.raw, _ = c.SyscallConn()
	case *net.UnixConn:
		w.raw, _ = c.SyscallConn()
	}
	_, w.tls = nc.(interface{ ConnectionState() tls.ConnectionState })
	w.sock.init()
	return w
}

// plain reports whether w is a bare socket.
func (w *wire) plain() bool { return w.raw != nil }

// abort closes the connection at once, without a word to the other side: a TLS
// connection would wait up to five seconds to say good-bye to a dead peer.
func (w *wire) abort() { abort(w.Conn) }

func abort(nc net.Conn) {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		t.NetConn().Close()
	}
	nc.Close()
}

// longAgo is a deadline that wakes whoever is reading or writing.
var longAgo = time.Unix(1, 0)
