package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// The stores copy what they need of the Item, which they do not modify. They
// refuse a nil one with ErrNilItem, a bad key with ErrMalformedKey and a value
// above MaxValueSize with ErrValueTooLarge, and send nothing then.

// Set stores the item, whether or not there is one. Meta command ms.
func (c *Client) Set(item *Item) error { return c.SetContext(context.Background(), item) }

// SetContext is Set bounded by ctx.
func (c *Client) SetContext(ctx context.Context, item *Item) error {
	return c.store(ctx, link.Set, item)
}

// Add stores the item if the key is absent, else it returns ErrNotStored. Meta
// command ms, mode E.
func (c *Client) Add(item *Item) error { return c.AddContext(context.Background(), item) }

// AddContext is Add bounded by ctx.
func (c *Client) AddContext(ctx context.Context, item *Item) error {
	return c.store(ctx, link.Add, item)
}

// Replace stores the item if the key is present, else it returns ErrNotStored.
// Meta command ms, mode R.
func (c *Client) Replace(item *Item) error { return c.ReplaceContext(context.Background(), item) }

// ReplaceContext is Replace bounded by ctx.
func (c *Client) ReplaceContext(ctx context.Context, item *Item) error {
	return c.store(ctx, link.Replace, item)
}

// Append puts item.Value behind the value that is stored; ErrNotStored if there
// is none. Meta command ms, mode A.
func (c *Client) Append(item *Item) error { return c.AppendContext(context.Background(), item) }

// AppendContext is Append bounded by ctx.
func (c *Client) AppendContext(ctx context.Context, item *Item) error {
	return c.store(ctx, link.Append, item)
}

// Prepend puts item.Value before the value that is stored; ErrNotStored if there
// is none. Meta command ms, mode P.
func (c *Client) Prepend(item *Item) error { return c.PrependContext(context.Background(), item) }

// PrependContext is Prepend bounded by ctx.
func (c *Client) PrependContext(ctx context.Context, item *Item) error {
	return c.store(ctx, link.Prepend, item)
}

// AppendOrCreate is Append that stores the item, with its Flags and Expiration,
// if there is none. Meta command ms, mode A, with N; ErrNotSupported in the other
// protocols. Servers before 1.6.20 never create: ErrNotStored.
func (c *Client) AppendOrCreate(ctx context.Context, item *Item) error {
	return c.storeOrCreate(ctx, link.Append, item)
}

// PrependOrCreate is Prepend that stores the item, with its Flags and
// Expiration, if there is none. Meta command ms, mode P, with N; ErrNotSupported
// in the other protocols. Servers before 1.6.20 never create: ErrNotStored.
func (c *Client) PrependOrCreate(ctx context.Context, item *Item) error {
	return c.storeOrCreate(ctx, link.Prepend, item)
}

func (c *Client) storeOrCreate(ctx context.Context, op link.Op, item *Item) error {
	if err := storable(item); err != nil {
		return err
	}
	req := storing(op, item)
	req.Create = true
	_, err := c.roundTrip(ctx, &req)
	return err
}

// CompareAndSwap stores the item if the stored one still has the version
// item.CasID, else it returns ErrCASConflict, or ErrCacheMiss if there is none.
// CasID comes from Get, GetMulti or GetAndTouch and is not changed. Meta command
// ms with C.
func (c *Client) CompareAndSwap(item *Item) error {
	return c.CompareAndSwapContext(context.Background(), item)
}

// CompareAndSwapContext is CompareAndSwap bounded by ctx.
func (c *Client) CompareAndSwapContext(ctx context.Context, item *Item) error {
	return c.store(ctx, link.CompareAndSwap, item)
}

func (c *Client) store(ctx context.Context, op link.Op, item *Item) error {
	if err := storable(item); err != nil {
		return err
	}
	req := storing(op, item)
	_, err := c.roundTrip(ctx, &req)
	return err
}

// storable returns why item cannot be stored. Its key is another matter.
func storable(item *Item) error {
	switch {
	case item == nil:
		return ErrNilItem
	case len(item.Value) > MaxValueSize:
		return ErrValueTooLarge
	}
	return nil
}

// storing returns the request to store item by op.
func storing(op link.Op, item *Item) link.Request {
	return link.Request{
		Op: op, Key: item.Key, Value: item.Value,
		Flags: item.Flags, Expiration: item.Expiration, CAS: item.CasID,
	}
}
