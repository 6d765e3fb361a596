package memcache

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file groups many operations by server, has them performed, and collects
// what failed.

// batch is a set of operations, those of one server in one share:
//
//	operation  0 1 2 3 4          caller's order
//	spots      │ │ │ │ └─▶ share 1, second
//	           │ │ │ └───▶ nowhere: asked already
//	           …
//	shares     servers[0]: Keys or Reqs   servers[1]: …
type batch struct {
	client  *Client
	view    *view           // by which keys are placed; nil = by the selector
	ctx     context.Context // of perform
	mixed   bool            // the operations are not all the same
	servers []*server
	sizes   []int32 // of the shares
	spots   []spot  // of the operations
	shares  []link.Share
	keys    []string      // of all shares, as they are sent
	own     [][]string    // of each share, as the caller gave them; nil if they are sent so
	asked   []*link.Share // the shares once more, for link.Gather
	bySlot  []int32       // 1 + the share of the server with that slot, 0 = none
}

// spot is the place of an operation in a batch.
type spot struct{ share, at int32 }

// nowhere is the share of a key that the batch has already.
const nowhere = -1

// getting returns a batch that gets keys, each of them once.
func (c *Client) getting(keys []string) (*batch, error) {
	wire, err := c.Keys.wireAll(keys)
	if err != nil {
		return nil, err
	}
	b, err := c.newBatch(len(keys))
	if err != nil {
		return nil, err
	}
	seen := newSeen(len(keys))
	defer seen.release()
	distinct := len(keys)
	for i := range keys {
		if seen.before(keys, i) {
			b.spots[i].share = nowhere
			distinct--
		} else if err := b.place(i, wire[i], nil); err != nil {
			return nil, err
		} else if b.spots[i].share == nowhere {
			distinct--
		}
	}
	b.share()
	b.keys = slices.Grow(b.keys[:0], distinct)[:distinct]
	all := b.keys
	for i, n := range b.sizes {
		b.shares[i].Keys, all = all[:n:n], all[n:]
	}
	for i, key := range wire {
		if s := b.spots[i]; s.share != nowhere {
			b.shares[s.share].Keys[s.at] = key
		}
	}
	b.keep(keys)
	return b, nil
}

// doing returns a batch of requests, which belong to it from now on.
func (c *Client) doing(reqs []link.Request) (*batch, error) {
	var keys []string
	if c.Keys == (KeySettings{}) {
		for i := range reqs {
			if !legalKey(reqs[i].Key) {
				return nil, ErrMalformedKey
			}
		}
	} else {
		keys = make([]string, len(reqs))
		for i := range reqs {
			keys[i] = reqs[i].Key
		}
		wire, err := c.Keys.wireAll(keys)
		if err != nil {
			return nil, err
		}
		for i := range reqs {
			reqs[i].Key = wire[i]
		}
	}
	b, err := c.newBatch(len(reqs))
	if err != nil {
		return nil, err
	}
	for i := range reqs {
		if err := b.place(i, reqs[i].Key, &reqs[i]); err != nil {
			return nil, err
		}
	}
	b.share()
	b.keep(keys)
	if len(b.shares) == 1 {
		b.shares[0].Reqs = reqs
		return b, nil
	}
	all := make([]link.Request, len(reqs))
	for i, n := range b.sizes {
		b.shares[i].Reqs, all = all[:n:n], all[n:]
	}
	for i := range reqs {
		b.shares[b.spots[i].share].Reqs[b.spots[i].at] = reqs[i]
	}
	return b, nil
}

// keep remembers the keys of the caller, if others are sent in their place.
func (b *batch) keep(keys []string) {
	if b.client.Keys == (KeySettings{}) {
		return
	}
	b.own = make([][]string, len(b.shares))
	for i, n := range b.sizes {
		b.own[i] = make([]string, n)
	}
	for i, s := range b.spots {
		if s.share != nowhere {
			b.own[s.share][s.at] = keys[i]
		}
	}
}

