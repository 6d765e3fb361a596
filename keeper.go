package memcache

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file is the keeper: the goroutine that finds out whether a server that is
// down is back, and makes up for what a server missed. A server has one at the
// most, started by a call or by the end of a connection, and it is soon over.

// probesNeeded is how many connections in a row must answer.
const probesNeeded = 2

// probeKey is what a probe asks for, in the client's namespace. It need not be
// there.
const probeKey = "vaquero:probe"

// maxTries bounds how long the pauses get in which a server that gets its calls
// stays owed something.
const maxTries = 3

// called has a call start the keeper, if it is due.
func (h *health) called() {
	if h.client.clock() >= h.due.Load() {
		h.wake()
	}
}

// wake starts the keeper, unless it runs or is not due.
func (h *health) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.startLocked()
}

func (h *health) startLocked() {
	from, now := h.verdict.state, h.client.clock()
	if h.keeping {
		return
	}
	switch {
	case h.verdict.probe(now):
	case from.serves() && h.owes != nil && !h.owes.empty() && now >= h.retry:
	default:
		return
	}
	if h.keeping = h.client.background.start(h.keep); !h.keeping {
		h.verdict.postponed(now)
	} else if from == ServerDown {
		h.counts.Probes++
	}
	h.changeLocked(from, h.reason)
}

// keep is the keeper, from start to end.
func (h *health) keep(ctx context.Context) {
	h.tell()
	h.mu.Lock()
	s, probing := h.server, h.verdict.state == ServerProbing
	h.mu.Unlock()
	var err error
	if probing {
		err = h.probe(ctx, s)
	} else {
		err = h.makeUp(ctx, s)
	}

	h.mu.Lock()
	again := h.again
	h.keeping, h.again = false, false
	from, now, reason := h.verdict.state, h.client.clock(), h.reason
	switch {
	case ctx.Err() != nil, h.server != s: // what it found out is of no use
		h.verdict.postponed(now)
	case err != nil && probing:
		h.counts.ProbesFailed++
		h.verdict.probed(now, false, rand.Float64())
		reason = s.reason(err)
	}
	if h.owes == nil || h.owes.empty() {
		h.tries = 0
	} else if h.verdict.state.serves() {
		h.retry = now + h.verdict.set.pause(h.tries, 0, rand.Float64())
		h.tries = min(h.tries+1, maxTries)
		if again || err == nil && len(h.owes.due(0, false)) > 0 { // it came when the keeper was about to end
			h.retry, h.tries = now, 0
			h.changeLocked(from, reason)
			from = h.verdict.state
			h.startLocked()
		}
	}
	h.changeLocked(from, reason)
	h.mu.Unlock()
	h.tell()
}

// probe finds out whether the server is back, makes up for what it missed, and
// lets calls to it.
func (h *health) probe(ctx context.Context, s *server) error {
	t, err := s.try(ctx)
	if err != nil {
		return err
	}
	t.Vouch() // calls dial as soon as they are let in
	if err = h.reconcile(ctx, s, t); err != nil {
		t.Close()
		return err
	}
	t.Keep()
	return nil
}

// try makes one connection after the other and asks each what calls ask. It
// returns the last one, open, if all have answered.
func (s *server) try(ctx context.Context) (*link.Trial, error) {
	for n := 1; ; n++ {
		t, err := s.tryOnce(ctx)
		if err != nil || n == probesNeeded {
			return t, err
		}
		t.Close()
	}
}

