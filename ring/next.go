package ring

// Which servers to ask, in order, when the one a key belongs to is down.

import (
	"iter"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// failover is the order a peer goes through servers in.
type failover uint8

const (
	failoverRing         failover = iota // the peer has none of its own
	failoverDalli                        // 20 probes with changed keys
	failoverSpymemcached                 // 7 picks with added hashes
	failoverList                         // the list, from the key's server on
)

// Next returns the servers to try for key, each once: first the one that Pick
// names, then those that take over while it is down. The order is the client's
// own where it has one. So it is for [Dalli] and spymemcached's ketama, which
// make 20 and 7 probes that may miss servers even while one is up, and for
// rendezvous placements. Elsewhere all servers come, in the order of their
// next points on the continuum, or, without a continuum, in the order of the
// list from a place that depends on the key, so that the keys of a server that
// is down spread over all others.
//
// Ranging over Next allocates nothing with up to 1024 servers.
func (r *Ring) Next(key string) iter.Seq[int] {
	return func(yield func(int) bool) { r.walk(key, yield) }
}

func (r *Ring) walk(key string, yield func(int) bool) {
	if len(r.servers) == 1 {
		yield(0)
		return
	}
	var buf [saltedSize]byte
	text := r.hashed(key, &buf)
	if r.table == tableRendezvous {
		r.eachCandidate(text, yield)
		return
	}
	w := walker{yield: yield, left: len(r.servers)}
	if more := len(r.servers)/64 + 1 - len(w.seen); more > 0 {
		w.more = make([]uint64, more)
	}
	switch r.placement.rules().failover {
	case failoverDalli:
		r.walkDalli(&w, text)
	case failoverSpymemcached:
		r.walkSpymemcached(&w, text)
	case failoverList:
		r.walkList(&w, r.find(r.table, text), 0)
	default:
		r.walkOn(&w, text)
	}
}

// walker hands servers to yield, each once.
type walker struct {
	yield func(int) bool
	left  int // servers not yet handed on; 0 also once yield has had enough
	seen  [16]uint64
	more  []uint64 // of servers beyond the first 1024
}

// visit hands server on unless it was before, and reports whether any are left.
func (w *walker) visit(server int) bool {
	word, bit := server>>6, uint64(1)<<(server&63)
	set := w.seen[:]
	if word >= len(w.seen) {
		word -= len(w.seen)
		set = w.more
	}
	if set[word]&bit == 0 {
		set[word] |= bit
		w.left--
		if !w.yield(server) {
			w.left = 0
		}
	}
	return w.left > 0
}

// walkOn follows the continuum from the hash of text on, or the list.
func (r *Ring) walkOn(w *walker, text string) {
	switch r.table {
	case tableArcs:
		first := int(r.placement.hash.sum(text, r.seed) >> (64 - arcBits))
		for i := range arcCount {
			if !w.visit(int(r.arcs[(first+i)%arcCount])) {
				return
			}
		}
	case tablePoints, tablePointsDown:
		points := r.continuum.list()
		first := r.continuum.at(uint32(r.placement.hash.sum(text, r.seed)))
		for i := range points {
			if !w.visit(points[(first+i)%len(points)].server()) {
				return
			}
		}
	case tableLong:
		points := r.long.points
		first := r.long.at(r.placement.hash.sum(text, r.seed))
		for i := range points {
			if !w.visit(points[(first+i)%len(points)].server) {
				return
			}
		}
	default:
		others := uint64(len(r.servers) - 1)
		r.walkList(w, r.find(r.table, text), int(xxhash.Sum64String(text)%others))
	}
}

// walkList goes from the first server to those that follow it in the list,
// leaving out the next skip of them until the end.
func (r *Ring) walkList(w *walker, first, skip int) {
	n := len(r.servers)
	if !w.visit(first) {
		return
	}
	for i := range n - 1 {
		if !w.visit((first + 1 + (skip+i)%(n-1)) % n) {
			return
		}
	}
}

// walkDalli probes as Dalli does: 20 times, after the first with the number of
// the probe that failed before the key.
func (r *Ring) walkDalli(w *walker, text string) {
	const probes = 20
	var buf [saltedSize]byte
	hash := crc32IEEE(text)
	for probe := range probes {
		if !w.visit(r.lookUp(uint64(hash))) {
			return
		}
		changed := append(strconv.AppendInt(buf[:0], int64(probe), 10), text...)
		hash = crc32IEEE(stringView(changed))
	}
}

// walkSpymemcached picks as spymemcached does: 7 times, after the first by the
// hash before, to which that of the number of the pick and the key is added.
func (r *Ring) walkSpymemcached(w *walker, text string) {
	hash := uint32(r.placement.hash.sum(text, 0))
	for pick := range spymemcachedPicks {
		if !w.visit(r.lookUp(uint64(hash))) {
			return
		}
		hash = r.repick(hash, pick, text)
	}
}

const spymemcachedPicks = 7

// repick returns the hash that spymemcached picks by after the given pick.
func (r *Ring) repick(hash uint32, pick int, text string) uint32 {
	var buf [saltedSize]byte
	changed := append(strconv.AppendInt(buf[:0], int64(pick), 10), text...)
	return hash + uint32(r.placement.hash.sum(stringView(changed), 0))
}
