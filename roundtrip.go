package memcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file takes an operation to a server and its outcome back. It alone
// speaks to internal/link.

// roundTrip performs req on the server of its key, which becomes the one that is
// sent, and returns the reply to an operation that succeeded.
func (c *Client) roundTrip(ctx context.Context, req *link.Request) (link.Reply, error) {
	wire, err := c.Keys.wire(req.Key)
	if err != nil {
		return link.Reply{}, err
	}
	s, err := c.pick(c.Keys.placed(wire))
	if err != nil {
		return link.Reply{}, err
	}
	req.Key = wire
	if c.Failover.Mode == FailFast {
		return s.ask(ctx, req)
	}
	reply, err := s.ask(ctx, req)
	if err != nil && s.health.refuses() {
		return c.failOver(ctx, s, c.Keys.placed(wire), req, err)
	}
	return reply, err
}

// ask performs req on s.
func (s *server) ask(ctx context.Context, req *link.Request) (link.Reply, error) {
	if h := s.client.Hooks; h != nil {
		return s.askObserved(ctx, h, req)
	}
	return s.exchange(ctx, req)
}

func (s *server) exchange(ctx context.Context, req *link.Request) (link.Reply, error) {
	if ctx.Err() != nil { // nothing is sent for a caller that has left
		return link.Reply{}, s.failure(ctx, req.Op, context.Cause(ctx))
	}
	h := s.health
	watched, t := h.word.Load() != 0, ticket{}
	if watched {
		if err := h.admit(ctx, req.Op, asChanges(req)); err != nil {
			return link.Reply{}, s.failure(ctx, req.Op, err)
		}
		t = s.ticket(asChanges(req))
	}
	s.client.activity.Enter()
	reply, err := s.link.Do(ctx, req)
	s.client.activity.Leave()
	if err != nil {
		return link.Reply{}, s.failure(ctx, req.Op, h.missed(err, asChanges(req)))
	}
	if watched {
		h.answered()
	}
	switch {
	case reply.Status == link.Refused:
	case req.Op == link.Delete && (h.word.Load()&wordOwing != 0 || len(t.held) > 0):
		if reply, err = s.confirm(ctx, req, reply, t); err != nil {
			return link.Reply{}, s.failure(ctx, req.Op, err)
		}
	case req.Op == link.FlushAll:
		h.emptied(t)
	}
	return reply, s.outcome(ctx, req.Op, &reply)
}

// outcome turns the status of a reply into an error, nil when it succeeded.
func (s *server) outcome(ctx context.Context, op link.Op, reply *link.Reply) error {
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
	return s.failure(ctx, op, reply.Err)
}

// failure turns an error of the link into the client's own.
func (s *server) failure(ctx context.Context, op link.Op, err error) error {
	switch err := err.(type) {
	case *downError:
		return &err.told[op]
	case *unsentError:
		return unsent(op, s.failure(ctx, op, err.error))
	}
	var (
		refused  *link.ServerError
		nonsense *link.ProtocolError
		lost     *link.LostError
	)
	name := s.addr.String()
	var owed *owedError
	pending := owing(op) && errors.As(err, &owed)
	switch {
	case errors.Is(err, ErrServerDown): // for a reason that may be one of these
	case errors.Is(err, link.ErrUnsupported):
		return &OpError{Op: op.String(), Server: name, Err: ErrNotSupported}
	case errors.As(err, &refused):
		return &ServerError{Op: op.String(), Server: name, Kind: refused.Kind, Message: refused.Message, pending: pending}
	case errors.As(err, &nonsense):
		return &ProtocolError{Op: op.String(), Server: name, Got: nonsense.Got, Err: nonsense.Err, pending: pending}
	case errors.As(err, &lost) && lost.Dial && timedOut(lost.Err):
		if pending {
			return &ConnectTimeoutError{Addr: owingAddr{s.addr}}
		}
		return &ConnectTimeoutError{Addr: s.addr}
	case errors.As(err, &lost):
		return &OpError{Op: op.String(), Server: name, Err: gaveUp(ctx, lost.Err), OutcomeUnknown: lost.Sent && changes(op), pending: pending}
	}
	if owed != nil {
		err = owed.error
	}
	return &OpError{Op: op.String(), Server: name, Err: gaveUp(ctx, err), pending: pending}
}

// unsentError is why an operation of a batch has no reply of which nothing was
// sent, when its server was lost by those before it.
type unsentError struct{ error }

// unsent returns err, by which the operations before op failed, as op is told: it
// was certainly not carried out.
func unsent(op link.Op, err error) error {
	switch e := err.(type) {
	case *OpError:
		if e.OutcomeUnknown {
			return &OpError{Op: e.Op, Server: e.Server, Err: e.Err, pending: e.pending}
		}
	case *ProtocolError:
		if changes(op) {
			return &OpError{Op: e.Op, Server: e.Server, Err: e, pending: e.pending}
		}
	}
	return err
}

// changes reports whether op leaves a trace on the server.
func changes(op link.Op) bool {
	switch op {
	case link.Get, link.Inspect, link.Version, link.Stats:
		return false
	}
	return true
}

// gaveUp makes sure that the error of ctx is in err when ctx is why a call has
// ended: the link reports its cause, which may be an error of the caller's own.
func gaveUp(ctx context.Context, err error) error {
	ended := ctx.Err()
	if ended == nil || errors.Is(err, ended) || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", ended, err)
}
