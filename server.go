package memcache

import (
	"net"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file finds the server of a key.

// server is what a client keeps for one server.
type server struct {
	client *Client
	slot   int // a small number that no other server of the client has had
	addr   net.Addr
	link   *link.Link
	health *health
}

// serverName is what makes two addresses one server.
type serverName struct{ network, address string }

// view is a list of servers of one of our own selectors, as one client sees it.
type view struct {
	*placed
	servers []*server // of placed.addrs
}

// pick returns the server of key.
func (c *Client) pick(key string) (*server, error) {
	v, err := c.current()
	if err != nil {
		return nil, err
	}
	return c.pickFrom(v, key)
}

// current returns the list of one of our own selectors as it is now, nil if the
// selector is another's.
func (c *Client) current() (*view, error) {
	own, ok := c.selector.(placing)
	if !ok {
		return nil, nil
	}
	p := own.placed()
	if p == nil {
		return nil, ErrNoServers
	}
	if v := c.view.Load(); v != nil && v.placed == p {
		return v, nil
	}
	return c.follow(p), nil
}

// pickFrom is pick by what current returned, for many keys.
func (c *Client) pickFrom(v *view, key string) (*server, error) {
	if v != nil {
		return v.servers[v.ring.Pick(key)], nil
	}
	addr, err := c.selector.PickServer(key)
	if err != nil {
		return nil, err
	}
	if addr == nil {
		return nil, ErrNoServers
	}
	return c.server(addr), nil
}

// follow takes over the list p of our own selector. Servers that it does not
// have any more finish the calls that are under way and close.
func (c *Client) follow(p *placed) *view {
	v := &view{placed: p, servers: make([]*server, len(p.addrs))}
	kept := make(map[serverName]bool, len(p.addrs))
	for i, a := range p.addrs {
		name := serverName{a.network, a.address}
		v.servers[i] = c.serverNamed(name, a)
		kept[name] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range c.servers {
		if !kept[name] {
			delete(c.servers, name)
			s.link.Retire()
		}
	}
	c.view.Store(v)
	return v
}

// server returns what the client keeps for addr.
func (c *Client) server(addr net.Addr) *server {
	if own, ok := addr.(*serverAddr); ok {
		return c.serverNamed(serverName{own.network, own.address}, addr)
	}
	return c.serverNamed(serverName{addr.Network(), addr.String()}, addr)
}

// serverNamed returns the server of that name, made for addr if it is new.
func (c *Client) serverNamed(name serverName, addr net.Addr) *server {
	c.mu.RLock()
	s := c.servers[name]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.servers[name]; s != nil {
		return s
	}
	s = &server{client: c, slot: c.slots, addr: addr}
	c.slots++
	s.health = c.newHealth(s)
	s.link = c.newLink(s)
	if c.servers == nil {
		c.servers = map[serverName]*server{}
	}
	c.servers[name] = s
	return s
}
