package link

// This file says where a value that was found goes: into memory of its own, or
// of its batch.

// keep returns a copy of v, which lies in the read buffer. A single value has
// memory of its own. Small values of a batch share an allocation, few enough
// that one which is kept for long does not keep many others; each has its
// capacity clipped, so that none can grow into the next. The values of a stream
// lie in its arena.
func (k *call) keep(v []byte) []byte {
	switch {
	case k.arena != nil:
		return k.arena.keep(v)
	case k.keys == nil || len(v) > sharedSize:
		return copyValue(v)
	}
	if k.chunkLeft == 0 || len(k.chunk) < len(v) {
		k.chunk, k.chunkLeft = make([]byte, sharedValues*len(v)), sharedValues
	}
	out := k.chunk[:len(v):len(v)]
	k.chunk, k.chunkLeft = k.chunk[len(v):], k.chunkLeft-1
	copy(out, v)
	return out
}

const (
	sharedValues = 8    // in one allocation
	sharedSize   = 1024 // bytes of the largest
)

// copyValue returns v in memory of its own.
func copyValue(v []byte) []byte {
	out := make([]byte, len(v))
	copy(out, v)
	return out
}

// Arena is memory for the values of one window of a stream after the other.
type Arena struct {
	chunks [][]byte // of arenaChunk bytes each
	begun  int      // how many of them hold values
	room   []byte   // the rest of the last of these
}

const arenaChunk = 64 << 10

func (a *Arena) keep(v []byte) []byte {
	if len(v) > len(a.room) {
		if len(v) > arenaChunk/4 {
			return copyValue(v)
		}
		a.begin()
	}
	out := a.room[:len(v):len(v)]
	a.room = a.room[len(v):]
	copy(out, v)
	return out
}

// begin turns to the next chunk.
func (a *Arena) begin() {
	if a.begun == len(a.chunks) {
		a.chunks = append(a.chunks, make([]byte, arenaChunk))
	}
	a.room = a.chunks[a.begun]
	a.begun++
}

// reset lets the memory be used again.
func (a *Arena) reset() { a.begun, a.room = 0, nil }
