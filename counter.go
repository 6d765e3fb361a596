package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Increment adds delta to the number stored at key and returns the new one. It
// wraps around at 64 bits. The value must be a decimal number; ErrCacheMiss if
// there is none, and a *ServerError if it is not a number. Meta command ma.
func (c *Client) Increment(key string, delta uint64) (newValue uint64, err error) {
	return c.count(link.Increment, key, delta)
}

// Decrement is Increment that subtracts, and stops at 0. A number that got
// shorter is stored with spaces behind it, which Get shows. Meta command ma,
// mode D.
func (c *Client) Decrement(key string, delta uint64) (newValue uint64, err error) {
	return c.count(link.Decrement, key, delta)
}

func (c *Client) count(op link.Op, key string, delta uint64) (uint64, error) {
	reply, err := c.roundTrip(context.Background(), &link.Request{Op: op, Key: key, Delta: delta})
	return reply.Number, err
}
