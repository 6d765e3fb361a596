package memcache

import (
	"context"
	"net"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file finds the server of a key, and connects to it.

// server is what a client keeps for one server.
type server struct {
	client *Client
	addr   net.Addr
	link   *link.Link
}

// serverName is what makes two addresses one server.
type serverName struct{ network, address string }

// pick returns the server of key.
func (c *Client) pick(key string) (*server, error) {
	addr, err := c.selector.PickServer(key)
	if err != nil {
		return nil, err
	}
	if addr == nil {
		return nil, ErrNoServers
	}
	return c.server(addr), nil
}

// server returns what the client keeps for addr.
func (c *Client) server(addr net.Addr) *server {
	own, ok := addr.(*serverAddr)
	if !ok {
		return c.serverNamed(serverName{addr.Network(), addr.String()}, addr)
	}
	if last := own.last.Load(); last != nil && last.client == c {
		return last
	}
	s := c.serverNamed(serverName{own.network, own.address}, addr)
	own.last.Store(s)
	return s
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
	s = &server{client: c, addr: addr}
	s.link = link.New(link.Config{
		Dial:     s.dial,
		Protocol: linkProtocols[c.Protocol],
		Timeout:  c.timeout,
		MaxValue: MaxValueSize,
		Activity: &c.activity,
	})
	if c.servers == nil {
		c.servers = map[serverName]*server{}
	}
	c.servers[name] = s
	return s
}

// dial connects to the server. A custom DialContext gets the addresses of our
// own selectors resolved, one after the other until one of them answers, and
// those of others as they are.
func (s *server) dial(ctx context.Context) (net.Conn, error) {
	dial := s.client.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	own, ok := s.addr.(*serverAddr)
	if !ok {
		return dial(ctx, s.addr.Network(), s.addr.String())
	}
	if s.client.DialContext == nil {
		return dial(ctx, own.network, own.address) // resolves, and knows better which to try first
	}
	addresses, err := own.resolve(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, address := range addresses {
		nc, err := dial(ctx, own.network, address)
		if err == nil {
			return nc, nil
		}
		if failed == nil {
			failed = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}
