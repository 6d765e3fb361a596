package memcache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file sees what a server misses, and what may still be on its way to it.
// journal.go remembers it, keeper.go makes up for it.

// owedError is the failure of a change whose key is owed.
type owedError struct{ error }

func (e *owedError) Unwrap() error { return e.error }

var (
	// errOlder: a write of the key that was sent before, on a connection that is
	// lost, may be carried out after what is sent now.
	errOlder = errors.New("an older write may still be carried out")

	// errOverflow keeps a server out.
	errOverflow = errors.New("it missed more changes than could be remembered")

	// errMoved ends a probe at an address that the server does not have any more.
	errMoved = errors.New("it has another address now")

	errNoJournal = errors.New("memcache: nothing is remembered: FailoverSettings.JournalKeys is negative")
)

// owing reports whether the key of an op that a server missed is owed.
func owing(op link.Op) bool { return op == link.Set || op == link.Delete }

// stores reports whether op leaves a value of its caller's, which an older write
// that is carried out late may undo.
func stores(op link.Op) bool {
	switch op {
	case link.Set, link.Add, link.Replace, link.Append, link.Prepend, link.CompareAndSwap, link.Increment, link.Decrement:
		return true
	}
	return false
}

// asChanges returns req if its key may be owed, or has to be left alone for a
// while: see afterOlder.
func asChanges(req *link.Request) []link.Request {
	if !owing(req.Op) && !stores(req.Op) {
		return nil
	}
	return []link.Request{*req}
}

// unsettled is what the link tells of writes whose end is not known.
func (s *server) unsettled() func(writes []link.Write, lost bool) (settled func()) {
	if s.health.owes == nil {
		return nil
	}
	return s.health.unsettled
}

func (h *health) unsettled(writes []link.Write, lost bool) (settled func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, now := h.verdict.state, h.client.clock()
	var held []*entry
	for _, w := range writes {
		if w.Stores {
			held = append(held, h.owes.hold(w.Key, now))
		}
		if lost && owing(w.Op) {
			h.oweLocked(w.Key, now)
		}
	}
	h.overflowLocked()
	h.changeLocked(from, h.reasonLocked(from))
	return func() { h.settle(held) }
}

// settle notes that writes have come to their end, and lets what waited for it
// go on.
func (h *health) settle(held []*entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range held {
		h.owes.release(e)
	}
	if h.settled != nil {
		close(h.settled)
		h.settled = nil
	}
	if h.verdict.state.serves() && h.owes.owed > 0 {
		h.retry = 0
		h.startLocked()
	}
	h.changeLocked(h.verdict.state, h.reason)
}

// oweLocked notes that key is owed.
func (h *health) oweLocked(key string, now int64) {
	over := h.owes.overflowed
	news := h.owes.owe(key, now)
	if h.owes.overflowed && !over {
		h.counts.Overflows++
	}
	if hooks := h.client.Hooks; news && hooks != nil && hooks.InvalidationOwed != nil {
		h.tellOwedLocked(key)
	}
}

func (h *health) tellOwedLocked(key string) { h.news = append(h.news, news{owed: key}) }

// overflowLocked takes a server down that missed more than can be remembered.
func (h *health) overflowLocked() {
	if h.owes.overflowed && h.verdict.state == ServerUp {
		h.verdict.down(h.client.clock())
		h.counts.Downs++
	}
}

// reasonLocked is the reason for a state that the journal has brought about.
func (h *health) reasonLocked(from ServerState) error {
	if h.verdict.state != from {
		return errOverflow
	}
	return h.reason
}

// owe notes that the server missed changes, and reports whether any key of
// theirs is owed.
func (h *health) owe(changes []link.Request) bool {
	if h.owes == nil || len(changes) == 0 {
		return false
	}
	h.mu.Lock()
	owed := h.oweAllLocked(changes)
	if owed && h.verdict.state.serves() {
		h.startLocked()
	}
	h.mu.Unlock()
	h.tell()
	return owed
}

func (h *health) oweAllLocked(changes []link.Request) (owed bool) {
	from, now := h.verdict.state, h.client.clock()
	for i := range changes {
		if owing(changes[i].Op) {
			h.oweLocked(changes[i].Key, now)
			owed = true
		}
	}
	h.overflowLocked()
	h.changeLocked(from, h.reasonLocked(from))
	return owed
}

