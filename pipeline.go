package memcache

import (
	"context"
	"errors"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file sends different operations in one flight.

// Pipeline collects operations, which Do performs all at once: each server is
// sent its own before any reply is read. Each operation returns a result that
// can be asked once Do has returned.
//
//	p := client.Pipeline()
//	greeting := p.Get("greeting")
//	visits := p.Increment("visits", 1)
//	p.Set(&memcache.Item{Key: "seen", Value: now})
//	err := p.Do(ctx)
//	item, err := greeting.Item()
//	n, err := visits.Number()
//
// Operations on one server are performed in the order in which they were added,
// those on different servers in any. They are no transaction: others may come
// between them, and one may fail and the next succeed.
//
// A Pipeline is for one goroutine at a time. It may be used again after Do. An
// Item that is to be stored must not be changed before Do has returned. The
// results take no memory of their own.
type Pipeline struct {
	client *Client
	next   *flight // what has been added since the last Do; nil without any
}

// Pipeline returns an empty Pipeline.
func (c *Client) Pipeline() *Pipeline { return &Pipeline{client: c} }

// flight is what one Do performs.
type flight struct {
	reqs []link.Request
	err  error // why there are no replies

	// Once performed.
	ctx     context.Context
	replies []link.Reply // to reqs; Refused where there is none
	places  []int32      // of reqs: the number of their server, or nowhere
	servers []*server
}

// ErrNotDone is what a result of a Pipeline says before Do.
var ErrNotDone = errors.New("memcache: pipeline has not been done")

// Do performs the operations added since the last Do. Its error is nil if all
// of them have been answered, whatever the answers: ErrCacheMiss, ErrNotStored
// and ErrCASConflict are for the results to tell. A *MultiError names the
// operations that were refused or got no answer by their keys.
//
// An operation that the protocol of its server cannot say fails by itself, with
// ErrNotSupported, and those behind it go out when those before it are answered.
//
// If one of the operations is a mistake, nothing is sent and the error, such as
// ErrMalformedKey, is that of Do and of each result.
func (p *Pipeline) Do(ctx context.Context) error {
	f := p.next
	p.next = nil
	if f == nil {
		return nil
	}
	if f.err != ErrNotDone {
		return f.err
	}
	b, err := p.client.newBatch(operations{reqs: f.reqs})
	if f.err = err; err != nil {
		return err
	}
	b.mixed = true
	f.ctx, f.replies = ctx, make([]link.Reply, len(f.reqs))
	var list []Failure
	for b.next() {
		b.perform(ctx)
		for i := range b.shares {
			share, why := &b.shares[i], b.why(i)
			for j, at := range b.parts[i].ops {
				if j < len(share.Replies) {
					f.replies[at] = share.Replies[j]
				} else {
					f.replies[at] = link.Reply{Status: link.Refused, Err: why(j)}
				}
			}
		}
		list = b.failed(list, false)
	}
	for i, place := range b.places {
		if place == nowhere {
			f.replies[i] = link.Reply{Status: link.Miss}
		}
	}
	f.places, b.places = b.places, nil
	for i := range b.parts {
		f.servers = append(f.servers, b.parts[i].server)
	}
	b.release()
	return multiError(list)
}

// Len returns how many operations have been added since the last Do.
func (p *Pipeline) Len() int {
	if p.next == nil {
		return 0
	}
	return len(p.next.reqs)
}

// place is where the result of an operation will be.
type place struct {
	flight *flight
	at     int
}

// reply returns the reply to the operation, if it succeeded.
func (r place) reply() (*link.Reply, error) {
	f := r.flight
	if f.err != nil {
		return nil, f.err
	}
	reply := &f.replies[r.at]
	if f.places[r.at] == nowhere {
		return reply, ErrCacheMiss
	}
	return reply, f.servers[f.places[r.at]].outcome(f.ctx, f.reqs[r.at].Op, reply)
}

func (p *Pipeline) add(req link.Request) place {
	if p.next == nil {
		p.next = &flight{err: ErrNotDone}
	}
	f := p.next
	f.reqs = append(f.reqs, req)
	return place{flight: f, at: len(f.reqs) - 1}
}

func (p *Pipeline) addStore(op link.Op, item *Item, create bool) Result {
	err := storable(item)
	if err != nil {
		item = new(Item)
	}
	req := storing(op, item)
	req.Create = create
	r := p.add(req)
	if err != nil && p.next.err == ErrNotDone {
		p.next.err = err
	}
	return Result{r}
}

// Result is the outcome of an operation of a Pipeline.
type Result struct{ place place }

// Err returns what the operation of the same name would have returned.
func (r Result) Err() error {
	_, err := r.place.reply()
	return err
}

// ItemResult is the outcome of an operation of a Pipeline that reads an item.
type ItemResult struct {
	place place
	key   string
}

// Item returns what the operation of the same name would have returned. Each
// call allocates an Item; they share one Value.
func (r ItemResult) Item() (*Item, error) {
	reply, err := r.place.reply()
	if err != nil {
		return nil, err
	}
	return itemOf(r.key, reply), nil
}

// NumberResult is the outcome of an operation of a Pipeline on a counter.
type NumberResult struct{ place place }

// Number returns what the operation of the same name would have returned.
func (r NumberResult) Number() (newValue uint64, err error) {
	reply, err := r.place.reply()
	if err != nil {
		return 0, err
	}
	return reply.Number, nil
}

// Get adds a Client.Get.
func (p *Pipeline) Get(key string) ItemResult {
	return ItemResult{p.add(link.Request{Op: link.Get, Key: key}), key}
}

// GetAndTouch adds a Client.GetAndTouch.
func (p *Pipeline) GetAndTouch(key string, expiration int32) ItemResult {
	return ItemResult{p.add(link.Request{Op: link.GetAndTouch, Key: key, Expiration: expiration}), key}
}

// Set adds a Client.Set.
func (p *Pipeline) Set(item *Item) Result { return p.addStore(link.Set, item, false) }

// Add adds a Client.Add.
func (p *Pipeline) Add(item *Item) Result { return p.addStore(link.Add, item, false) }

// Replace adds a Client.Replace.
func (p *Pipeline) Replace(item *Item) Result { return p.addStore(link.Replace, item, false) }

// Append adds a Client.Append.
func (p *Pipeline) Append(item *Item) Result { return p.addStore(link.Append, item, false) }

// Prepend adds a Client.Prepend.
func (p *Pipeline) Prepend(item *Item) Result { return p.addStore(link.Prepend, item, false) }

// AppendOrCreate adds a Client.AppendOrCreate.
func (p *Pipeline) AppendOrCreate(item *Item) Result { return p.addStore(link.Append, item, true) }

// PrependOrCreate adds a Client.PrependOrCreate.
func (p *Pipeline) PrependOrCreate(item *Item) Result { return p.addStore(link.Prepend, item, true) }

// CompareAndSwap adds a Client.CompareAndSwap.
func (p *Pipeline) CompareAndSwap(item *Item) Result {
	return p.addStore(link.CompareAndSwap, item, false)
}

// Delete adds a Client.Delete.
func (p *Pipeline) Delete(key string) Result {
	return Result{p.add(link.Request{Op: link.Delete, Key: key})}
}

// Touch adds a Client.Touch.
func (p *Pipeline) Touch(key string, seconds int32) Result {
	return Result{p.add(link.Request{Op: link.Touch, Key: key, Expiration: seconds})}
}

// Increment adds a Client.Increment.
func (p *Pipeline) Increment(key string, delta uint64) NumberResult {
	return NumberResult{p.add(link.Request{Op: link.Increment, Key: key, Delta: delta})}
}

// Decrement adds a Client.Decrement.
func (p *Pipeline) Decrement(key string, delta uint64) NumberResult {
	return NumberResult{p.add(link.Request{Op: link.Decrement, Key: key, Delta: delta})}
}

// IncrementOrCreate adds a Client.IncrementOrCreate.
func (p *Pipeline) IncrementOrCreate(key string, delta, initial uint64, expiration int32) NumberResult {
	return p.addCountOrCreate(link.Increment, key, delta, initial, expiration)
}

// DecrementOrCreate adds a Client.DecrementOrCreate.
func (p *Pipeline) DecrementOrCreate(key string, delta, initial uint64, expiration int32) NumberResult {
	return p.addCountOrCreate(link.Decrement, key, delta, initial, expiration)
}

func (p *Pipeline) addCountOrCreate(op link.Op, key string, delta, initial uint64, expiration int32) NumberResult {
	return NumberResult{p.add(link.Request{
		Op: op, Key: key, Delta: delta, Create: true, Initial: initial, Expiration: expiration,
	})}
}
