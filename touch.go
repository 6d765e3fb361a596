package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Touch gives the item of key a new expiration: in seconds from now up to 30
// days, above that a Unix time, 0 = never, negative = at once. It returns
// ErrCacheMiss if there is no item. Classic command touch.
func (c *Client) Touch(key string, seconds int32) error {
	return c.TouchContext(context.Background(), key, seconds)
}

// TouchContext is Touch bounded by ctx.
func (c *Client) TouchContext(ctx context.Context, key string, seconds int32) error {
	_, err := c.roundTrip(ctx, &link.Request{Op: link.Touch, Key: key, Expiration: seconds})
	return err
}
