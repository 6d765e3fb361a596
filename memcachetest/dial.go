package memcachetest

// In-memory connections, for clients that take a dial function.

import (
	"context"
	"net"
	"syscall"
)

// Dial connects to the server in memory, whatever its Network is, and ignores
// network and addr. It has the signature of net.Dialer.DialContext, so a client
// that lets its dial function be set needs no socket:
//
//	client.DialContext = srv.Dial
//
// On a closed server it fails with connection refused.
func (s *Server) Dial(_ context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	c := s.admit(far)
	if c == nil {
		near.Close()
		return nil, &net.OpError{Op: "dial", Net: NetworkPipe, Err: syscall.ECONNREFUSED}
	}
	s.wg.Go(c.serve)
	return near, nil
}
