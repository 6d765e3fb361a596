package memcache

import (
	"context"
	"net"
	"strconv"
	"strings"
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
	ring  *ring.Ring
}

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
// All names are resolved first: on an error, which names the server, nothing
// changes.
//
// Names are resolved again each time the client connects.
func (s *ServerList) SetServers(servers ...string) error {
	return s.set(servers, failUnresolved)
}

// unresolved and failUnresolved say what becomes of an address that cannot be
// resolved now.
const (
	unresolved     = true
	failUnresolved = false
)

func (s *ServerList) set(servers []string, keepUnresolved bool) error {
	if len(servers) == 0 {
		s.current.Store(nil)
		return nil
	}
	next := &placed{addrs: make([]*serverAddr, len(servers))}
	identities := make([]ring.Server, len(servers))
	for i, address := range servers {
		a, err := newServerAddr(address)
		if err != nil && !keepUnresolved {
			return &OpError{Op: "resolve", Server: address, Err: err}
		}
		next.addrs[i] = a
		// A server may stand here several times: its place is its identity.
		identities[i] = ring.Server{Name: strconv.Itoa(i), Weight: 1}
	}
	var err error
	if next.ring, err = ring.New(ring.Gomemcache, identities...); err != nil {
		return err
	}
	s.current.Store(next)
	return nil
}

// newServerAddr makes the address of a server. It is usable beside an error
// too: then connecting will fail, or the name may resolve by that time.
func newServerAddr(address string) (*serverAddr, error) {
	if strings.Contains(address, "/") {
		return &serverAddr{network: "unix", address: address, text: address}, nil
	}
	a := &serverAddr{network: "tcp", address: address, text: address}
	resolved, err := resolve(context.Background(), serverName{a.network, a.address})
	if err != nil {
		return a, err
	}
	a.text = resolved[0]
	return a, nil
}

// PickServer returns the server of key, or ErrNoServers.
func (s *ServerList) PickServer(key string) (net.Addr, error) { return s.current.Load().pick(key) }

// Each calls f for each server in list order, once for each time it is listed.
func (s *ServerList) Each(f func(net.Addr) error) error { return s.current.Load().each(f) }
