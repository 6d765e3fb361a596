package memcache

import (
	"hash/maphash"
	"sync"
)

// This file finds the keys that a batch of gets is given more than once.

// seen tells of keys whether they came before, by a table of hashes.
type seen struct {
	seed  maphash.Seed
	table *[]int32 // 1 + the place of a key, where its hash points or behind; 0 = none
}

var seenTables = sync.Pool{New: func() any { return new([]int32) }}

// newSeen returns a seen for n keys, to be released.
func newSeen(n int) seen {
	size := 2 // a power of two, and never more than half full
	for size < 2*n {
		size *= 2
	}
	table := seenTables.Get().(*[]int32)
	if cap(*table) < size {
		*table = make([]int32, size)
	}
	*table = (*table)[:size]
	clear(*table)
	return seen{seed: maphash.MakeSeed(), table: table}
}

func (s seen) release() {
	if cap(*s.table) <= keepTable {
		seenTables.Put(s.table)
	}
}

const keepTable = 1 << 14 // entries; one for more keys is not kept

// mark sets places[i] to nowhere where keys[from+i] is among the keys before it.
// Those before from have been marked.
func (s seen) mark(places []int32, keys []string, from int) {
	table := *s.table
	for i, key := range keys[from : from+len(places)] {
		for at := maphash.String(s.seed, key); ; at++ {
			slot := &table[at&uint64(len(table)-1)]
			if *slot == 0 {
				*slot = int32(from+i) + 1
				break
			}
			if keys[*slot-1] == key {
				places[i] = nowhere
				break
			}
		}
	}
}
