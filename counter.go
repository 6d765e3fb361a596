package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Increment adds delta to the number stored at key and returns the new one. It
// wraps around at 64 bits. The value must be a decimal number; ErrCacheMiss if
// there is none, and a *ServerError if it is not a number. Meta command ma.
func (c *Client) Increment(key string, delta uint64) (newValue uint64, err error) {
	return c.IncrementContext(context.Background(), key, delta)
}

// IncrementContext is Increment bounded by ctx.
func (c *Client) IncrementContext(ctx context.Context, key string, delta uint64) (newValue uint64, err error) {
	return c.count(ctx, link.Increment, key, delta)
}

// Decrement is Increment that subtracts, and stops at 0. A number that got
// shorter is stored with spaces behind it, which Get shows. Meta command ma,
// mode D.
func (c *Client) Decrement(key string, delta uint64) (newValue uint64, err error) {
	return c.DecrementContext(context.Background(), key, delta)
}

// DecrementContext is Decrement bounded by ctx.
func (c *Client) DecrementContext(ctx context.Context, key string, delta uint64) (newValue uint64, err error) {
	return c.count(ctx, link.Decrement, key, delta)
}

// IncrementOrCreate is Increment that makes a counter if there is none: with the
// number initial, to which delta is not added, and with expiration, under the
// rule of Item.Expiration. One that is there keeps its own. It is ErrNotStored if
// another client makes the counter at the same moment: try again. Meta command ma
// with N and J; ErrNotSupported in the classic protocol.
func (c *Client) IncrementOrCreate(ctx context.Context, key string, delta, initial uint64, expiration int32) (newValue uint64, err error) {
	return c.countOrCreate(ctx, link.Increment, key, delta, initial, expiration)
}

// DecrementOrCreate is IncrementOrCreate that subtracts, as Decrement does. Meta
// command ma with N and J, mode D; ErrNotSupported in the classic protocol.
func (c *Client) DecrementOrCreate(ctx context.Context, key string, delta, initial uint64, expiration int32) (newValue uint64, err error) {
	return c.countOrCreate(ctx, link.Decrement, key, delta, initial, expiration)
}

func (c *Client) countOrCreate(ctx context.Context, op link.Op, key string, delta, initial uint64, expiration int32) (uint64, error) {
	reply, err := c.roundTrip(ctx, &link.Request{
		Op: op, Key: key, Delta: delta, Create: true, Initial: initial, Expiration: expiration,
	})
	return reply.Number, err
}

func (c *Client) count(ctx context.Context, op link.Op, key string, delta uint64) (uint64, error) {
	reply, err := c.roundTrip(ctx, &link.Request{Op: op, Key: key, Delta: delta})
	return reply.Number, err
}
