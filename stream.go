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
// allocates nothing for a key. Meta command mg, or classic command gets: see Auto.
//
// The errors are those of GetMultiContext: a *MultiError names the servers that
// failed, and comes after all hits.
func (c *Client) GetMultiFunc(ctx context.Context, keys []string, f func(Hit) bool) error {
	b, err := c.newBatch(operations{form: link.Request{Op: link.Get}, keys: keys})
	if err != nil {
		return err
	}
	stream := streams.Get().(*link.Stream)
	var list []Failure
	stopped := false
	for !stopped && b.next() {
		list, stopped = b.stream(ctx, stream, list, f)
	}
	streams.Put(stream)
	if stopped {
		return nil
	}
	b.release()
	return multiError(list)
}

// stream is perform that gives the hits to f. It appends to list what failed, and
// reports whether f wants no more.
func (b *batch) stream(ctx context.Context, stream *link.Stream, list []Failure, f func(Hit) bool) (_ []Failure, stopped bool) {
	b.ctx = ctx
	if list, stopped = b.show(stream, list, f); stopped {
		return nil, true
	}
	b.goOn(stream.Taken)
	for i := range b.shares {
		if share := &b.shares[i]; share.Err != nil {
			s := b.parts[i].server
			err := s.failure(ctx, link.Get, share.Err)
			for j := stream.Taken(i); j < len(share.Keys); j++ {
				list = s.addFailure(list, err, link.Get, b.key(i, j))
			}
		}
	}
	return list, false
}

// show has the round answered, calls f for each hit, and appends to list the keys
// that were refused.
func (b *batch) show(stream *link.Stream, list []Failure, f func(Hit) bool) (_ []Failure, stopped bool) {
	watches := b.started()
	defer b.ended(watches)
	var watched []watchedShare
	if b.ctx.Err() != nil {
		b.refuse(context.Cause(b.ctx))
	} else {
		watched = b.admit()
	}
	stream.Run(b.ctx, b.shares, func(i, from int, replies []link.Reply) bool {
		s, ops := b.parts[i].server, b.parts[i].ops[from:]
		for j := range replies {
			r, key := &replies[j], b.ops.keys[ops[j]]
			if watches != nil {
				b.count(&watches[i], i, from+j, r)
			}
			switch r.Status {
			case link.OK:
				if stopped = !f(Hit{Key: key, Value: r.Value, Flags: r.Flags, CasID: r.CAS}); stopped {
					return false
				}
			case link.Refused:
				list = s.addFailure(list, s.outcome(b.ctx, link.Get, r), link.Get, key)
			}
		}
		return true
	})
	b.answered(watched)
	return list, stopped
}

var streams = sync.Pool{New: func() any { return new(link.Stream) }}

// GetMultiSeq yields the items of those of keys that are present, in no
// particular order, a key given twice once; then, for each server that failed,
// a nil Item with the error: a *MultiError that holds its one Failure, or what
// GetMulti would have returned without asking. The Items belong to the caller.
// The commands are those of GetMultiFunc.
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
