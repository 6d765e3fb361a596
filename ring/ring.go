package ring

// A Ring: a placement applied to a list of servers. What New builds, Pick reads.

import (
	"crypto/md5"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// Ring maps keys to the servers it was built from. It never changes after
// [New], so it is safe for concurrent use.
type Ring struct {
	placement Placement
	servers   []Server
	seed      uint64 // of XXH3
	entry     table  // table, or tablePart if not the key as such is hashed

	// Where hashes lead. One of these is set, as table says.
	table      table
	arcs       *arcs
	continuum  *continuum
	long       *longContinuum
	slots      []int32
	rendezvous []candidate
}

// table names the structure that a ring finds servers in.
type table uint8

const (
	tableArcs       table = iota // arcs
	tablePoints                  // continuum, the first point at or after the hash
	tablePointsDown              // continuum, the last point at or before the hash
	tableLong                    // long
	tableSlots                   // slots, the hash modulo their number
	tableJump                    // none: the hash jumps over the list
	tableFurc                    // none: the key is hashed down a binary tree
	tableFurcWeight              // none: likewise, until a server accepts it
	tableRendezvous              // rendezvous, the highest score
	tablePart                    // as table says, for a part of the key or more than it
)

// New builds the ring that placement makes of servers. Indexes that the ring
// returns are indexes into servers, in the order given, whatever order the
// placement works in. New keeps a copy of servers.
//
// The errors are [ErrNoServers], [ErrTooManyServers], [ErrTooManyPoints],
// [ErrNoPoints], an error that wraps [ErrOption], or a [*ServerError] that
// names the first server at fault and wraps [ErrNoAddr], [ErrNoName],
// [ErrWeight] or [ErrDuplicate].
func New(placement Placement, servers ...Server) (*Ring, error) {
	if err := checkServers(servers); err != nil {
		return nil, err
	}
	r := &Ring{
		placement: placement,
		servers:   slices.Clone(servers),
	}
	if placement.seed != "" {
		r.seed = xxh3.HashString(placement.seed)
	}
	if err := placement.build(r); err != nil {
		return nil, err
	}
	r.entry = r.table
	if placement.salt != "" || placement.filter != (filter{}) {
		r.entry = tablePart
	}
	return r, nil
}

// Pick returns the index of the server that key belongs to. It hashes the key
// once and looks the hash up in a time that does not grow with the number of
// servers (except for rendezvous placements, which compare all servers), and
// allocates nothing. Any string is accepted; whether it is a legal memcached
// key is for the caller to know.
func (r *Ring) Pick(key string) int {
	return r.find(r.entry, key) // all there is to it, so that callers inline it
}

// PickBytes is [Ring.Pick] for a key held in a byte slice, which it neither
// keeps nor modifies.
func (r *Ring) PickBytes(key []byte) int {
	return r.Pick(stringView(key))
}

// find returns the server for key by way of table. It holds the placements whose
// speed matters most, as each further call costs what a lookup does.
func (r *Ring) find(by table, key string) int {
	switch by {
	case tableSlots:
		if r.placement.hash == hashCRC256 {
			return r.slot(crc256(key))
		}
	case tableArcs:
		return r.arcs.find(xxhash.Sum64String(key))
	case tablePoints:
		if r.placement.hash == HashMD5 {
			digest := md5.Sum(byteView(key))
			return r.continuum.find(binary.LittleEndian.Uint32(digest[:])).server()
		}
		return r.continuum.find(uint32(r.placement.hash.sum(key, r.seed))).server()
	case tablePart:
		return r.findByPart(key)
	case tableFurc:
		return furc(key, len(r.servers))
	case tableFurcWeight:
		return weightedFurc(key, r.servers)
	case tableRendezvous:
		return r.bestCandidate(key)
	}
	return r.lookUp(r.placement.hash.sum(key, r.seed))
}

func (r *Ring) findByPart(key string) int {
	var buf [saltedSize]byte
	return r.find(r.table, r.hashed(key, &buf))
}

// saltedSize holds a key of the longest legal length and a salt, without
// allocating.
const saltedSize = 320

// hashed returns the text that is hashed for key: part of key, or buf.
func (r *Ring) hashed(key string, buf *[saltedSize]byte) string {
	key = r.placement.filter.apply(key)
	if salt := r.placement.salt; salt != "" {
		key = stringView(append(append(buf[:0], key...), salt...))
	}
	return key
}

// lookUp returns the server for the hash of a key.
func (r *Ring) lookUp(hash uint64) int {
	switch r.table {
	case tablePoints:
		return r.continuum.find(uint32(hash)).server()
	case tablePointsDown:
		return r.continuum.points[r.continuum.before(uint32(hash))].server()
	case tableLong:
		return r.long.points[r.long.at(hash)].server
	case tableSlots:
		return r.slot(hash)
	case tableJump:
		return int(r.slots[jump(hash, len(r.slots))])
	default:
		return r.arcs.find(hash)
	}
}

// slot is lookUp for tableSlots.
func (r *Ring) slot(hash uint64) int { return int(r.slots[uint32(hash)%uint32(len(r.slots))]) }

// Placement returns the placement the ring was built with.
func (r *Ring) Placement() Placement { return r.placement }

// Servers returns the servers the ring was built from, in the order given to
// [New]. The caller owns the returned slice.
func (r *Ring) Servers() []Server { return slices.Clone(r.servers) }

// Len returns the number of servers.
func (r *Ring) Len() int { return len(r.servers) }
