package ring

// Servers as a ring sees them, and what New finds wrong with a list of them.

import (
	"errors"
	"fmt"
)

// Server identifies one server of a ring and says how large its share is.
type Server struct {
	// Addr is "host:port", "[ipv6]:port", or the path of a unix socket (it
	// holds a slash). A host without a port has port 11211. The text is used
	// as it stands: nothing is resolved.
	Addr string

	// Name, when not empty, takes the place of Addr as the server's identity,
	// so that the address may change without moving a key. It is the exact
	// text that the placement hashes, before the number of the point.
	Name string

	// Weight is the server's share relative to the others: above zero, at most
	// MaxWeight. Each placement says what it makes of it.
	Weight float64
}

// ID returns the text a server is known by: Name, or Addr when Name is empty.
func (s Server) ID() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Addr
}

// Bounds of Server.Weight. The lower one is far below any useful share and
// keeps the arithmetic finite.
const (
	MinWeight = 1e-6
	MaxWeight = 1<<32 - 1
)

var (
	// ErrNoServers is returned by New for an empty list.
	ErrNoServers = errors.New("ring: no servers")

	// ErrTooManyServers is returned by New for a list longer than the
	// placement can tell apart.
	ErrTooManyServers = errors.New("ring: too many servers")

	// ErrNoAddr is wrapped by the error for a server without Addr and Name.
	ErrNoAddr = errors.New("no address and no name")

	// ErrNoName is wrapped by the error for a server whose text in the ring
	// cannot be made from Addr, so that Name must hold it.
	ErrNoName = errors.New("the placement needs the server's name")

	// ErrWeight is wrapped by the error for a weight the placement cannot use.
	ErrWeight = errors.New("unusable weight")

	// ErrDuplicate is wrapped by the error for two servers with one identity.
	ErrDuplicate = errors.New("same identity as an earlier server")
)

// ServerError is the error of [New] about one server of the list.
type ServerError struct {
	Index  int    // place in the list given to New
	Server Server // the server as given
	Err    error  // ErrNoAddr, ErrNoName, ErrWeight or ErrDuplicate, perhaps wrapped
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("ring: server %d (%q): %v", e.Index, e.Server.ID(), e.Err)
}

// Unwrap returns e.Err.
func (e *ServerError) Unwrap() error { return e.Err }

// checkServers reports what no placement accepts.
func checkServers(servers []Server) error {
	if len(servers) == 0 {
		return ErrNoServers
	}
	seen := make(map[string]bool, len(servers))
	for i, s := range servers {
		fail := func(err error) error { return &ServerError{Index: i, Server: s, Err: err} }
		switch {
		case s.ID() == "":
			return fail(ErrNoAddr)
		case !(s.Weight >= MinWeight && s.Weight <= MaxWeight): // also when it is NaN
			return fail(fmt.Errorf("%w: %v is not between %v and %v", ErrWeight, s.Weight, MinWeight, float64(MaxWeight)))
		case seen[s.ID()]:
			return fail(ErrDuplicate)
		}
		seen[s.ID()] = true
	}
	return nil
}
