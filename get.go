package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Get returns the item of key, or ErrCacheMiss. It allocates the Item and its
// Value. Meta command mg.
func (c *Client) Get(key string) (*Item, error) {
	return c.GetContext(context.Background(), key)
}

// GetContext is Get bounded by ctx.
func (c *Client) GetContext(ctx context.Context, key string) (*Item, error) {
	return c.get(ctx, key, &link.Request{Op: link.Get, Key: key})
}

// GetAndTouch is Get that also gives the item a new expiration: in seconds from
// now up to 30 days, above that a Unix time, 0 = never, negative = at once. Meta
// command mg with T.
func (c *Client) GetAndTouch(key string, expiration int32) (*Item, error) {
	return c.GetAndTouchContext(context.Background(), key, expiration)
}

// GetAndTouchContext is GetAndTouch bounded by ctx.
func (c *Client) GetAndTouchContext(ctx context.Context, key string, expiration int32) (*Item, error) {
	return c.get(ctx, key, &link.Request{Op: link.GetAndTouch, Key: key, Expiration: expiration})
}

func (c *Client) get(ctx context.Context, key string, req *link.Request) (*Item, error) {
	reply, err := c.roundTrip(ctx, req)
	if err != nil {
		return nil, err
	}
	return itemOf(key, &reply), nil
}

// itemOf returns the item that a server has under key.
func itemOf(key string, reply *link.Reply) *Item {
	return &Item{Key: key, Value: reply.Value, Flags: reply.Flags, CasID: reply.CAS}
}
