package memcache

import (
	"context"
	"slices"

	"github.com/vaquero-cache/memcache/internal/link"
)

// GetMulti returns the items of those keys that are present. Absent ones are
// simply not in the map, and a key given twice is there once.
//
// All servers are asked before any reply is read, in the calling goroutine.
// When servers fail, the items of the others are returned with a *MultiError
// that names the failed ones and their keys. For a key that is not legal the
// error is ErrMalformedKey, nothing is asked and the map is nil; so it is with
// the selector's error. Otherwise the map is never nil.
//
// Each Value is memory of its own; Items are allocated eight at a time, so that
// one that is kept keeps at most seven others from being collected.
func (c *Client) GetMulti(keys []string) (map[string]*Item, error) {
	return c.GetMultiContext(context.Background(), keys)
}

// GetMultiContext is GetMulti bounded by ctx. When ctx ends first, what has
// arrived is returned, and the rest is in the *MultiError.
func (c *Client) GetMultiContext(ctx context.Context, keys []string) (map[string]*Item, error) {
	b, err := c.group(keys)
	if err != nil {
		return nil, err
	}
	c.gather(ctx, b.shares)

	items := make(map[string]*Item, len(keys))
	var chunk []Item
	var failures []Failure
	for i, share := range b.shares {
		for j := range share.Replies {
			reply := &share.Replies[j]
			switch reply.Status {
			case link.OK:
				if len(chunk) == 0 {
					chunk = make([]Item, itemChunk)
				}
				item := &chunk[0]
				chunk = chunk[1:]
				*item = Item{Key: share.Keys[j], Value: reply.Value, Flags: reply.Flags, CasID: reply.CAS}
				items[item.Key] = item
			case link.Miss:
			default:
				failures = b.servers[i].addFailure(ctx, failures, reply.Err, share.Keys[j])
			}
		}
		if share.Err != nil {
			failures = b.servers[i].addFailure(ctx, failures, share.Err, share.Keys[len(share.Replies):]...)
		}
	}
	if failures != nil {
		return items, &MultiError{Failures: failures}
	}
	return items, nil
}

const itemChunk = 8

// gather performs shares, unless ctx has ended before.
func (c *Client) gather(ctx context.Context, shares []*link.Share) {
	if err := ctx.Err(); err != nil {
		for _, share := range shares {
			share.Err = err
		}
		return
	}
	c.activity.Enter()
	link.Gather(ctx, shares)
	c.activity.Leave()
}

// addFailure notes in failures that s failed keys. Those that it failed in the
// same words are one Failure.
func (s *server) addFailure(ctx context.Context, failures []Failure, cause error, keys ...string) []Failure {
	name, err := s.addr.String(), s.failure(ctx, link.Get, cause)
	for i := range failures {
		f := &failures[i]
		if f.Server == name && f.Err.Error() == err.Error() {
			f.Keys = append(f.Keys, keys...)
			return failures
		}
	}
	return append(failures, Failure{Server: name, Keys: slices.Clone(keys), Err: err})
}

// batch is a set of keys grouped by server. shares[i] belongs to servers[i].
type batch struct {
	servers []*server
	shares  []*link.Share
	bySlot  []int // 1 + place in servers of the server with that slot, 0 = not there
}

// group checks all keys, then finds the server of each.
func (c *Client) group(keys []string) (*batch, error) {
	for _, key := range keys {
		if !legalKey(key) {
			return nil, ErrMalformedKey
		}
	}
	b := new(batch)
	for _, key := range keys {
		s, err := c.pick(key)
		if err != nil {
			return nil, err
		}
		share := b.share(s)
		share.Keys = append(share.Keys, key)
	}
	return b, nil
}

// share returns the share of s, which is new when s has none yet.
func (b *batch) share(s *server) *link.Share {
	if s.slot >= len(b.bySlot) {
		b.bySlot = append(b.bySlot, make([]int, s.slot+1-len(b.bySlot))...)
	}
	if i := b.bySlot[s.slot]; i > 0 {
		return b.shares[i-1]
	}
	share := &link.Share{Link: s.link}
	b.servers, b.shares = append(b.servers, s), append(b.shares, share)
	b.bySlot[s.slot] = len(b.servers)
	return share
}
