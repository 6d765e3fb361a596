// Package workload holds what all contenders work on: keys, values that can be
// recognised, and batches of keys. All of it is the same in every run.
package workload

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// KeyCount is the number of keys that every server holds.
const KeyCount = 4096

// DefaultValueSize is the size of a value in bytes where a table asks for none.
const DefaultValueSize = 100

// Set is a set of keys with their values. It does not change.
type Set struct {
	Keys   []string
	Values [][]byte // of Keys[i]
	Puts   []string // keys to store at, KeyCount of them, that no one reads
	size   int
}

// Tag is what the keys of a tagged set have in common: a client that places by the
// text between the braces alone finds all of them on one server.
const Tag = "{u}"

// NewSet returns KeyCount keys with values of size bytes, one at least.
func NewSet(size int) *Set { return newSet("", size) }

// NewTaggedSet is NewSet with keys that begin with Tag.
func NewTaggedSet(size int) *Set { return newSet(Tag, size) }

func newSet(tag string, size int) *Set {
	s := &Set{size: size}
	for i := range KeyCount {
		s.Keys = append(s.Keys, tag+"key:"+strconv.Itoa(i))
		s.Puts = append(s.Puts, tag+"put:"+strconv.Itoa(i))
		s.Values = append(s.Values, value(uint64(i), size))
	}
	return s
}

// value returns size bytes that no other seed has.
func value(seed uint64, size int) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	v := make([]byte, 0, size+8)
	for v = binary.LittleEndian.AppendUint64(v, seed); len(v) < size; {
		v = binary.LittleEndian.AppendUint64(v, rng.Uint64())
	}
	return v[:size:size]
}

// Check compares what was got for key i with what was stored.
func (s *Set) Check(i int, got []byte) error {
	if !bytes.Equal(got, s.Values[i]) {
		return fmt.Errorf("wrong value for %s: %.40q of %d bytes", s.Keys[i], got, len(got))
	}
	return nil
}

// NewValue returns the value to store in slice n: as long as those of the keys,
// and different in each slice.
func (s *Set) NewValue(n int) []byte { return value(uint64(KeyCount+n), s.size) }

// Picker is an endless random sequence of places in a Set.
type Picker struct{ state uint64 }

// NewPicker returns the sequence of caller i.
func NewPicker(i int) Picker { return Picker{uint64(i)*0x9e3779b97f4a7c15 + 1} }

// Next returns the next place.
func (p *Picker) Next() int {
	p.state = p.state*6364136223846793005 + 1442695040888963407
	return int((p.state >> 33) % KeyCount)
}

// Batch is a list of different keys for one GetMulti.
type Batch struct {
	Index []int    // places in the Set; NoPlace for a key that no server holds
	Keys  []string // the same as keys
	Hits  int      // how many of them have a place
}

// NoPlace is the Index of a key that is asked for and not there.
const NoPlace = -1

// maxBatches and maxBatchBytes bound the batches, so that the requests and replies
// that floors prepare stay in the processor's cache as far as they can.
const (
	maxBatches    = 64
	maxBatchBytes = 4 << 20
)

// Batches returns batches of size keys each, one at least, of which hits percent
// are there. Size is at most KeyCount.
func (s *Set) Batches(size, hits int) []*Batch {
	rng := rand.New(rand.NewPCG(uint64(size), 1))
	n := min(maxBatches, KeyCount/size, maxBatchBytes/(size*s.size))
	batches := make([]*Batch, max(1, n))
	for i := range batches {
		b := &Batch{Hits: (size*hits + 50) / 100}
		for n, k := range rng.Perm(KeyCount)[:size] {
			if n < b.Hits {
				b.Index, b.Keys = append(b.Index, k), append(b.Keys, s.Keys[k])
			} else {
				b.Index, b.Keys = append(b.Index, NoPlace), append(b.Keys, "gap:"+strconv.Itoa(k))
			}
		}
		rng.Shuffle(size, func(i, j int) {
			b.Index[i], b.Index[j] = b.Index[j], b.Index[i]
			b.Keys[i], b.Keys[j] = b.Keys[j], b.Keys[i]
		})
		batches[i] = b
	}
	return batches
}
