package workload

// Places of a Set as real traffic asks for them: a few very often, most rarely.

import "math/rand/v2"

// zipfDraws is how many places are drawn beforehand; a sequence repeats after these.
const zipfDraws = 1 << 15

// Zipf is a random sequence of places whose frequencies follow Zipf's law with an
// exponent of about 1, the same in every run.
type Zipf struct{ places []int32 }

// NewZipf returns a sequence of places below n.
func NewZipf(n int) *Zipf {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	order := rng.Perm(n) // so that the often wanted ones are no neighbours
	law := rand.NewZipf(rng, 1.01, 1, uint64(n-1))
	z := &Zipf{places: make([]int32, zipfDraws)}
	for i := range z.places {
		z.places[i] = int32(order[law.Uint64()])
	}
	return z
}

// From returns the sequence of caller i, which begins at a place of its own.
func (z *Zipf) From(i int) func() int {
	next := i * 2654435761
	return func() int {
		next++
		return int(z.places[uint(next)%zipfDraws])
	}
}
