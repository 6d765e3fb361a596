package ring

// The continuum of 32-bit points and the table that finds a point in it.

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
)

// MaxPoints is the largest number of points, or of modulo slots, that a ring
// may have.
const MaxPoints = 1 << 22

// ErrTooManyPoints is returned by [New] for servers and weights that would make
// more than [MaxPoints] points.
var ErrTooManyPoints = errors.New("ring: too many points")

// ErrNoPoints is returned by [New] when no server has a point.
var ErrNoPoints = errors.New("ring: no server has a point")

// point is a place on the continuum in the high half and the index of its
// server in the low half, so that points sort as numbers do: by place, then by
// server.
type point uint64

func newPoint(value uint32, server int) point { return point(value)<<32 | point(uint32(server)) }

func (p point) value() uint32 { return uint32(p >> 32) }
func (p point) server() int   { return int(uint32(p)) }

// continuum is a sorted list of points with a table into it: the hashes are cut
// into equal buckets, and starts holds for each the first point at or after its
// lowest hash. There are one to two buckets to a point, so the point sought is
// nearly always among the next three; they are counted without a branch.
//
//	points  [ p0 p1 ... p(n-1) | s s s s ]   s: past the last point, leads to the server of p0
//	starts[b] <= n, so starts[b]+3 is always within points
type continuum struct {
	points []point
	starts []uint32
	shift  uint
}

const sentinels = 4

// setPoints makes r look keys up among points, whose servers are indexes into
// members. It takes points over, in any order.
func setPoints(r *Ring, members []member, points []point) error {
	switch {
	case len(points) == 0:
		return ErrNoPoints
	case len(points) > MaxPoints:
		return ErrTooManyPoints
	}
	slices.Sort(points) // equal values come in the peer's order of the list
	for i, p := range points {
		points[i] = newPoint(p.value(), members[p.server()].index)
	}
	r.table, r.continuum = tablePoints, indexPoints(points)
	return nil
}

// indexPoints builds the table over sorted points.
func indexPoints(points []point) *continuum {
	n := len(points)
	end := newPoint(1<<32-1, points[0].server())
	for range sentinels {
		points = append(points, end)
	}
	width := bits.Len(uint(n))
	c := &continuum{points: points, shift: uint(32 - width), starts: make([]uint32, 1<<width)}
	next := 0
	for b := range c.starts {
		for next < n && points[next].value()>>c.shift < uint32(b) {
			next++
		}
		c.starts[b] = uint32(next)
	}
	return c
}

// list returns the points proper.
func (c *continuum) list() []point { return c.points[:len(c.points)-sentinels] }

// index returns the index of the first point at or after hash; len(c.list()) if
// there is none, where a sentinel leads on to the first point.
func (c *continuum) index(hash uint32) int {
	target := point(hash) << 32
	i := int(c.starts[hash>>(c.shift&31)])
	next := c.points[i : i+3 : i+3]
	passed := less(next[0], target) + less(next[1], target) + less(next[2], target)
	i += passed
	if passed == len(next) {
		for c.points[i] < target {
			i++
		}
	}
	return i
}

// find returns the point at c.index(hash).
func (c *continuum) find(hash uint32) point { return c.points[c.index(hash)] }

// less is 1 if a < b, else 0.
func less(a, b point) int {
	_, borrow := bits.Sub64(uint64(a), uint64(b), 0)
	return int(borrow)
}

// at returns the index of the point that hash belongs to: the first at or after
// it, around the end to the first of all.
func (c *continuum) at(hash uint32) int {
	if i := c.index(hash); i < len(c.points)-sentinels {
		return i
	}
	return 0
}

// before returns the index of the last point at or before hash, around the
// beginning to the last of all.
func (c *continuum) before(hash uint32) int {
	i := len(c.points) - sentinels
	if hash < 1<<32-1 {
		i = c.index(hash + 1)
	}
	if i == 0 {
		i = len(c.points) - sentinels
	}
	return i - 1
}

// longPoint is a point of a continuum of 64-bit hashes.
type longPoint struct {
	value  uint64
	server int
}

// longContinuum is a continuum of 64-bit hashes, with a table as above.
type longContinuum struct {
	points []longPoint
	starts []uint32
	shift  uint
}

// newLongContinuum takes the points over, in any order.
func newLongContinuum(points []longPoint) *longContinuum {
	slices.SortFunc(points, func(a, b longPoint) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.server, b.server))
	})
	width := bits.Len(uint(len(points)))
	c := &longContinuum{points: points, shift: uint(64 - width), starts: make([]uint32, 1<<width)}
	next := 0
	for b := range c.starts {
		for next < len(points) && points[next].value>>c.shift < uint64(b) {
			next++
		}
		c.starts[b] = uint32(next)
	}
	return c
}

// at returns the index of the point that hash belongs to.
func (c *longContinuum) at(hash uint64) int {
	i := int(c.starts[hash>>(c.shift&63)])
	for i < len(c.points) && c.points[i].value < hash {
		i++
	}
	if i == len(c.points) {
		return 0
	}
	return i
}
