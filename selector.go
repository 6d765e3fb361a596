package memcache

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/vaquero-cache/memcache/ring"
)

// ServerSelector says which server a key belongs to. A Client asks it for every
// key, from many goroutines at once. Servers are told apart by the Network and
// String of their address.
type ServerSelector interface {
	// PickServer returns the server of key, or an error such as ErrNoServers
	// that becomes the error of the operation.
	PickServer(key string) (net.Addr, error)

	// Each calls f for each server and stops at the first error, which it
	// returns.
	Each(f func(net.Addr) error) error
}

// ServerList is a ServerSelector that places keys as gomemcache does: CRC-32 of
// the key modulo the number of servers, in the order given. The zero value is an
// empty list. It is safe for concurrent use.
type ServerList struct {
	current atomic.Pointer[placed]
}

// placed is a list of servers with the ring that places keys on it. It never
// changes.
type placed struct {
	addrs []*serverAddr
	names []string // identities of the servers, where they have any but their address
	ring  *ring.Ring
}

// placing is what our own selectors can do beside a ServerSelector: a Client sees
// at once when the list is another, and picks without an address in between.
type placing interface {
	// placed returns the current list, nil when it is empty.
	placed() *placed
}

func (s *ServerList) placed() *placed { return s.current.Load() }

func (p *placed) pick(key string) (net.Addr, error) {
	if p == nil {
		return nil, ErrNoServers
	}
	return p.addrs[p.ring.Pick(key)], nil
}

func (p *placed) each(f func(net.Addr) error) error {
	if p == nil {
		return nil
	}
	for _, a := range p.addrs {
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}

// SetServers replaces the list, for all calls that begin afterwards. Each server
// has the same weight; to give one a higher weight, list it several times. An
// address is "host:port" or, if it holds a slash, the path of a unix socket.
// All names are resolved first: on an error, which is an *OpError that names the
// server, nothing changes. An empty list is no error.
//
// Names are resolved again each time the client connects.
func (s *ServerList) SetServers(servers ...string) error {
	addrs := make([]*serverAddr, len(servers))
	for i, address := range servers {
		a := newServerAddr(address)
		resolved, err := a.resolve(context.Background())
		if err != nil {
			return &OpError{Op: "resolve", Server: address, Err: err}
		}
		a.text = resolved[0]
		addrs[i] = a
	}
	return s.set(addrs)
}

// set replaces the list by addrs.
func (s *ServerList) set(addrs []*serverAddr) error {
	if len(addrs) == 0 {
		s.current.Store(nil)
		return nil
	}
	identities := make([]ring.Server, len(addrs))
	for i := range identities {
		// A server may stand here several times: its place is its identity.
		identities[i] = ring.Server{Name: strconv.Itoa(i), Weight: 1}
	}
	r, err := ring.New(ring.Gomemcache, identities...)
	if err != nil {
		return err
	}
	s.current.Store(&placed{addrs: addrs, ring: r})
	return nil
}

// PickServer returns the server of key, or ErrNoServers.
func (s *ServerList) PickServer(key string) (net.Addr, error) { return s.current.Load().pick(key) }

// Each calls f for each server in list order, once for each time it is listed.
func (s *ServerList) Each(f func(net.Addr) error) error { return s.current.Load().each(f) }
