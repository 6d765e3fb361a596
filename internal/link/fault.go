package link

import (
	"errors"
	"strings"
)

// This file tells failures of the server from what is none of its fault.

// Fault is what the failure of a dial or a connection says of the server.
type Fault uint8

const (
	NoFault Fault = iota // nothing
	Soft                 // it does not keep up
	Hard                 // nobody is there
)

// faultLocked says what it means that c closes for the reason err.
//
//	reason                                        fault
//	no progress, too many connections             soft
//	Close, a call given up half way, nonsense,
//	an error line that leaves the next in doubt   none
//	hung up or reset, nothing awaited, or nothing
//	came since the oldest call: it died idle      none
//	hung up or reset before any reply             soft; hard if the one before
//	                                              ended so too
//	hung up or reset in the midst                 soft
func (c *conn) faultLocked(err error) Fault {
	if c.trial {
		return NoFault // who tried it knows
	}
	if err == ErrNoProgress || err == errCrowded {
		return Soft
	}
	first := c.turns.first
	if !hungUp(err) || first == nil {
		return NoFault
	}
	if c.reads == 0 {
		if c.link.hangUps.Add(1) > 1 {
			return Hard
		}
		return Soft
	}
	c.link.hangUps.Store(0)
	if c.reads == first.call.heard {
		return NoFault
	}
	return Soft
}

// hungUp reports whether err came from the socket: the other side is gone.
func hungUp(err error) bool {
	var nonsense *ProtocolError
	switch {
	case err == ErrNoProgress, err == ErrClosed, err == errAbandoned, err == errRefused, err == errCrowded:
		return false
	}
	return !errors.As(err, &nonsense)
}

// errCrowded closes a connection that the server turned away.
var errCrowded = errors.New("server has too many connections")

// endOf is why a connection closes after an error line that leaves it unclear
// where the next reply begins.
func endOf(refusal *ServerError) error {
	if refusal.Kind == "ERROR" && strings.HasPrefix(refusal.Message, "Too many open connections") {
		return errCrowded
	}
	return errRefused
}
