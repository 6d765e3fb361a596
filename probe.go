package memcache

import (
	"context"
	"math/rand/v2"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file finds out whether a server that is down is back.

// probesNeeded is how many connections in a row must answer.
const probesNeeded = 2

// probeKey is what a probe asks for, in the client's namespace. It need not be
// there.
const probeKey = "vaquero:probe"

// startProbe starts a probe if one is due and none is under way.
func (h *health) startProbe() {
	h.mu.Lock()
	starts := h.verdict.probe(h.client.clock())
	if starts {
		h.counts.Probes++
		h.changeLocked(ServerDown, h.reason)
	}
	h.mu.Unlock()
	if starts {
		h.client.background.start(h.probe)
	}
}

// probe is one probe, from start to end.
func (h *health) probe(ctx context.Context) {
	h.tell()
	h.mu.Lock()
	s := h.server
	h.mu.Unlock()
	last, err := s.try(ctx)

	h.mu.Lock()
	from := h.verdict.state
	switch now := h.client.clock(); {
	case err == nil:
		h.verdict.probed(now, true, 0)
		h.changeLocked(from, nil)
	case ctx.Err() != nil:
		h.verdict.postponed(now)
		h.changeLocked(from, h.reason)
	default:
		h.counts.ProbesFailed++
		h.verdict.probed(now, false, rand.Float64())
		h.changeLocked(from, s.reason(err))
	}
	serves := h.verdict.state.serves()
	h.mu.Unlock()
	switch {
	case err != nil:
	case serves:
		last.Keep()
	default:
		last.Close()
	}
	h.tell()
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
// a proxy may answer for its own part and for no server.
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
	for _, op := range []link.Op{link.Version, link.Get} {
		if _, err = t.Do(bounded, []link.Request{{Op: op, Key: key}}); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}