// key returns the key of operation j of share i, as the caller gave it.
func (b *batch) key(i, j int) string {
	switch share := &b.shares[i]; {
	case b.own != nil:
		return b.own[i][j]
	case share.Keys != nil:
		return share.Keys[j]
	default:
		return share.Reqs[j].Key
	}
}

// newBatch returns a batch for n operations, all of which will be placed by the
// list of servers as it is now.
func (c *Client) newBatch(n int) (*batch, error) {
	v, err := c.current()
	if err != nil && n > 0 {
		return nil, err
	}
	b, ok := batches.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	b.client, b.view = c, v
	b.spots = slices.Grow(b.spots[:0], n)[:n]
	return b, nil
}

var batches sync.Pool

// release lets the memory of b be used again, if nothing is left that might
// still write to it. No part of b may be in use any more.
func (b *batch) release() {
	if len(b.spots) > keepTable {
		return
	}
	for i := range b.shares {
		if !b.shares[i].Clean() {
			return
		}
	}
	b.client, b.view, b.ctx, b.own, b.mixed = nil, nil, nil, nil, false
	b.servers, b.sizes = b.servers[:0], b.sizes[:0]
	clear(b.bySlot)
	clear(b.spots)
	batches.Put(b)
}

// place finds the server of operation i, which is req, or a get without one. A
// get that must be a miss is nowhere.
func (b *batch) place(i int, wire string, req *link.Request) error {
	c, key := b.client, b.client.Keys.placed(wire)
	s, err := c.pickFrom(b.view, key)
	if err != nil {
		return err
	}
	if c.Failover.Mode != FailFast && s.health.refuses() {
		get := req == nil
		if get {
			req = &link.Request{Op: link.Get, Key: wire}
		}
		blind := false
		if s, blind = c.instead(b.view, s, key, req); blind && get {
			b.spots[i].share = nowhere
			return nil
		}
	}
	n := b.shareOf(s)
	b.spots[i] = spot{share: n, at: b.sizes[n]}
	b.sizes[n]++
	return nil
}

// shareOf returns the number of the share of s, which is new if it has none.
func (b *batch) shareOf(s *server) int32 {
	if s.slot >= len(b.bySlot) {
		b.bySlot = append(b.bySlot, make([]int32, s.slot+1-len(b.bySlot))...)
	}
	if b.bySlot[s.slot] == 0 {
		b.servers, b.sizes = append(b.servers, s), append(b.sizes, 0)
		b.bySlot[s.slot] = int32(len(b.servers))
	}
	return b.bySlot[s.slot] - 1
}

// share makes the shares, still empty.
func (b *batch) share() {
	b.shares = slices.Grow(b.shares[:0], len(b.servers))[:len(b.servers)]
	for i, s := range b.servers {
		b.shares[i].Reuse(s.link)
	}
}

