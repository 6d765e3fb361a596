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
// On a server that is closed, stopped or refusing it fails with connection refused.
func (s *Server) Dial(_ context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	p := s.front.admit(far)
	if p == nil {
		near.Close()
		return nil, refused(s.Addr())
	}
	go s.front.serve(p)
	return near, nil
}

func refused(addr string) error {
	return &net.OpError{Op: "dial", Net: NetworkPipe, Addr: pipeAddr(addr), Err: syscall.ECONNREFUSED}
}

// pipeAddr is the address of a server without a listener.
type pipeAddr string

func (a pipeAddr) Network() string { return NetworkPipe }
func (a pipeAddr) String() string  { return string(a) }
