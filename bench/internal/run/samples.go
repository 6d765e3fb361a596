package run

// Times of single operations, kept in little memory: a large buffer would raise
// the heap, and with it hide the garbage collection that the contenders cause.

import (
	"math"
	"slices"
	"time"
)

// sampleCount is how many times are kept of all callers together; of an operation
// that is faster, the last ones of the slice.
const sampleCount = 1 << 16

// minSamples is what each caller keeps at least.
const minSamples = 256

// samples is a ring that holds the last times of one caller.
type samples struct {
	ns []uint32
	n  int // times added
}

func newSamples(callers int) *samples {
	return &samples{ns: make([]uint32, max(sampleCount/callers, minSamples))}
}

func (s *samples) reset() { s.n = 0 }

func (s *samples) add(d time.Duration) {
	s.ns[s.n%len(s.ns)] = uint32(min(d, math.MaxUint32))
	s.n++
}

func (s *samples) kept() []uint32 { return s.ns[:min(s.n, len(s.ns))] }

// quantile returns the q-th quantile of sorted.
func quantile(sorted []uint32, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return time.Duration(sorted[int(q*float64(len(sorted)-1)+0.5)])
}

// merge appends what all of them kept to dst and sorts it.
func merge(dst []uint32, all []*samples) []uint32 {
	for _, s := range all {
		dst = append(dst, s.kept()...)
	}
	slices.Sort(dst)
	return dst
}