// refuse fails changes for a server that is down, and owes them: none slips in
// between the last replay and the server's return. It returns nil if that has
// come in the meantime.
func (h *health) refuse(changes []link.Request) error {
	if h.owes == nil || len(changes) == 0 {
		return h.down.Load()
	}
	h.mu.Lock()
	if h.verdict.state.serves() {
		h.mu.Unlock()
		return nil
	}
	owed := h.oweAllLocked(changes)
	h.mu.Unlock()
	h.tell()
	if owed {
		return &owedError{h.down.Load()}
	}
	return h.down.Load()
}

// missed returns err, by which calls with the given changes failed, so that it
// says whether they are owed: if the server did not get them, or nobody knows.
func (h *health) missed(err error, changes []link.Request) error {
	if doubtful(err) && h.owe(changes) {
		return &owedError{err}
	}
	return err
}

// doubtful reports whether a call that failed with err may have to be made up
// for. One that its caller gave up goes its way: if its connection ends before
// it is answered, the link tells of it.
func doubtful(err error) bool {
	var lost *link.LostError
	var nonsense *link.ProtocolError
	switch {
	case errors.As(err, &nonsense):
		return true
	case !errors.As(err, &lost) || lost.Left:
		return false
	case errors.Is(err, link.ErrClosed):
		return lost.Sent
	}
	return true
}

// refusal returns why a delete that was answered has left its item where it was,
// nil if it has not. A key that the protocol cannot say is not there.
func refusal(reply *link.Reply) error {
	if reply.Status != link.Refused || errors.Is(reply.Err, link.ErrUnsupported) {
		return nil
	}
	return reply.Err
}

// afterOlder lets changes that store wait until older writes of their keys have
// come to their end, so that none of these undoes what is stored now. It fails
// if that takes too long. Deletes do not wait: see confirm.
func (h *health) afterOlder(ctx context.Context, changes []link.Request) error {
	var keys []string
	for i := range changes {
		if stores(changes[i].Op) {
			keys = append(keys, changes[i].Key)
		}
	}
	if len(keys) == 0 || len(h.await(ctx, keys)) == 0 {
		return nil
	}
	if h.owe(changes) {
		return &owedError{older(ctx)}
	}
	return older(ctx)
}

// older is why a change fails that has waited for older writes until ctx ended, or
// for Timeout, which says that time ran out.
func older(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), errOlder)
	}
	return fmt.Errorf("%w: %w", link.ErrNoProgress, errOlder)
}

// await waits until no older writes of keys are under way, for Timeout and until
// ctx ends at the most. It returns those of keys of which there still are.
func (h *health) await(ctx context.Context, keys []string) []string {
	var timer *time.Timer
	for {
		h.mu.Lock()
		keys = slices.DeleteFunc(keys, func(key string) bool { return !h.owes.isHeld(key) })
		if len(keys) > 0 && h.settled == nil {
			h.settled = make(chan struct{})
		}
		if len(keys) > 0 && timer == nil && h.verdict.state.serves() {
			h.retry = 0 // now somebody waits for it
			h.again = h.keeping
			h.startLocked()
		}
		settled := h.settled
		h.mu.Unlock()
		if len(keys) == 0 {
			return nil
		}
		if timer == nil {
			timer = time.NewTimer(h.client.timeout())
			defer timer.Stop()
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return keys
		case <-timer.C:
			return keys
		}
	}
}

// ticket says what requests can make up for that are sent after it was taken.
type ticket struct {
	by   *server         // who was asked: another address of the same name makes up for nothing
	seq  uint64          // debts up to this one
	held map[string]bool // but not those of these keys: older writes are under way
}

