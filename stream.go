package memcache

import (
	"context"
	"iter"
	"sync"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file holds the forms of GetMulti that give items one after the other.
//
// A stream asks each server for a window of keys, at most 1,000 and about a
// mebibyte of values, waits for all of them, and asks again when the consumer has
// taken what came. Nothing is under way while the consumer runs: it may take its
// time, call the client, stop or panic, and disturbs nobody.

// Hit is an item as GetMultiFunc shows it.
type Hit struct {
	Key   string
	Value []byte // belongs to the client, and is valid until the function returns
	Flags uint32
	CasID uint64
}

// GetMultiFunc calls f for each of keys that is present, in no particular order,
// a key given twice once. When f returns false it ends, without an error. It
// allocates nothing for a key.
//
// The errors are those of GetMultiContext: a *MultiError names the servers that
// failed, and comes after all hits.
func (c *Client) GetMultiFunc(ctx context.Context, keys []string, f func(Hit) bool) error {
	b, err := c.getting(keys)
	if err != nil {
		return err
	}
	b.ctx = ctx
	watches := b.started(ctx)
	defer b.ended(watches)
	if err := ctx.Err(); err != nil {
		b.refuse(err)
		return b.failures(false)
	}
	watched := b.admit()
	stream := streams.Get().(*link.Stream)
	var list []Failure
	stopped := false
	stream.Run(ctx, b.shares, func(i, at int, r *link.Reply) bool {
		if watches != nil {
			b.count(&watches[i], i, at, r)
		}
		key := b.key(i, at)
		switch r.Status {
		case link.OK:
			stopped = !f(Hit{Key: key, Value: r.Value, Flags: r.Flags, CasID: r.CAS})
		case link.Refused:
			s := b.servers[i]
			list = s.addFailure(list, s.outcome(ctx, link.Get, r), link.Get, key)
		}
		return !stopped
	})
	b.answered(watched)
	if stopped {
		streams.Put(stream)
		return nil
	}
	for i := range b.shares {
		if share := &b.shares[i]; share.Err != nil {
			s := b.servers[i]
			err := s.failure(ctx, link.Get, share.Err)
			for at := stream.Taken(i); at < len(share.Keys); at++ {
				list = s.addFailure(list, err, link.Get, b.key(i, at))
			}
		}
	}
	streams.Put(stream)
	if list == nil && watches == nil { // who watches looks at b once more
		b.release()
	}
	return multiError(list)
}

var streams = sync.Pool{New: func() any { return new(link.Stream) }}

// GetMultiSeq yields the items of those of keys that are present, in no
// particular order, a key given twice once; then, for each server that failed,
// a nil Item with the error: a *MultiError that holds its one Failure, or what
// GetMulti would have returned without asking. The Items belong to the caller.
func (c *Client) GetMultiSeq(ctx context.Context, keys []string) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		stopped := false
		err := c.GetMultiFunc(ctx, keys, func(h Hit) bool {
			value := make([]byte, len(h.Value))
			copy(value, h.Value)
			stopped = !yield(&Item{Key: h.Key, Value: value, Flags: h.Flags, CasID: h.CasID}, nil)
			return !stopped
		})
		failed, ok := err.(*MultiError)
		switch {
		case stopped || err == nil:
		case !ok:
			yield(nil, err)
		default:
			for _, f := range failed.Failures {
				if !yield(nil, &MultiError{Failures: []Failure{f}}) {
					return
				}
			}
		}
	}
}
