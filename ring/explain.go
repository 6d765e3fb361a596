package ring

// How a key came to its server, for people.

import (
	"fmt"
	"strings"
)

// Explanation is the way from a key to its server.
type Explanation struct {
	Placement Placement
	Key       string
	Alone     bool   // the ring has one server and hashes nothing; Hashed to Point are not set
	Hashed    string // what of the key was hashed, with the salt if there is one
	Hash      uint64 // of Hashed; pymemcache: the highest score
	HasPoint  bool   // the placement has a continuum
	Point     uint64 // place on the continuum that Hash led to; [Default]: the start of the arc
	Server    int    // index into the list given to New
	ID        string // the server's Name, or its Addr
}

// Explain returns how key came to its server. It is meant for logs and tools and
// allocates.
func (r *Ring) Explain(key string) Explanation {
	e := Explanation{Placement: r.placement, Key: key, Alone: len(r.servers) == 1, Server: r.Pick(key)}
	e.ID = r.servers[e.Server].ID()
	if e.Alone {
		return e
	}
	var buf [saltedSize]byte
	text := r.hashed(key, &buf)
	e.Hashed = strings.Clone(text)
	switch r.table {
	case tableRendezvous:
		key := r.prepare(text, new([saltedSize]byte))
		e.Hash = key.hash
		if r.placement.rules().python != pythonNone {
			_, score := r.highest(key)
			e.Hash = uint64(score)
		}
	case tableFurc, tableFurcWeight:
		e.Hash = murmur64A(byteView(text), furcHashSeed)
	default:
		e.Hash = r.placement.hash.sum(text, r.seed)
	}
	e.Point, e.HasPoint = r.pointOf(e.Hash)
	return e
}

// pointOf returns the place on the continuum that hash leads to, if there is one.
func (r *Ring) pointOf(hash uint64) (place uint64, ok bool) {
	switch r.table {
	case tableArcs:
		return hash >> (64 - arcBits) << (64 - arcBits), true
	case tablePoints:
		return uint64(r.continuum.points[r.continuum.at(uint32(hash))].value()), true
	case tablePointsDown:
		return uint64(r.continuum.points[r.continuum.before(uint32(hash))].value()), true
	case tableLong:
		return r.long.points[r.long.at(hash)].value, true
	}
	return 0, false
}

// String returns one line such as
//
//	Dalli: "user:1" hashes to 0x8a4be0c1, point 0x8a47f3d2, server 2 (10.0.0.3:11211)
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %q", e.Placement, e.Key)
	if e.Alone {
		fmt.Fprintf(&b, " belongs to the only server, %s", e.ID)
		return b.String()
	}
	if e.Hashed != e.Key {
		fmt.Fprintf(&b, " (as %q)", e.Hashed)
	}
	fmt.Fprintf(&b, " hashes to %#x,", e.Hash)
	if e.HasPoint {
		fmt.Fprintf(&b, " point %#x,", e.Point)
	}
	fmt.Fprintf(&b, " server %d (%s)", e.Server, e.ID)
	return b.String()
}
