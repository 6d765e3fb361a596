package memcache

import (
	"fmt"
	"net"
	"sync/atomic"

	"github.com/vaquero-cache/memcache/ring"
)

// Server is one server of a Continuum.
type Server struct {
	// Addr is "host:port" or, if it holds a slash, the path of a unix socket.
	Addr string

	// Name is the server's identity on the ring; empty means Addr. With a name,
	// the address may change and no key moves.
	Name string

	// Weight is the server's share of the keys against that of the others;
	// 0 means 1, negative is an error.
	Weight int
}

// Continuum is a ServerSelector that places keys by package ring: on a weighted
// continuum, or as a client in another language does. The zero value places them
// by ring.Default on no servers. It is safe for concurrent use.
type Continuum struct {
	placement ring.Placement
	current   atomic.Pointer[placed]
}

// NewContinuum returns a Continuum of servers. Use ring.Default unless the cache
// is shared with clients that place keys in another way. The errors are those of
// SetServers.
func NewContinuum(p ring.Placement, servers ...Server) (*Continuum, error) {
	c := &Continuum{placement: p}
	if err := c.SetServers(servers...); err != nil {
		return nil, err
	}
	return c, nil
}

// SetServers replaces the servers, for all calls that begin afterwards. Host
// names need not resolve: they are looked up each time the client connects, and
// one that fails to resolve fails its own keys only.
//
// On an error nothing changes. It is ErrNoServers for an empty list, an *OpError
// for an address that makes no sense, and one that wraps a *ring.ServerError for
// a server that the placement cannot use. The latter two name the server.
func (c *Continuum) SetServers(servers ...Server) error {
	if len(servers) == 0 {
		return ErrNoServers
	}
	addrs := make([]*serverAddr, len(servers))
	identities := make([]ring.Server, len(servers))
	names := make([]string, len(servers))
	for i, s := range servers {
		a := newServerAddr(s.Addr)
		if err := a.check(); err != nil {
			return &OpError{Op: "resolve", Server: s.Addr, Err: err}
		}
		if s.Weight == 0 {
			s.Weight = 1
		}
		addrs[i], names[i] = a, s.Name
		identities[i] = ring.Server{Addr: s.Addr, Name: s.Name, Weight: float64(s.Weight)}
	}
	r, err := ring.New(c.placement, identities...)
	if err != nil {
		return fmt.Errorf("memcache: %w", err)
	}
	c.current.Store(&placed{addrs: addrs, names: names, ring: r})
	return nil
}

func (c *Continuum) placed() *placed { return c.current.Load() }

// PickServer returns the server of key, or ErrNoServers.
func (c *Continuum) PickServer(key string) (net.Addr, error) { return c.current.Load().pick(key) }

// Each calls f for each server in the order given.
func (c *Continuum) Each(f func(net.Addr) error) error { return c.current.Load().each(f) }