// perform has the batch answered, unless ctx has ended before.
func (b *batch) perform(ctx context.Context) {
	b.ctx = ctx
	watches := b.started(ctx)
	if err := ctx.Err(); err != nil {
		b.refuse(err)
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
	for i, s := range b.servers {
		if s.health.word.Load() != 0 {
			share := &b.shares[i]
			if share.Err = s.health.admit(b.ctx, b.operation(i, 0), share.Reqs); share.Err != nil {
				continue
			}
			watched = append(watched, watchedShare{i, s.health.ticket(share.Reqs)})
		}
		b.asked = append(b.asked, &b.shares[i])
	}
	return watched
}

// answered lets health know of what was answered, and of changes that were not.
func (b *batch) answered(watched []watchedShare) {
	for i, s := range b.servers {
		share, t := &b.shares[i], ticket{}
		if len(watched) > 0 && watched[0].share == i {
			if share.Err == nil || len(share.Replies) > 0 {
				s.health.answered()
			}
			t, watched = watched[0].ticket, watched[1:]
		}
		if len(share.Reqs) == 0 {
			continue
		}
		if share.Err != nil {
			missed := share.Reqs[len(share.Replies):]
			share.Err = s.health.missed(share.Err, missed)
			b.deleteElsewhere(s, missed)
		}
		if s.health.word.Load()&wordOwing != 0 || len(t.held) > 0 {
			b.confirm(i, t)
		}
		if len(share.Replies) == 1 && share.Reqs[0].Op == link.FlushAll && share.Replies[0].Status == link.OK {
			s.health.emptied(t.seq)
		}
	}
}

// deleteElsewhere deletes on other servers what s has missed, if they may have
// taken it over.
func (b *batch) deleteElsewhere(s *server, missed []link.Request) {
	if b.client.Failover.Mode == FailFast || !s.health.refuses() || s.client != b.client {
		return
	}
	var keys []string
	for i := range missed {
		if missed[i].Op == link.Delete {
			keys = append(keys, missed[i].Key)
		}
	}
	b.client.deleteElsewhere(b.ctx, b.view, s, keys)
}

// refuse fails all shares with err, before anything is sent.
func (b *batch) refuse(err error) {
	for i := range b.shares {
		b.shares[i].Err = err
	}
}

// failures returns what failed as a *MultiError, nil without any.
func (b *batch) failures(outcomes bool) error { return multiError(b.failed(outcomes)) }

// failed returns the operations that have no answer or were refused and, with
// outcomes, those that did not succeed.
func (b *batch) failed(outcomes bool) []Failure {
	var list []Failure
	for i := range b.shares {
		s, share := b.servers[i], &b.shares[i]
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
		for j := len(share.Replies); j < len(share.Keys)+len(share.Reqs); j++ {
			op := b.operation(i, j)
			if op != failed {
				failed, err = op, s.failure(b.ctx, op, share.Err)
			}
			list = s.addFailure(list, err, op, b.key(i, j))
		}
	}
	return list
}

// result returns the reply to operation i of a batch of requests that has been
// performed, or why it has none or did not succeed.
func (b *batch) result(i int) (*link.Reply, error) {
	n, at := b.spots[i].share, int(b.spots[i].at)
	s, share := b.servers[n], &b.shares[n]
	op := share.Reqs[at].Op
	if at >= len(share.Replies) {
		return nil, s.failure(b.ctx, op, share.Err)
	}
	reply := &share.Replies[at]
	return reply, s.outcome(b.ctx, op, reply)
}

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
	same := func(f Failure) bool {
		return f.Server == name && (f.Err == err || f.Err.Error() == err.Error())
	}
	at := slices.IndexFunc(list, same)
	if at < 0 {
		at = len(list)
		list = append(list, Failure{Server: name, Err: err})
	}
	if keyed(op) {
		list[at].Keys = append(list[at].Keys, key)
	}
	return list
}

// seen tells of keys whether they came before, by a table of hashes.
type seen struct {
	seed  maphash.Seed
	table *[]int32 // 1 + the place of a key, where its hash points or behind; 0 = none
}

var seenTables = sync.Pool{New: func() any { return new([]int32) }}

// newSeen returns a seen for n keys, to be released.
func newSeen(n int) seen {
	size := 2 // a power of two, and never more than half full
	for size < 2*n {
		size *= 2
	}
	table := seenTables.Get().(*[]int32)
	if cap(*table) < size {
		*table = make([]int32, size)
	}
	*table = (*table)[:size]
	clear(*table)
	return seen{seed: maphash.MakeSeed(), table: table}
}

func (s seen) release() {
	if cap(*s.table) <= keepTable {
		seenTables.Put(s.table)
	}
}

const keepTable = 1 << 14 // entries; one for more keys is not kept

// before reports whether keys[i] is among the keys before it, all of which have
// been asked for.
func (s seen) before(keys []string, i int) bool {
	table := *s.table
	for at := maphash.String(s.seed, keys[i]); ; at++ {
		slot := &table[at&uint64(len(table)-1)]
		if *slot == 0 {
			*slot = int32(i) + 1
			return false
		}
		if keys[*slot-1] == keys[i] {
			return true
		}
	}
}
