package link

import (
	"errors"
	"fmt"
)

// Why a call failed without a reply. They describe one connection or server;
// the caller adds the operation and the server's name.
var (
	// ErrNoProgress: the connection delivered nothing for Config.Timeout.
	ErrNoProgress error = noProgressError{}

	// ErrClosed: Close was called while the call was under way.
	ErrClosed = errors.New("connection closed by Close")

	// ErrTooManyCalls: as many calls as allowed were in flight to the server for
	// as long as the call could wait.
	ErrTooManyCalls = errors.New("too many calls in flight")

	// errMispaired is a well-formed reply that cannot belong to the oldest call.
	errMispaired = errors.New("not a reply to this request")

	// errUnasked is a reply while no call waits for one.
	errUnasked = errors.New("reply without a request")

	// errLongReply is a reply longer than any of its kind.
	errLongReply = errors.New("reply is too long")

	// errRefused closes a connection after an error line that leaves it unclear
	// where the next reply begins.
	errRefused = errors.New("connection closed after an error line")
)

type noProgressError struct{}

func (noProgressError) Error() string   { return "no progress within the timeout" }
func (noProgressError) Timeout() bool   { return true }
func (noProgressError) Temporary() bool { return true }

// ServerError is an error line: the server has answered, and said no.
type ServerError struct {
	Kind    string // ERROR, CLIENT_ERROR or SERVER_ERROR
	Message string // the rest of the line
}

func (e *ServerError) Error() string {
	if e.Message == "" {
		return e.Kind
	}
	return e.Kind + " " + e.Message
}

// ProtocolError says that a server sent what cannot be the reply to what it was
// asked. The connection it came from is closed.
type ProtocolError struct {
	Want string // what was expected
	Got  []byte // the first bytes of what came, at most 64; may hold keys or values
	Err  error  // what is wrong with it
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("unexpected response to %s: %v", e.Want, e.Err)
}

func (e *ProtocolError) Unwrap() error { return e.Err }

// notReply makes a *ProtocolError of a codec's reason to distrust b, which
// should answer k. A *ServerError stays what it is: an answer, the last one.
func notReply(k *call, b []byte, err error) error {
	if refusal, ok := err.(*ServerError); ok {
		return refusal
	}
	return protocolError(k.want(), b, err)
}

// protocolError keeps a bounded copy of got.
func protocolError(want string, got []byte, err error) *ProtocolError {
	return &ProtocolError{Want: want, Got: append([]byte(nil), got[:min(len(got), 64)]...), Err: err}
}

// LostError says that a connection failed under a call, or could not be made.
type LostError struct {
	Err  error
	Dial bool // no connection could be made: nothing was sent
	Sent bool // bytes of the request may have reached the server: the outcome is unknown
	Left bool // its caller gave it up, and it goes its way
}

func (e *LostError) Error() string { return e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }
