package memcache

import (
	"context"
	"net"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Ping asks each server for its version, one after the other, and returns the
// first error. It is nil if there are no servers. Classic command version.
func (c *Client) Ping() error { return c.onEach(link.Version) }

// FlushAll deletes all items on each server, one after the other, and returns
// the first error. It is nil if there are no servers. Classic command flush_all.
func (c *Client) FlushAll() error { return c.onEach(link.FlushAll) }

// DeleteAll deletes all items on one server only: the one that the selector
// picks for the empty key. See FlushAll. Classic command flush_all.
func (c *Client) DeleteAll() error {
	s, err := c.pick("")
	if err != nil {
		return err
	}
	return s.do(link.FlushAll)
}

// onEach performs op on each server, one after the other, up to the first error.
func (c *Client) onEach(op link.Op) error {
	return c.selector.Each(func(addr net.Addr) error { return c.server(addr).do(op) })
}

// do performs an operation that has no key.
func (s *server) do(op link.Op) error {
	_, err := s.ask(context.Background(), &link.Request{Op: op})
	return err
}
