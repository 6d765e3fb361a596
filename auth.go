package memcache

import (
	"context"
	"fmt"
	"io"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file makes the client known to servers that ask who it is.

// Auth is the name and the password that a client shows on each new connection,
// before anything else: by the text protocols to a memcached with -Y, by SASL
// PLAIN in the binary protocol, which memcached with -S speaks alone. The zero
// value shows none.
//
// The password travels as it is: it is as private as the connection. See
// Client.TLS. A server that does not ask for one cannot be told from one that
// does, in the text protocols; no other client can read there what it was
// shown.
//
// Username and password may not hold a NUL or a line end, and a username of the
// text protocols no space; together they have 16 KiB at most. Calls fail with an
// *OpError that wraps ErrCredentials otherwise, and nothing is sent. A server
// that refuses them is ErrAuth.
type Auth struct {
	Username, Password string

	// Credentials, if not nil, is asked in place of Username and Password for
	// each new connection, so that both may change while the client runs. It
	// gets the server's address as errors show it, and a context that ends after
	// ConnSettings.DialTimeout or on Close. Its error is wrapped by that of the
	// calls which wait for the connection, and counts as a failed attempt to
	// connect. It may be called for several servers at once.
	Credentials func(ctx context.Context, server string) (username, password string, err error)
}

// Format shows nothing of a, whatever the verb.
func (a Auth) Format(w fmt.State, _ rune) { io.WriteString(w, "memcache.Auth{…}") }

// credentials returns what the client shows to the server, nil for nothing.
func (s *server) credentials(ctx context.Context) (*link.Credentials, error) {
	a := &s.client.Auth
	if a.Credentials != nil {
		username, password, err := a.Credentials(ctx, s.addr.String())
		if err != nil {
			return nil, err
		}
		return &link.Credentials{Username: username, Password: password}, nil
	}
	if a.Username == "" && a.Password == "" {
		return nil, nil
	}
	return &link.Credentials{Username: a.Username, Password: a.Password}, nil
}
