package memcache

import (
	"context"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file holds the operations on many keys. In each round of a batch all
// servers are asked before any reply is read, in the calling goroutine.
//
// Their common contract: for a key that is not legal, a nil Item, a value that
// is too large or an error of the selector nothing is sent, and that error is
// returned as it is. All else is in a *MultiError, the results of the other keys
// beside it. MultiError.ByKey tells the outcome for each key.

// GetMulti returns the items of those keys that are present. Absent ones are
// simply not in the map, and a key given twice is asked for once.
//
// When servers fail, the items of the others are returned with a *MultiError
// that names the failed ones and their keys. For a key that is not legal the
// error is ErrMalformedKey, nothing is asked and the map is nil; so it is with
// the selector's error. Otherwise the map is never nil.
//
// Each Value is memory of its own; Items are allocated eight at a time, so that
// one that is kept keeps at most seven others from being collected. Meta command
// mg, or classic command gets: see Auto.
func (c *Client) GetMulti(keys []string) (map[string]*Item, error) {
	return c.GetMultiContext(context.Background(), keys)
}

// GetMultiContext is GetMulti bounded by ctx. When ctx ends first, what has
// arrived is returned, and the rest is in the *MultiError.
func (c *Client) GetMultiContext(ctx context.Context, keys []string) (map[string]*Item, error) {
	b, err := c.newBatch(operations{form: link.Request{Op: link.Get}, keys: keys})
	if err != nil {
		return nil, err
	}
	items := make(map[string]*Item, len(keys))
	var chunk []Item
	var list []Failure
	for b.next() {
		b.perform(ctx)
		whole := true
		for i := range b.shares {
			share, ops := &b.shares[i], b.parts[i].ops
			whole = whole && share.Err == nil
			for j := range share.Replies {
				reply := &share.Replies[j]
				switch reply.Status {
				case link.OK:
					if len(chunk) == 0 {
						chunk = make([]Item, itemChunk)
					}
					item := &chunk[0]
					chunk = chunk[1:]
					item.Key, item.Value, item.Flags, item.CasID = keys[ops[j]], reply.Value, reply.Flags, reply.CAS
					items[item.Key] = item
				case link.Miss:
				default:
					whole = false
				}
			}
		}
		if !whole {
			list = b.failed(list, false)
		}
	}
	b.release()
	return items, multiError(list)
}

const itemChunk = 8

// SetMulti stores the items, those of one key in the order given. Each is
// stored or not whatever becomes of the others; a *MultiError names the keys of
// those that are not. Meta command ms.
func (c *Client) SetMulti(items []*Item) error {
	return c.SetMultiContext(context.Background(), items)
}

// SetMultiContext is SetMulti bounded by ctx.
func (c *Client) SetMultiContext(ctx context.Context, items []*Item) error {
	return c.storeMulti(ctx, link.Set, items)
}

// AddMulti is SetMulti that stores the items whose keys are absent. The others
// are in the *MultiError with ErrNotStored. Meta command ms, mode E.
func (c *Client) AddMulti(items []*Item) error {
	return c.AddMultiContext(context.Background(), items)
}

// AddMultiContext is AddMulti bounded by ctx.
func (c *Client) AddMultiContext(ctx context.Context, items []*Item) error {
	return c.storeMulti(ctx, link.Add, items)
}

// ReplaceMulti is SetMulti that stores the items whose keys are present. The
// others are in the *MultiError with ErrNotStored. Meta command ms, mode R.
func (c *Client) ReplaceMulti(items []*Item) error {
	return c.ReplaceMultiContext(context.Background(), items)
}

// ReplaceMultiContext is ReplaceMulti bounded by ctx.
func (c *Client) ReplaceMultiContext(ctx context.Context, items []*Item) error {
	return c.storeMulti(ctx, link.Replace, items)
}

func (c *Client) storeMulti(ctx context.Context, op link.Op, items []*Item) error {
	for _, item := range items {
		if err := storable(item); err != nil {
			return err
		}
	}
	return c.doMulti(ctx, operations{form: link.Request{Op: op}, items: items})
}

// DeleteMulti deletes the items of keys. Keys without one are in the
// *MultiError with ErrCacheMiss: see Ignore. Meta command md.
func (c *Client) DeleteMulti(keys []string) error {
	return c.DeleteMultiContext(context.Background(), keys)
}

// DeleteMultiContext is DeleteMulti bounded by ctx.
func (c *Client) DeleteMultiContext(ctx context.Context, keys []string) error {
	return c.doMulti(ctx, operations{form: link.Request{Op: link.Delete}, keys: keys})
}

// TouchMulti gives the items of keys a new expiration, as Touch does. Keys
// without one are in the *MultiError with ErrCacheMiss. Classic command touch.
func (c *Client) TouchMulti(keys []string, seconds int32) error {
	return c.TouchMultiContext(context.Background(), keys, seconds)
}

// TouchMultiContext is TouchMulti bounded by ctx.
func (c *Client) TouchMultiContext(ctx context.Context, keys []string, seconds int32) error {
	return c.doMulti(ctx, operations{form: link.Request{Op: link.Touch, Expiration: seconds}, keys: keys})
}

// IncrementMulti adds delta to the numbers stored at keys, as Increment does,
// and returns the new ones; a key given twice is incremented twice. Keys without
// a number are in the *MultiError with ErrCacheMiss or a *ServerError. The map
// is nil if nothing was sent. Meta command ma.
func (c *Client) IncrementMulti(keys []string, delta uint64) (map[string]uint64, error) {
	return c.IncrementMultiContext(context.Background(), keys, delta)
}

// IncrementMultiContext is IncrementMulti bounded by ctx.
func (c *Client) IncrementMultiContext(ctx context.Context, keys []string, delta uint64) (map[string]uint64, error) {
	return c.countMulti(ctx, link.Increment, keys, delta)
}

// DecrementMulti is IncrementMulti that subtracts, as Decrement does. Meta
// command ma, mode D.
func (c *Client) DecrementMulti(keys []string, delta uint64) (map[string]uint64, error) {
	return c.DecrementMultiContext(context.Background(), keys, delta)
}

// DecrementMultiContext is DecrementMulti bounded by ctx.
func (c *Client) DecrementMultiContext(ctx context.Context, keys []string, delta uint64) (map[string]uint64, error) {
	return c.countMulti(ctx, link.Decrement, keys, delta)
}

func (c *Client) countMulti(ctx context.Context, op link.Op, keys []string, delta uint64) (map[string]uint64, error) {
	b, err := c.newBatch(operations{form: link.Request{Op: op, Delta: delta}, keys: keys})
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]uint64, len(keys))
	var list []Failure
	for b.next() {
		b.perform(ctx)
		for i := range b.shares {
			share := &b.shares[i]
			for j := range share.Replies {
				if reply := &share.Replies[j]; reply.Status == link.OK {
					numbers[b.key(i, j)] = reply.Number
				}
			}
		}
		list = b.failed(list, true)
	}
	b.release()
	return numbers, multiError(list)
}

func (c *Client) doMulti(ctx context.Context, ops operations) error {
	b, err := c.newBatch(ops)
	if err != nil {
		return err
	}
	var list []Failure
	for b.next() {
		b.perform(ctx)
		list = b.failed(list, true)
	}
	b.release()
	return multiError(list)
}
