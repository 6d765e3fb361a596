package link

import (
	"context"
	"net"

	"github.com/vaquero-cache/memcache/binary"
	"github.com/vaquero-cache/memcache/classic"
)

// This file gets a connection past the server's door: all that must have gone
// well before the first question may be asked.

// Unproven is a connection on which the server has yet to say whether it lets
// the client in: under TLS 1.3 it judges the client's certificate when the
// handshake is over for the client. Where Config.Dial returns one, a reply is
// waited for, so that a refusal is a failed dial and not the end of a
// connection under somebody's request.
type Unproven struct{ net.Conn }

// admitted makes a connection that the server has let in. token is what it
// wants to be shown, nil for nothing.
func (l *Link) admitted(ctx context.Context, token []byte) (net.Conn, error) {
	nc, err := l.dialOnce(ctx)
	if err != nil {
		return nil, err
	}
	u, unproven := nc.(Unproven)
	if unproven {
		nc = u.Conn
	}
	until, _ := ctx.Deadline()
	switch {
	case token != nil:
		err = converse(ctx, nc, until, func() error { return logIn(nc, l.cfg.Protocol, token) })
	case unproven:
		err = converse(ctx, nc, until, func() error { return prove(nc, l.cfg.Protocol) })
	}
	if err != nil {
		abort(nc)
		return nil, err
	}
	return nc, nil
}

// dialOnce dials, and closes what comes too late.
func (l *Link) dialOnce(ctx context.Context) (net.Conn, error) {
	nc, err := l.cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		nc.Close()
		return nil, context.Cause(ctx)
	}
	return nc, nil
}

// prove waits for a reply, whatever it says.
func prove(nc net.Conn, p Protocol) error {
	if p != Binary {
		_, err := question(nc, classic.AppendVersion(nil))
		return err
	}
	_, _, err := binaryQuestion(nc, binary.AppendVersion(nil, 0))
	return err
}
