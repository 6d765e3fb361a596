package memcache

import (
	"context"
	"slices"
	"sync"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file groups many operations by server, has them performed, and collects
// what failed.

// batch is a set of operations, which are performed in rounds of roundOperations,
// those of one server in one share. The memory that it takes is that of a round,
// and four bytes for each operation:
//
//	operation  0 1 2 3 4          caller's order
//	places     │ │ │ │ └─▶ part 1
//	           │ │ │ └───▶ nowhere: asked already, or a miss
//	           …
//	round      ├─────┤            parts[0].ops: 0 2   shares[0]: Keys or Reqs of these
//	                              parts[1].ops: 1     shares[1]: …
type batch struct {
	client *Client
	view   *view           // by which keys are placed; nil = by the selector
	ctx    context.Context // of perform
	mixed  bool            // the operations are not all the same
	ops    operations
	places []int32 // of the operations: the part of their server, or nowhere
	parts  []part  // one for each server, in the order in which they are met
	bySlot []int32 // 1 + the part of the server with that slot, 0 = none

	// The round: operations from to to-1.
	from, to int
	wire     []string      // their keys, as they are sent
	todo     []int32       // those that are to be sent
	again    []int32       // those of them that go to another server, as a round of their own
	shares   []link.Share  // what each part has of todo; may be empty
	asked    []*link.Share // those that are sent, for link.Gather

	// Memory of the round, used again in the next.
	own   []string       // keys, as the caller gave them, if they are in Items or requests
	order []int32        // of all parts: ops
	keys  []string       // of all shares: Keys
	made  []link.Request // in the caller's order
	reqs  []link.Request // of all shares: Reqs
}

// part is what a batch holds of one server.
type part struct {
	server *server
	size   int32   // of its share of the round
	end    int32   // where that ends in batch.order
	ops    []int32 // the operations of that, in order
	asked  bool    // the share goes to the server, which is not known to be down
	lost   error   // how an earlier share ended, and with it all that follow

	undone []string // keys of deletes that the server missed, for deleteElsewhere
}

// nowhere is the place of a key that the batch has already, and of a read that is
// a miss.
const nowhere = -1

// roundOperations is how many operations a round has. A round takes some 300
// bytes for each, and a thousand for each of many servers still are one round.
const roundOperations = 1 << 16

// newBatch returns a batch of ops, all of which have a legal key and a server
// by the list as it is now. Of gets each key is asked once. A key that is not legal
// is what is told, in whatever round, before an error of the selector.
func (c *Client) newBatch(ops operations) (*batch, error) {
	b, ok := batches.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	view, unplaced := c.current()
	b.client, b.view, b.ops = c, view, ops
	n, gets := ops.len(), ops.gets()
	b.places = slices.Grow(b.places[:0], n)[:n]
	var given seen
	if gets {
		given = newSeen(n)
		defer given.release()
	}
	for b.to < n {
		if err := b.advance(); err != nil {
			return nil, err
		}
		places := b.places[b.from:b.to]
		clear(places)
		if gets {
			given.mark(places, ops.keys, b.from)
		}
		for i := 0; i < len(places) && unplaced == nil; i++ {
			if places[i] == nowhere {
				continue
			}
			var s *server
			if s, unplaced = c.pickFrom(view, c.Keys.placed(b.wire[i])); unplaced == nil {
				places[i] = b.partOf(s)
			}
		}
	}
	if unplaced != nil && n > 0 {
		return nil, unplaced
	}
	b.from, b.to = 0, 0
	return b, nil
}

var batches sync.Pool

// release lets the memory of b be used again, if nothing is left that might
// still write to it. No part of b may be in use any more.
func (b *batch) release() {
	if b.ops.len() > keepTable {
		return
	}
	for i := range b.shares {
		if !b.shares[i].Clean() {
			return
		}
	}
	b.client, b.view, b.ctx, b.ops, b.mixed = nil, nil, nil, operations{}, false
	b.parts, b.from, b.to, b.wire = b.parts[:0], 0, 0, nil
	clear(b.bySlot)
	clear(b.made) // they hold values of the caller
	clear(b.reqs)
	batches.Put(b)
}

// advance moves on to the operations of the next round. It returns an error if
// one of their keys is not legal.
func (b *batch) advance() (err error) {
	b.from, b.to = b.to, min(b.to+roundOperations, len(b.places))
	n := b.to - b.from
	if n == len(b.places) && b.wire != nil {
		return nil // it is the only round, and has been placed just now
	}
	var keys []string
	if b.ops.keys != nil {
		keys = b.ops.keys[b.from:b.to]
	} else {
		b.own = slices.Grow(b.own[:0], n)[:n]
		for i := range b.own {
			b.own[i] = b.ops.key(b.from + i)
		}
		keys = b.own
	}
	b.wire, err = b.client.Keys.wireAll(keys)
	return err
}

// partOf returns the number of the part of s, which is new if it has none.
func (b *batch) partOf(s *server) int32 {
	if s.slot >= len(b.bySlot) {
		b.bySlot = append(b.bySlot, make([]int32, s.slot+1-len(b.bySlot))...)
	}
	if b.bySlot[s.slot] == 0 {
		b.parts = append(b.parts, part{server: s})
		b.bySlot[s.slot] = int32(len(b.parts))
	}
	return b.bySlot[s.slot] - 1
}

// next lays out the next round, to be performed, and reports whether there is
// one.
func (b *batch) next() bool {
	fresh := len(b.again) == 0
	if fresh && b.to == len(b.places) {
		return false
	}
	b.renounce()
	if fresh {
		b.advance() // without an error, as when they were placed
		todo := b.todo[:0]
		for i, place := range b.places[b.from:b.to] {
			if place != nowhere {
				todo = append(todo, int32(b.from+i))
			}
		}
		b.todo = todo
	} else {
		b.todo, b.again = b.again, b.todo[:0]
	}
	if !b.ops.gets() {
		b.make()
	}
	switch {
	case !fresh:
		for _, i := range b.todo {
			b.bound(i)
		}
	case b.client.Failover.Mode != FailFast:
		b.todo = slices.DeleteFunc(b.todo, func(i int32) bool {
			place := &b.places[i]
			if b.parts[*place].server.health.refuses() {
				home := *place
				if *place = b.instead(i); *place != home {
					b.bound(i)
				}
			}
			return *place == nowhere
		})
	}
	b.share()
	return true
}

// make makes the requests of the round.
func (b *batch) make() {
	b.made = slices.Grow(b.made[:0], len(b.wire))[:len(b.wire)]
	for _, i := range b.todo {
		req := &b.made[int(i)-b.from]
		*req = b.ops.request(int(i))
		req.Key = b.wire[int(i)-b.from]
	}
}

// request returns operation i of the round, as it is sent.
func (b *batch) request(i int32) *link.Request {
	if b.ops.gets() {
		return &link.Request{Op: link.Get, Key: b.wire[int(i)-b.from]}
	}
	return &b.made[int(i)-b.from]
}

// bound bounds how long lives what operation i stores, in the place of its server.
func (b *batch) bound(i int32) {
	if !b.ops.gets() {
		b.client.Failover.bound(&b.made[int(i)-b.from])
	}
}

// instead returns the part that takes operation i, in the place of its server,
// which is down: perhaps none better. A read that must be a miss is nowhere.
func (b *batch) instead(i int32) int32 {
	req := b.request(i)
	s, blind := b.client.instead(b.view, b.parts[b.places[i]].server, b.client.Keys.placed(req.Key), req)
	if blind && b.client.Failover.policyOf(req.Op) == reads {
		return nowhere
	}
	return b.partOf(s)
}

// share makes the shares of the round: it sorts todo by parts, and has the keys or
// requests follow.
func (b *batch) share() {
	parts, places, n := b.parts, b.places, len(b.todo)
	for i := range parts {
		parts[i].size = 0
	}
	for _, i := range b.todo {
		parts[places[i]].size++
	}
	end := int32(0)
	for i := range parts {
		parts[i].end, end = end, end+parts[i].size
	}
	b.order = slices.Grow(b.order[:0], n)[:n]
	order := b.order
	for _, i := range b.todo {
		p := &parts[places[i]]
		order[p.end] = i
		p.end++
	}
	var keys []string
	var reqs []link.Request
	switch {
	case b.ops.gets():
		b.keys = slices.Grow(b.keys[:0], n)[:n]
		keys = b.keys
		for at, i := range order {
			keys[at] = b.wire[int(i)-b.from]
		}
	case len(parts) > 1 || n < len(b.made):
		b.reqs = slices.Grow(b.reqs[:0], n)[:n]
		reqs = b.reqs
		for at, i := range order {
			reqs[at] = b.made[int(i)-b.from]
		}
	default: // they are there, in order
		reqs = b.made
	}
	b.shares = slices.Grow(b.shares[:0], len(parts))[:len(parts)]
	for i := range parts {
		p, share := &parts[i], &b.shares[i]
		share.Reuse(p.server.link)
		from, to := p.end-p.size, p.end
		p.ops = order[from:to:to]
		if b.ops.gets() {
			share.Keys = keys[from:to:to]
		} else {
			share.Reqs = reqs[from:to:to]
		}
	}
}

// renounce leaves memory of the last round to those who may still write to it or
// read it.
func (b *batch) renounce() {
	for i := range b.shares {
		if !b.shares[i].Clean() {
			b.shares[i] = link.Share{}
			b.keys, b.made, b.reqs = nil, nil, nil
		}
	}
}

// perform has the round answered, unless ctx has ended before. What a server that
// is found to be down leaves becomes a round of its own, for others.
func (b *batch) perform(ctx context.Context) {
	b.ctx = ctx
	watches := b.started()
	if ctx.Err() != nil {
		b.refuse(context.Cause(ctx))
	} else {
		watched := b.admit()
		b.client.activity.Enter()
		link.Gather(ctx, b.asked)
		b.client.activity.Leave()
		b.answered(watched)
	}
	for i := range watches {
		for j := range b.shares[i].Replies {
			b.count(&watches[i], i, j, &b.shares[i].Replies[j])
		}
	}
	b.ended(watches)
	b.goOn(func(i int) int { return len(b.shares[i].Replies) })
}

// watchedShare is a share whose server was not simply up.
type watchedShare struct {
	share  int
	ticket ticket
}

// admit collects in b.asked the shares whose servers are not down, and fails the
// others. It returns those that health wants to know of.
func (b *batch) admit() (watched []watchedShare) {
	b.asked = b.asked[:0]
	for i := range b.parts {
		p, share := &b.parts[i], &b.shares[i]
		p.asked = false
		if p.size == 0 {
			continue
		}
		if share.Err = p.lost; share.Err != nil {
			continue
		}
		if h := p.server.health; h.word.Load() != 0 {
			if share.Err = h.admit(b.ctx, b.operation(i, 0), share.Reqs); share.Err != nil {
				continue
			}
			watched = append(watched, watchedShare{i, p.server.ticket(share.Reqs)})
		}
		p.asked = true
		b.asked = append(b.asked, share)
	}
	return watched
}

// answered lets health know of what was answered, and of changes that were not.
func (b *batch) answered(watched []watchedShare) {
	for i := range b.parts {
		p, share, t := &b.parts[i], &b.shares[i], ticket{}
		s := p.server
		if len(watched) > 0 && watched[0].share == i {
			if share.Err == nil || len(share.Replies) > 0 {
				s.health.answered()
			}
			t, watched = watched[0].ticket, watched[1:]
		}
		if p.asked {
			p.lost = share.Err
		}
		if len(share.Reqs) == 0 {
			continue
		}
		if share.Err != nil {
			missed := share.Reqs[len(share.Replies):]
			share.Err = s.health.missed(share.Err, missed)
			b.noteUndone(p, missed)
		}
		if s.health.word.Load()&wordOwing != 0 || len(t.held) > 0 {
			b.confirm(i, t)
		}
		if len(share.Replies) == 1 && share.Reqs[0].Op == link.FlushAll && share.Replies[0].Status == link.OK {
			s.health.emptied(t)
		}
	}
}

// refuse fails all shares with err, before anything is sent.
func (b *batch) refuse(err error) {
	for i := range b.shares {
		b.shares[i].Err = err
	}
}

// failed appends to list the operations of the round that have no answer or were
// refused and, with outcomes, those that did not succeed.
func (b *batch) failed(list []Failure, outcomes bool) []Failure {
	for i := range b.shares {
		s, share := b.parts[i].server, &b.shares[i]
		for j := range share.Replies {
			reply := &share.Replies[j]
			if reply.Status == link.OK || reply.Status != link.Refused && !outcomes {
				continue
			}
			op := b.operation(i, j)
			list = s.addFailure(list, s.outcome(b.ctx, op, reply), op, b.key(i, j))
		}
		if share.Err == nil {
			continue
		}
		var failed link.Op
		var err error
		why := b.why(i)
		for j := len(share.Replies); j < len(share.Keys)+len(share.Reqs); j++ {
			op := b.operation(i, j)
			if op != failed || j == share.Sent {
				failed, err = op, s.failure(b.ctx, op, why(j))
			}
			list = s.addFailure(list, err, op, b.key(i, j))
		}
	}
	return list
}

// why returns a function that says why operation j of share i has no reply, and
// whether it was sent; nil if all have one.
func (b *batch) why(i int) func(j int) error {
	sent, err := b.shares[i].Sent, b.shares[i].Err
	if err == nil {
		return nil
	}
	unsent := &unsentError{err}
	return func(j int) error {
		if j < sent {
			return err
		}
		return unsent
	}
}

// key returns the key of operation j of share i, as the caller gave it.
func (b *batch) key(i, j int) string { return b.ops.key(int(b.parts[i].ops[j])) }

// operation returns operation j of share i.
func (b *batch) operation(i, j int) link.Op {
	share := &b.shares[i]
	if share.Keys != nil {
		return link.Get
	}
	return share.Reqs[j].Op
}

// addFailure notes in list that s failed op for key. The keys that it failed in
// the same way are one Failure.
func (s *server) addFailure(list []Failure, err error, op link.Op, key string) []Failure {
	name := s.addr.String()
	at := slices.IndexFunc(list, func(f Failure) bool { return f.Server == name && f.Err == err })
	if at < 0 {
		at = slices.IndexFunc(list, func(f Failure) bool { return f.Server == name && f.Err.Error() == err.Error() })
	}
	if at < 0 {
		at = len(list)
		list = append(list, Failure{Server: name, Err: err})
	}
	list[at].Err = err // by which the keys that follow are known
	if keyed(op) {
		list[at].Keys = append(list[at].Keys, key)
	}
	return list
}
