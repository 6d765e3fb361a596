package memcache

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file finds the server behind an address, and connects to it.

// serverName is what makes two addresses one server.
type serverName struct{ network, address string }

// server is what a client keeps for one server.
type server struct {
	addr net.Addr
	link *link.Link
}

// serverAddr is an address as our own selectors hand it out. It remembers the
// server of the client that used it last, so that finding it needs no map.
type serverAddr struct {
	network string
	address string // as configured, for dialling: "host:port" or a path
	text    string // as shown: the resolved form of address where there is one

	last atomic.Pointer[owned]
}

type owned struct {
	client *Client
	server *server
}

func (a *serverAddr) Network() string { return a.network }
func (a *serverAddr) String() string  { return a.text }

// server returns what the client keeps for addr.
func (c *Client) server(addr net.Addr) *server {
	own, ok := addr.(*serverAddr)
	if !ok {
		return c.serverNamed(serverName{addr.Network(), addr.String()}, addr)
	}
	if last := own.last.Load(); last != nil && last.client == c {
		return last.server
	}
	s := c.serverNamed(serverName{own.network, own.address}, addr)
	own.last.Store(&owned{client: c, server: s})
	return s
}

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
	s = &server{addr: addr, link: link.New(link.Config{
		Dial:     func(ctx context.Context) (net.Conn, error) { return c.dial(ctx, name) },
		Protocol: linkProtocols[c.Protocol],
		Timeout:  c.timeout,
		MaxValue: maxValueSize,
		Activity: &c.activity,
	})}
	if c.servers == nil {
		c.servers = map[serverName]*server{}
	}
	c.servers[name] = s
	return s
}

// dial connects to a server. A host name is resolved each time, and each of its
// addresses tried.
func (c *Client) dial(ctx context.Context, name serverName) (net.Conn, error) {
	if c.DialContext == nil {
		var d net.Dialer
		return d.DialContext(ctx, name.network, name.address)
	}
	addresses, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, address := range addresses {
		nc, err := c.DialContext(ctx, name.network, address)
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

// resolve returns the addresses of a server in the form that a custom
// DialContext gets them: "ip:port", or the path of a socket.
func resolve(ctx context.Context, name serverName) ([]string, error) {
	if !strings.HasPrefix(name.network, "tcp") {
		return []string{name.address}, nil
	}
	host, service, err := net.SplitHostPort(name.address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, name.network, service)
	if err != nil {
		return nil, err
	}
	var ips []net.IPAddr
	if host == "" {
		ips = []net.IPAddr{{}} // this machine, as net.Dial understands it
	} else if ips, err = net.DefaultResolver.LookupIPAddr(ctx, host); err != nil {
		return nil, err
	}
	addresses := make([]string, len(ips))
	for i, ip := range ips {
		addresses[i] = (&net.TCPAddr{IP: ip.IP, Zone: ip.Zone, Port: port}).String()
	}
	if len(addresses) == 0 {
		return nil, errors.New("no address for host " + host)
	}
	return addresses, nil
}
