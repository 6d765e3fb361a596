package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Delete deletes the item of key, or returns ErrCacheMiss. Meta command md.
func (c *Client) Delete(key string) error { return c.DeleteContext(context.Background(), key) }

// DeleteContext is Delete bounded by ctx.
func (c *Client) DeleteContext(ctx context.Context, key string) error {
	_, err := c.roundTrip(ctx, &link.Request{Op: link.Delete, Key: key})
	return err
}
