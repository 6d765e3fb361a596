package memcache

import (
	"context"
	"errors"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file takes an operation to a server and its outcome back. It alone
// speaks to internal/link.

// roundTrip performs req on the server of its key and returns the reply to an
// operation that succeeded.
func (c *Client) roundTrip(ctx context.Context, req *link.Request) (link.Reply, error) {
	if !legalKey(req.Key) {
		return link.Reply{}, ErrMalformedKey
	}
	s, err := c.pick(req.Key)
	if err != nil {
		return link.Reply{}, err
	}
	return s.ask(ctx, req)
}

// ask performs req on s.
func (s *server) ask(ctx context.Context, req *link.Request) (link.Reply, error) {
	s.client.activity.Enter()
	reply, err := s.link.Do(ctx, req)
	s.client.activity.Leave()
	if err != nil {
		return link.Reply{}, s.failure(req.Op, err)
	}
	return reply, s.outcome(req.Op, &reply)
}

// outcome turns the status of a reply into an error, nil when it succeeded.
func (s *server) outcome(op link.Op, reply *link.Reply) error {
	switch reply.Status {
	case link.OK:
		return nil
	case link.Miss:
		return ErrCacheMiss
	case link.NotStored:
		return ErrNotStored
	case link.Exists:
		return ErrCASConflict
	}
	return s.failure(op, reply.Err)
}

// failure turns an error of the link into the client's own.
func (s *server) failure(op link.Op, err error) error {
	var (
		refused  *link.ServerError
		nonsense *link.ProtocolError
		lost     *link.LostError
	)
	name := s.addr.String()
	switch {
	case errors.As(err, &refused):
		return &ServerError{Op: op.String(), Server: name, Kind: refused.Kind, Message: refused.Message}
	case errors.As(err, &nonsense):
		return &ProtocolError{Op: op.String(), Server: name, Got: nonsense.Got, Err: nonsense.Err}
	case errors.As(err, &lost) && lost.Dial && timedOut(lost.Err):
		return &ConnectTimeoutError{Addr: s.addr}
	case errors.As(err, &lost):
		changes := op != link.Get && op != link.Version
		return &OpError{Op: op.String(), Server: name, Err: lost.Err, OutcomeUnknown: lost.Sent && changes}
	}
	return &OpError{Op: op.String(), Server: name, Err: err}
}
