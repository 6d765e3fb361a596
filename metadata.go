package memcache

import (
	"context"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Metadata is what a server tells of an item beside its value. Times are in
// steps of a second.
type Metadata struct {
	// Size is the length of the value in bytes.
	Size int

	// Flags and CasID are those of the Item.
	Flags uint32
	CasID uint64

	// Expires reports whether the item will come to an end, and TTL what is
	// left to live then: 0 in its last second.
	Expires bool
	TTL     time.Duration

	// Fetched reports whether the item was read before since it was stored, and
	// LastAccess how long ago it was last read or, if never, stored.
	Fetched    bool
	LastAccess time.Duration

	// Stale reports that the item has been marked as stale by a client that
	// prefers that to deleting it. The first to read it has Won: it is expected
	// to store a new one. To all others the item is Lost until that is done.
	Stale, Won, Lost bool
}

// GetMetadata returns the metadata of the item of key, or ErrCacheMiss, without
// reading its value. To the server that is no access: Fetched and LastAccess of
// later reads do not show it. But it can win a stale item: see Metadata.Stale. It
// allocates once. Meta command mg with u and without v; ErrNotSupported in the
// other protocols.
func (c *Client) GetMetadata(ctx context.Context, key string) (Metadata, error) {
	reply, err := c.roundTrip(ctx, &link.Request{Op: link.Inspect, Key: key})
	if err != nil {
		return Metadata{}, err
	}
	return metadataOf(&reply), nil
}

// GetWithMetadata is Get that also returns the metadata as they were before this
// access. Meta command mg; ErrNotSupported in the other protocols.
func (c *Client) GetWithMetadata(ctx context.Context, key string) (*Item, Metadata, error) {
	reply, err := c.roundTrip(ctx, &link.Request{Op: link.Get, Key: key, Detail: true})
	if err != nil {
		return nil, Metadata{}, err
	}
	return itemOf(key, &reply), metadataOf(&reply), nil
}

func metadataOf(reply *link.Reply) Metadata {
	d := reply.Detail
	m := Metadata{
		Size: d.Size, Flags: reply.Flags, CasID: reply.CAS,
		Expires: d.TTL >= 0,
		Fetched: d.Fetched, LastAccess: time.Duration(d.LastAccess) * time.Second,
		Stale: d.Stale, Won: d.Won, Lost: d.Lost,
	}
	if m.Expires {
		m.TTL = time.Duration(d.TTL) * time.Second
	}
	return m
}
