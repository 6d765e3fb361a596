package memcache

import (
	"context"
	"net"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Ping asks each server for its version, one after the other, and returns the
// first error. It is nil if there are no servers. Classic command version.
func (c *Client) Ping() error { return c.PingContext(context.Background()) }

// PingContext is Ping bounded by ctx.
func (c *Client) PingContext(ctx context.Context) error { return c.onEach(ctx, link.Version) }

// FlushAll deletes all items on each server, one after the other, and returns
// the first error. It is nil if there are no servers. Classic command flush_all.
func (c *Client) FlushAll() error { return c.FlushAllContext(context.Background()) }

// FlushAllContext is FlushAll bounded by ctx.
func (c *Client) FlushAllContext(ctx context.Context) error { return c.onEach(ctx, link.FlushAll) }

// DeleteAll deletes all items on one server only: the one that the selector
// picks for the empty key. See FlushAll. Classic command flush_all.
func (c *Client) DeleteAll() error { return c.DeleteAllContext(context.Background()) }

// DeleteAllContext is DeleteAll bounded by ctx.
func (c *Client) DeleteAllContext(ctx context.Context) error {
	s, err := c.pick("")
	if err != nil {
		return err
	}
	return s.do(ctx, link.FlushAll)
}

// onEach performs op on each server, one after the other, up to the first error.
func (c *Client) onEach(ctx context.Context, op link.Op) error {
	return c.selector.Each(func(addr net.Addr) error { return c.server(addr).do(ctx, op) })
}

// do performs an operation that has no key.
func (s *server) do(ctx context.Context, op link.Op) error {
	_, err := s.ask(ctx, &link.Request{Op: op})
	return err
}
