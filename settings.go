package memcache

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file holds what can be set about connections, and makes them.

// DefaultMaxCalls is how many calls may be in flight to one server when
// ConnSettings.MaxCalls is not set.
const DefaultMaxCalls = 10_000

// ConnSettings say how connections are made and used. The zero value of each
// field is a good choice. They are read when the client first uses a server.
type ConnSettings struct {
	// MaxCalls bounds the calls in flight to one server, a batch counted as
	// one. A call beyond it waits in line, for its context and for
	// Client.Timeout at the most, and fails with an *OpError that wraps
	// ErrTooManyCalls. 0 means DefaultMaxCalls, negative no bound.
	MaxCalls int

	// DialTimeout bounds the making of a connection: dialling, the handshake of
	// TLS, authentication, and asking for the protocol. 0 or less means
	// Client.Timeout.
	DialTimeout time.Duration

	// WriteTimeout bounds the time in which a write makes no progress: 64 KiB
	// that went out, or a reply that came in. 0 or less means Client.Timeout.
	WriteTimeout time.Duration

	// KeepAlive is the time between the probes by which TCP finds out that an
	// idle peer is gone. 0 means 15 seconds, negative none. A custom
	// DialContext does as it likes.
	KeepAlive time.Duration

	// UserTimeout is TCP_USER_TIMEOUT: how long bytes may stay unacknowledged
	// before the system gives the connection up. 0 leaves it to the system. It
	// has a resolution of a millisecond, and no effect but on Linux, nor with a
	// custom DialContext.
	UserTimeout time.Duration

	// ReadBuffer and WriteBuffer are the sizes in bytes of the buffers that the
	// system keeps for the socket. 0 leaves them to the system. They have no
	// effect on Windows, nor with a custom DialContext.
	ReadBuffer, WriteBuffer int
}

func (c *Client) timeout() time.Duration      { return positive(c.Timeout, DefaultTimeout) }
func (c *Client) dialTimeout() time.Duration  { return positive(c.Conn.DialTimeout, c.timeout()) }
func (c *Client) writeTimeout() time.Duration { return positive(c.Conn.WriteTimeout, c.timeout()) }

// positive returns d, or instead if d is 0 or less.
func positive(d, instead time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return instead
}

// newLink returns the link to s.
func (c *Client) newLink(s *server) *link.Link {
	conns := max(c.MaxConns, 1)
	if c.MaxIdleConns > 0 {
		conns = min(conns, c.MaxIdleConns)
	}
	return link.New(link.Config{
		Dial:         s.dial,
		Credentials:  s.credentials,
		Protocol:     linkProtocols[c.Protocol],
		Timeout:      c.timeout,
		DialTimeout:  c.dialTimeout,
		WriteTimeout: c.writeTimeout,
		MaxConns:     conns,
		MaxCalls:     cmp.Or(c.Conn.MaxCalls, DefaultMaxCalls),
		MaxValue:     MaxValueSize,
		Activity:     &c.activity,
		Opened:       s.opened,
		Closed:       s.closed,
		Failed:       s.failed,
		Unsettled:    s.unsettled(),
	})
}

// dial makes a connection to the server.
func (s *server) dial(ctx context.Context) (net.Conn, error) {
	nc, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return s.secure(ctx, nc)
}

// connect connects to the server. A custom DialContext gets the addresses of our
// own selectors resolved, one after the other until one of them answers, and
// those of others as they are.
func (s *server) connect(ctx context.Context) (net.Conn, error) {
	dial := s.client.DialContext
	own, ok := s.addr.(*serverAddr)
	switch {
	case dial == nil && ok:
		// It resolves by itself, and knows better which address to try first.
		return s.client.Conn.dialer().DialContext(ctx, own.network, own.address)
	case dial == nil:
		return s.client.Conn.dialer().DialContext(ctx, s.addr.Network(), s.addr.String())
	case !ok:
		return dial(ctx, s.addr.Network(), s.addr.String())
	}
	addresses, err := own.resolve(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, address := range addresses {
		nc, err := dial(ctx, own.network, address)
		if err == nil {
			return nc, nil
		}
		failed = cmp.Or(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}
