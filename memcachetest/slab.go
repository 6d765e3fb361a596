package memcachetest

// memcached's slab classes, which `me` and the statistics name. Nothing is
// allocated by class here.

import "sync"

const (
	smallestChunk = 96
	largestChunk  = 512 << 10
	chunkAlign    = 8
)

// slabChunks returns the chunk size of each class, growing by a quarter; class
// numbers begin at 1.
var slabChunks = sync.OnceValue(func() []int {
	var chunks []int
	for size := smallestChunk; float64(size) < largestChunk/1.25; size = int(float64(size) * 1.25) {
		if rest := size % chunkAlign; rest != 0 {
			size += chunkAlign - rest
		}
		chunks = append(chunks, size)
	}
	return append(chunks, largestChunk)
})

// slabClass is the class of an item of that size in bytes.
func slabClass(size int) int {
	for i, chunk := range slabChunks() {
		if size <= chunk {
			return i + 1
		}
	}
	return len(slabChunks())
}
