package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Delete deletes the item of key, or returns ErrCacheMiss. Meta command md.
func (c *Client) Delete(key string) error {
	_, err := c.roundTrip(context.Background(), &link.Request{Op: link.Delete, Key: key})
	return err
}
