package memcache

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Outcomes and mistakes that need no detail. They are returned as they are,
// never wrapped, so both == and errors.Is find them.
var (
	// ErrCacheMiss is the outcome of Get, GetAndTouch, Delete, Touch, Increment,
	// Decrement and CompareAndSwap on a key that is absent.
	ErrCacheMiss = errors.New("memcache: cache miss")

	// ErrCASConflict is the outcome of CompareAndSwap on an item that somebody
	// has stored again since Item.CasID was read.
	ErrCASConflict = errors.New("memcache: compare-and-swap conflict")

	// ErrNotStored is the outcome of Add on a key that is present, and of
	// Replace, Append and Prepend on one that is absent.
	ErrNotStored = errors.New("memcache: item not stored")

	// ErrServerError is what errors.Is finds in every *ServerError. It is never
	// returned itself.
	ErrServerError = errors.New("memcache: server error")

	// ErrNoStats is never returned. It is there for programs that name it.
	ErrNoStats = errors.New("memcache: no statistics available")

	// ErrMalformedKey refuses a key that is empty, longer than MaxKeyLength, or
	// holds a space or a control byte. Nothing was sent.
	ErrMalformedKey = errors.New("malformed: key is too long or contains invalid characters")

	// ErrValueTooLarge refuses a value above MaxValueSize. Nothing was sent. A
	// server's own limit is lower as a rule: it answers with a *ServerError.
	ErrValueTooLarge = errors.New("memcache: value is larger than any server takes")

	// ErrNilItem refuses a nil *Item. Nothing was sent.
	ErrNilItem = errors.New("memcache: nil Item")

	// ErrTooManyCalls is what an *OpError wraps when ConnSettings.MaxCalls calls
	// were in flight to the server for too long. Nothing was sent.
	ErrTooManyCalls = link.ErrTooManyCalls

	// ErrNotSupported is what an *OpError wraps when the protocol that is spoken
	// to the server cannot say what was asked. Nothing was sent.
	ErrNotSupported = errors.New("memcache: not supported by the server's protocol")

	// ErrAuth is what an *OpError wraps when the server refused Client.Auth, or
	// wants one. Nothing of the operation was sent, and the server is left alone
	// for a while that grows to a second, as one that is down is. errors.Is finds
	// it in a *ServerError too that asks for authentication.
	ErrAuth = link.ErrAuth

	// ErrCredentials is what an *OpError wraps when the name or the password of
	// Client.Auth cannot be sent. Nothing was sent.
	ErrCredentials = link.ErrCredentials

	// ErrNoServers means that the selector has no server for the key.
	ErrNoServers = errors.New("memcache: no servers configured or available")
)

// ServerError is an error line of the server: it has answered, and said no.
// errors.Is(err, ErrServerError) holds for it. "object too large for cache" and
// "out of memory storing object" are the common messages of Kind SERVER_ERROR.
type ServerError struct {
	Op      string // the operation, such as "set"
	Server  string // the server's address
	Kind    string // "SERVER_ERROR", "CLIENT_ERROR" or "ERROR"
	Message string // the rest of the line

	pending bool
}

// Error holds the words that programs look for in gomemcache's errors: "client
// error" when a counter is not a number, else "unexpected line in get response"
// for a read or "unexpected response line", and the server's own line.
func (e *ServerError) Error() string {
	if e.Kind == "CLIENT_ERROR" && (e.Op == "incr" || e.Op == "decr") {
		return fmt.Sprintf("memcache: client error: %s (server %s)", e.Message, e.Server)
	}
	line := strings.TrimSuffix(e.Kind+" "+e.Message, " ")
	return fmt.Sprintf("memcache: %s: %q (server %s)", unexpected(e.Op), line, e.Server)
}

// unexpected says in gomemcache's words that op was answered by a line it does
// not know.
func unexpected(op string) string {
	if op == "get" || op == "gat" {
		return "unexpected line in get response"
	}
	return fmt.Sprintf("unexpected response line from %q", op)
}

// Is reports whether target is ErrServerError, or ErrAuth if that is what the
// server says, or ErrInvalidationPending if the server is going to delete the key.
func (e *ServerError) Is(target error) bool {
	switch target {
	case ErrServerError:
		return true
	case ErrAuth:
		return e.Message == "unauthenticated" || e.Message == "Auth failure."
	}
	return target == ErrInvalidationPending && e.pending
}

// ProtocolError says that a server sent what is no reply, or none to what it
// was asked. Its connection is closed, and all calls that wait on it fail.
// Whether they were carried out is not known.
type ProtocolError struct {
	Op     string // the operation that waited, such as "get"
	Server string // the server's address
	Got    []byte // the first bytes of what came, at most 64; they may hold keys and values
	Err    error  // what is wrong with it

	pending bool
}

// Is reports whether target is ErrInvalidationPending and the server is going to
// delete the key.
func (e *ProtocolError) Is(target error) bool { return target == ErrInvalidationPending && e.pending }

// Error does not show Got.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("memcache: %s: %v (server %s)", unexpected(e.Op), e.Err, e.Server)
}

// Unwrap returns e.Err.
func (e *ProtocolError) Unwrap() error { return e.Err }

// OpError says that an operation got no answer: no connection could be made,
// the one in use failed or made no progress for Client.Timeout, or the caller
// gave up. It is a net.Error.
type OpError struct {
	Op     string // the operation, such as "get"
	Server string // the server's address
	Err    error  // the cause

	// OutcomeUnknown is set when the request may have reached the server, so
	// that it may or may not have been carried out. It is never set for what
	// changes nothing there: Get, GetMulti and Ping.
	OutcomeUnknown bool

	pending bool
}

func (e *OpError) Error() string {
	text := fmt.Sprintf("memcache: %s on server %s: %v", e.Op, e.Server, e.Err)
	if e.OutcomeUnknown {
		text += " (outcome unknown)"
	}
	return text
}

// Is reports whether target is ErrInvalidationPending and the server is going to
// delete the key.
func (e *OpError) Is(target error) bool { return target == ErrInvalidationPending && e.pending }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Timeout reports whether time ran out: Client.Timeout or a deadline.
func (e *OpError) Timeout() bool { return timedOut(e.Err) }

// Temporary is there for net.Error. It is Timeout.
func (e *OpError) Temporary() bool { return e.Timeout() }

// timedOut reports whether err, or what it wraps, says that time ran out.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// ConnectTimeoutError says that a connection to a server was not ready for use,
// with TLS and authentication, within Client.Timeout or ConnSettings.DialTimeout.
// It is a net.Error.
type ConnectTimeoutError struct {
	Addr net.Addr
}

// Is reports whether target is ErrInvalidationPending and the server is going to
// delete the key.
func (e *ConnectTimeoutError) Is(target error) bool {
	_, pending := e.Addr.(owingAddr)
	return pending && target == ErrInvalidationPending
}

// owingAddr is the Addr of a ConnectTimeoutError by a change whose key is owed:
// programs build and compare that type by its one field, so it gets no other.
type owingAddr struct{ net.Addr }

func (e *ConnectTimeoutError) Error() string {
	return "memcache: connect timeout to " + e.Addr.String()
}

// Timeout returns true.
func (e *ConnectTimeoutError) Timeout() bool { return true }

// Temporary returns true.
func (e *ConnectTimeoutError) Temporary() bool { return true }
