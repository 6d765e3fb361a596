package ring

// Default: a continuum of equal arcs, each owned by the server that claims it
// first.

import (
	"cmp"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Default is the placement for caches that only users of this package share:
// keys are hashed by xxhash64 onto a continuum of 65536 equal arcs.
//
// Each server claims arcs in a pseudo-random sequence that depends on its
// identity alone, at a rate proportional to its weight, and an arc belongs to
// whoever claims it first. So a new server takes arcs from all others and
// moves nothing between them, a change of weight moves keys only to or from
// that server, and the order of the list means nothing. Shares follow the
// weights, fractions included; with 16 equal servers the largest share is
// about 3 % above the mean. At most 4096 servers.
var Default = Placement{}

var defaultPeer = &peer{name: "Default", label: plainLabel, weights: weightsAny, build: buildArcs}

// The number of arcs was chosen by measurement. Over random lists of equal
// servers, the largest share relative to the mean was, for 95 % of the lists:
//
//	arcs      4 servers   16     50     200    1000    build
//	16384     1.018       1.053  1.108  1.270  1.709    1 ms
//	65536     1.010       1.030  1.056  1.141  1.343    4 ms
//	262144    1.005       1.014  1.029  1.070  1.160   20 ms
//
// A sorted continuum of random points needs some 8 times the memory of the arcs
// for the same balance, and grows with the weights.
const (
	arcBits    = 16
	arcCount   = 1 << arcBits
	maxArcUser = arcCount / 16 // servers; with fewer arcs each, shares mean little
)

// arcs holds the server of each arc; arc i begins at hash i<<(64-arcBits).
type arcs [arcCount]uint16

func (a *arcs) find(hash uint64) int { return int(a[hash>>(64-arcBits)]) }

// claimant is a server with its sequence of claims. Claim k is drawn from the
// random number x at (seed, k): the high bits of x choose the arc, and the
// claim is made at time (k + fraction)/weight, the low 32 bits of x being the
// fraction. Times are compared across servers, so they must come out the same
// on every machine: the sum is exact and the quotient correctly rounded.
type claimant struct {
	index  uint16
	id     string
	seed   uint64
	weight float64
	next   int // first claim not made yet
}

func buildArcs(r *Ring, members []member) error {
	if len(members) > maxArcUser {
		return ErrTooManyServers
	}
	r.table, r.arcs = tableArcs, newArcs(members)
	return nil
}

func newArcs(members []member) *arcs {
	claimants := make([]claimant, len(members))
	for i, m := range members {
		claimants[i] = claimant{index: uint16(m.index), id: m.label, seed: xxhash.Sum64String(m.label), weight: m.weight}
	}
	// Two claims at one time go to the lower identity, never to the lower index.
	slices.SortFunc(claimants, func(a, b claimant) int { return cmp.Compare(a.id, b.id) })

	owner := new(arcs)
	claimed := make([]float64, arcCount) // time of the earliest claim so far
	for i := range claimed {
		claimed[i] = math.Inf(1)
	}
	// Claims are made window by window, about as many in each as there are arcs.
	// No claim of a later window is earlier than the end of this one, so arcs
	// claimed before that end are settled.
	window := arcCount / totalWeight(members)
	for end, open := window, arcCount; open > 0; end += window {
		for i := range claimants {
			claimants[i].claimUntil(end, owner, claimed)
		}
		open = 0
		for _, t := range claimed {
			if t >= end {
				open++
			}
		}
	}
	return owner
}

// claimUntil makes every claim before end, and perhaps one at or after it.
func (c *claimant) claimUntil(end float64, owner *arcs, claimed []float64) {
	for ; float64(c.next)/c.weight < end; c.next++ {
		x := splitmix64(c.seed, uint64(c.next))
		at := (float64(c.next) + float64(uint32(x))*0x1p-32) / c.weight
		if arc := x >> (64 - arcBits); at < claimed[arc] {
			claimed[arc], owner[arc] = at, c.index
		}
	}
}

// splitmix64 returns number k of the SplitMix64 sequence that starts at seed.
func splitmix64(seed, k uint64) uint64 {
	x := seed + (k+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