// ticket returns the ticket of changes that are about to be sent to s.
func (s *server) ticket(changes []link.Request) ticket {
	h := s.health
	if h.owes == nil {
		return ticket{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := ticket{by: s, seq: h.owes.seq}
	for i := range changes {
		if key := changes[i].Key; changes[i].Op == link.Delete && h.owes.isHeld(key) {
			if t.held == nil {
				t.held = map[string]bool{}
			}
			t.held[key] = true
		}
	}
	return t
}

// pay notes that keys have been deleted by requests with the given ticket. It
// returns those of which older writes were under way when that was taken, or are
// now, in memory of its own.
func (h *health) pay(keys []string, t ticket) (held []string) {
	if h.owes == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if t.held[key] || h.owes.isHeld(key) {
			held = append(held, key)
		} else if t.by == h.server {
			h.owes.paid(key, t.seq)
		}
	}
	h.changeLocked(h.verdict.state, h.reason)
	return held
}

// confirm makes sure that a delete that was answered is the last word: older
// writes that were under way when it was sent are waited for, and the delete is
// repeated.
func (s *server) confirm(ctx context.Context, req *link.Request, reply link.Reply, t ticket) (link.Reply, error) {
	h := s.health
	held := h.pay([]string{req.Key}, t)
	if len(held) == 0 {
		return reply, nil
	}
	var why error
	if len(h.await(ctx, held)) > 0 {
		why = older(ctx)
	} else {
		t = s.ticket(asChanges(req))
		again, err := s.link.Do(ctx, req)
		if err != nil {
			return reply, h.missed(err, asChanges(req))
		}
		if why = h.repeated(req.Key, &again, t); why == nil {
			if reply.Status == link.Miss {
				reply = again
			}
			return reply, nil
		}
	}
	h.owe(asChanges(req))
	return reply, &owedError{why}
}

// repeated returns why a delete of key that was repeated by a request with the
// given ticket is not the last word, nil if it is.
func (h *health) repeated(key string, reply *link.Reply, t ticket) error {
	if refused := refusal(reply); refused != nil {
		return refused
	}
	if len(h.pay([]string{key}, t)) > 0 {
		return errOlder
	}
	return nil
}

// confirm is server.confirm for the deletes of share i.
func (b *batch) confirm(i int, t ticket) {
	s, share := b.parts[i].server, &b.shares[i]
	at := map[string][]int{} // the deletes of a key
	var keys []string
	for j := range share.Replies {
		if status := share.Replies[j].Status; share.Reqs[j].Op == link.Delete && (status == link.OK || status == link.Miss) {
			key := share.Reqs[j].Key
			if at[key] == nil {
				keys = append(keys, key)
			}
			at[key] = append(at[key], j)
		}
	}
	if len(keys) == 0 {
		return
	}
	held := s.health.pay(keys, t)
	if len(held) == 0 {
		return
	}
	late := s.health.await(b.ctx, slices.Clone(held))
	again := link.Share{Link: s.link}
	for _, key := range held {
		if !slices.Contains(late, key) {
			again.Reqs = append(again.Reqs, link.Request{Op: link.Delete, Key: key})
		}
	}
	t = s.ticket(again.Reqs)
	link.Gather(b.ctx, []*link.Share{&again})
	err := s.health.missed(again.Err, again.Reqs[len(again.Replies):])
	for j := range again.Reqs {
		key := again.Reqs[j].Key
		if j >= len(again.Replies) {
			b.refuseKey(i, at[key], err)
			continue
		}
		if why := s.health.repeated(key, &again.Replies[j], t); why != nil {
			s.health.owe(again.Reqs[j : j+1])
			b.refuseKey(i, at[key], &owedError{why})
		}
	}
	for _, key := range late {
		s.health.owe([]link.Request{{Op: link.Delete, Key: key}})
		b.refuseKey(i, at[key], &owedError{older(b.ctx)})
	}
}

// refuseKey makes failures of replies of share i.
func (b *batch) refuseKey(i int, at []int, err error) {
	for _, j := range at {
		b.shares[i].Replies[j] = link.Reply{Status: link.Refused, Err: err}
	}
}

// emptied notes that everything on the server was deleted by a request with the
// given ticket.
func (h *health) emptied(t ticket) {
	if h.owes == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.by != h.server {
		return
	}
	h.owes.emptied(t.seq)
	if h.reason == errOverflow && !h.owes.overflowed {
		h.verdict.restoreDown(h.client.clock())
	}
	h.changeLocked(h.verdict.state, h.reason)
}

// Owe gives back keys that Hooks.InvalidationOwed told of, perhaps in an earlier
// process: the server with the given address, as net.Addr.String gives it, is
// taken down until it has deleted them, which begins at once. The keys are those
// that the hook gave: as they are sent. The errors are ErrNoServers if the
// selector has no such server, ErrMalformedKey, with which nothing is owed, and
// another if FailoverSettings wants nothing remembered.
func (c *Client) Owe(address string, keys ...string) error {
	changes := make([]link.Request, len(keys))
	for i, key := range keys {
		if len(key) == 0 || len(key) > MaxKeyLength || !c.Keys.AnyBytes && !link.IsText(key) {
			return ErrMalformedKey
		}
		changes[i] = link.Request{Op: link.Delete, Key: key}
	}
	none := false
	err := c.onServer(address, func(h *health) {
		if none = h.owes == nil; none || len(keys) == 0 {
			return
		}
		h.mu.Lock()
		from := h.verdict.state
		if from == ServerUp {
			h.verdict.down(c.clock())
			h.changeLocked(from, ErrInvalidationPending)
		}
		h.oweAllLocked(changes)
		h.startLocked()
		h.mu.Unlock()
		h.tell()
	})
	if none {
		return errNoJournal
	}
	return err
}
