package ring

// A Ring: a placement applied to a list of servers. What New builds, Pick reads.

import (
	"github.com/cespare/xxhash/v2"
)

// Ring maps keys to the servers it was built from. It never changes after
// [New], so it is safe for concurrent use.
type Ring struct {
	placement Placement
	servers   []Server
	arcs      *arcs // set when the placement divides the continuum in arcs
}

// New builds the ring that placement makes of servers. Indexes that the ring
// returns are indexes into servers, in the order given, whatever order the
// placement works in. New keeps a copy of servers.
//
// The errors are [ErrNoServers], [ErrTooManyServers], or a [*ServerError] that
// names the first server at fault and wraps [ErrNoAddr], [ErrWeight] or
// [ErrDuplicate].
func New(placement Placement, servers ...Server) (*Ring, error) {
	if err := checkServers(servers); err != nil {
		return nil, err
	}
	r := &Ring{placement: placement, servers: append([]Server(nil), servers...)}
	if err := placement.build(r); err != nil {
		return nil, err
	}
	return r, nil
}

// Pick returns the index of the server that key belongs to. It hashes the key
// once, looks the hash up in constant time, and allocates nothing. Any string
// is accepted; whether it is a legal memcached key is for the caller to know.
func (r *Ring) Pick(key string) int {
	if len(r.servers) == 1 {
		return 0
	}
	if r.arcs != nil {
		return r.arcs.find(xxhash.Sum64String(key))
	}
	return modulo(gomemcacheHash(key), len(r.servers))
}

// PickBytes is [Ring.Pick] for a key held in a byte slice, which it neither
// keeps nor modifies.
func (r *Ring) PickBytes(key []byte) int {
	return r.Pick(stringView(key))
}

// Placement returns the placement the ring was built with.
func (r *Ring) Placement() Placement { return r.placement }

// Servers returns the servers the ring was built from, in the order given to
// [New]. The caller owns the returned slice.
func (r *Ring) Servers() []Server { return append([]Server(nil), r.servers...) }

// Len returns the number of servers.
func (r *Ring) Len() int { return len(r.servers) }
