package memcache

import (
	"context"
	"net"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Ping asks each server for its version, one after the other, and returns the
// first error. It is nil if there are no servers. Classic command version.
func (c *Client) Ping() error { return c.selector.Each(c.onServer(link.Version)) }

// FlushAll deletes all items on each server, one after the other, and returns
// the first error. It is nil if there are no servers. Classic command flush_all.
func (c *Client) FlushAll() error { return c.selector.Each(c.onServer(link.FlushAll)) }

// DeleteAll deletes all items on one server only: the one that the selector
// picks for the empty key. See FlushAll. Classic command flush_all.
func (c *Client) DeleteAll() error {
	addr, err := c.selector.PickServer("")
	if err != nil {
		return err
	}
	return c.onServer(link.FlushAll)(addr)
}

func (c *Client) onServer(op link.Op) func(net.Addr) error {
	return func(addr net.Addr) error {
		_, err := c.ask(context.Background(), c.server(addr), &link.Request{Op: op})
		return err
	}
}
