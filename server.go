package memcache

import (
	"net"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file finds the server of a key.

// server is what a client keeps for one address.
type server struct {
	client *Client
	slot   int // a small number that no other server of the client has had
	addr   net.Addr
	link   *link.Link
	health *health // of the identity that has this address
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
// have any more finish the calls that are under way and close. A server that has
// its name from another address now is still owed what it missed there, and so is
// one that left the list and comes back.
func (c *Client) follow(p *placed) *view {
	v := &view{placed: p, servers: make([]*server, len(p.addrs))}
	kept, identities := make(map[serverName]bool, len(p.addrs)), make(map[string]bool, len(p.addrs))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range p.addrs {
		name := serverName{a.network, a.address}
		identity := name.identity()
		if p.names != nil && p.names[i] != "" {
			identity = p.names[i]
		}
		if s := c.servers[name]; s != nil && s.health.identity != identity && !kept[name] {
			delete(c.servers, name)
			s.link.Retire()
		}
		v.servers[i] = c.serverLocked(name, a, identity)
		kept[name], identities[v.servers[i].health.identity] = true, true
	}
	for name, s := range c.servers {
		if !kept[name] {
			delete(c.servers, name)
			s.link.Retire()
		}
	}
	c.absentLocked(identities)
	c.view.Store(v)
	return v
}

// identity is that of a server without a name. No name is like it.
func (n serverName) identity() string { return n.network + "\x00" + n.address }

// server returns what the client keeps for addr.
func (c *Client) server(addr net.Addr) *server {
	c.current() // knows the names of servers
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
	return c.serverLocked(name, addr, name.identity())
}

// serverLocked returns the server of that name, made for addr if it is new, with
// the health of identity.
func (c *Client) serverLocked(name serverName, addr net.Addr, identity string) *server {
	if s := c.servers[name]; s != nil {
		return s
	}
	s := &server{client: c, slot: int(c.slots.Add(1)) - 1, addr: addr}
	h, known := c.healths[identity]
	if !known {
		h = c.newHealth(s, identity)
	}
	s.health = h
	s.link = c.newLink(s)
	if known {
		h.former = append(h.former, h.current().link)
		h.moves(s, h.left != 0) // from here on the keeper may go to s
		h.left = 0
	}
	if c.servers == nil {
		c.servers, c.healths = map[serverName]*server{}, map[string]*health{}
	}
	c.servers[name], c.healths[identity] = s, s.health
	return s
}