// tryOnce goes the whole way of a call: it dials, agrees on the protocol, and
// gets a key. A process that is stopped accepts connections and never answers;
// a proxy may answer for its own part and for no server. Any answer will do: an
// error line is no failure of a call either.
func (s *server) tryOnce(ctx context.Context) (*link.Trial, error) {
	key, err := s.client.Keys.wire(probeKey)
	if err != nil {
		key = probeKey // the namespace leaves it no room
	}
	t, err := s.link.Try(ctx)
	if err != nil {
		return nil, err
	}
	bounded, stop := context.WithTimeout(ctx, s.client.timeout())
	defer stop()
	if _, err = t.Do(bounded, []link.Request{{Op: link.Get, Key: key}}); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// reconcile deletes on the server, by t, what it is owed, and then lets it serve:
// no key becomes owed in between.
func (h *health) reconcile(ctx context.Context, s *server, t *link.Trial) error {
	if err := h.prepare(ctx, s, t); err != nil {
		return err
	}
	for since := uint64(0); ; {
		h.mu.Lock()
		var keys []string
		var seq uint64
		if h.owes != nil {
			if h.owes.overflowed { // meanwhile
				h.mu.Unlock()
				return errOverflow
			}
			keys, seq = h.owes.due(since, true), h.owes.seq
		}
		if h.server != s {
			h.mu.Unlock()
			return errMoved
		}
		if len(keys) == 0 {
			from := h.verdict.state
			h.verdict.probed(h.client.clock(), true, 0)
			h.retry, h.tries = h.client.clock()+h.verdict.set.pause(0, 0, rand.Float64()), 1
			h.changeLocked(from, nil)
			h.mu.Unlock()
			return nil
		}
		h.mu.Unlock()
		if err := h.replay(ctx, s, keys, seq, t.Do); err != nil {
			return err
		}
		since = seq
	}
}

// prepare comes before the replay: connections that are lost come to their end,
// what a restart or a flush has made up for is forgotten.
func (h *health) prepare(ctx context.Context, s *server, t *link.Trial) error {
	h.mu.Lock()
	if h.owes == nil || h.owes.empty() {
		h.mu.Unlock()
		return nil
	}
	// Fewer keys than that are sooner deleted.
	ask := h.owes.overflowed || h.owes.held > 0 || h.owes.owed > replayWindow
	h.mu.Unlock()
	h.settleLinks(ctx)
	if ask {
		started := s.startedAnew(ctx)
		h.mu.Lock()
		if h.server == s {
			h.owes.restarted(started)
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	overflowed, held, now := h.owes.overflowed, h.owes.held, ticket{by: s, seq: h.owes.seq}
	h.mu.Unlock()
	switch {
	case !overflowed:
		return nil
	case h.verdict.set.Overflow != FlushServer:
		return errOverflow
	case held > 0:
		return errOlder
	}
	replies, err := t.Do(ctx, []link.Request{{Op: link.FlushAll}})
	if err == nil && replies[0].Status == link.OK {
		h.emptied(now)
		return nil
	}
	return cmp.Or(err, errOverflow)
}

// startedAnew returns the clock before which the server certainly held nothing
// that it holds now: its process has started since, without a memory file to
// find its items in. It is below zero if that is not known, as of a proxy. It
// asks on a connection of its own: some hang up on what they do not know.
func (s *server) startedAnew(ctx context.Context) int64 {
	const unknown = math.MinInt64
	t, err := s.link.Try(ctx)
	if err != nil {
		return unknown
	}
	defer t.Close()
	bounded, stop := context.WithTimeout(ctx, s.client.timeout())
	defer stop()
	now := s.client.clock()
	replies, err := t.Do(bounded, []link.Request{{Op: link.Stats}, {Op: link.Stats, Key: "settings"}})
	if err != nil || replies[0].Status != link.OK || replies[1].Status != link.OK {
		return unknown
	}
	general, settings := replies[0].Detail.Stats, replies[1].Detail.Stats
	uptime, err := strconv.ParseInt(general["uptime"], 10, 32)
	if err != nil || general["curr_items"] == "" || settings["memory_file"] != "(null)" {
		return unknown
	}
	// The server counts whole seconds, from two before its start.
	return now - int64(time.Duration(uptime+1)*time.Second)
}

// makeUp deletes what a server is owed that gets its calls, as far as no older
// write is under way.
func (h *health) makeUp(ctx context.Context, s *server) error {
	h.settleLinks(ctx)
	do := func(ctx context.Context, reqs []link.Request) ([]link.Reply, error) {
		share := link.Share{Link: s.link, Reqs: reqs}
		link.Gather(ctx, []*link.Share{&share})
		return share.Replies, share.Err
	}
	for {
		h.mu.Lock()
		keys, seq, moved := h.owes.due(0, false), h.owes.seq, h.server != s
		h.mu.Unlock()
		switch {
		case len(keys) == 0:
			return nil
		case moved:
			return errMoved
		}
		if err := h.replay(ctx, s, keys, seq, do); err != nil {
			return err
		}
	}
}

// replayWindow is how many keys are deleted at a time.
const replayWindow = 1000

// replay deletes keys on s, which are owed with debts up to number seq.
func (h *health) replay(ctx context.Context, s *server, keys []string, seq uint64,
	do func(context.Context, []link.Request) ([]link.Reply, error)) error {
	for window := range slices.Chunk(keys, replayWindow) {
		reqs := make([]link.Request, len(window))
		for i, key := range window {
			reqs[i] = link.Request{Op: link.Delete, Key: key}
		}
		replies, err := do(ctx, reqs)
		if errors.Is(err, link.ErrUnsupported) && len(window) > 1 { // one of them; the others can be said
			for _, key := range window {
				if err := h.replay(ctx, s, []string{key}, seq, do); err != nil {
					return err
				}
			}
			continue
		}
		for i := range replies {
			if err == nil {
				err = refusal(&replies[i])
			}
		}
		if err != nil && !errors.Is(err, link.ErrUnsupported) { // a key that cannot be said is not there
			return err
		}
		h.pay(window, ticket{by: s, seq: seq}) // what was held then is a new debt by now, or held still
		h.mu.Lock()
		h.counts.Replayed += uint64(len(window))
		h.mu.Unlock()
	}
	return nil
}
