package ring

// mcrouter's Ch3: a key walks down a binary tree whose leaves are the servers,
// taking its turns from a stream of hash bits.

import (
	"encoding/binary"
	"math/bits"
)

const (
	maxFurc      = 1 << 23 // servers
	furcTries    = 32
	furcStep     = 23 // bits from one level's bit to the next
	furcHashSeed = 4193360111
)

func buildFurc(r *Ring, members []member) error {
	if len(members) > maxFurc {
		return ErrTooManyServers
	}
	r.table = tableFurc
	return nil
}

func buildWeightedFurc(r *Ring, members []member) error {
	err := buildFurc(r, members)
	r.table = tableFurcWeight
	return err
}

// bitStream yields the bits of a key's hash, then of the hash of that hash, and
// so on. Going back is cheap in the first hash only, which is where furc goes.
type bitStream struct {
	first, word uint64
	index       int // of word; that of first is 0
}

func (s *bitStream) bit(at int) int {
	if at>>6 < s.index {
		s.word, s.index = s.first, 0
	}
	for ; s.index < at>>6; s.index++ {
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], s.word)
		s.word = murmur64A(bytes[:], furcHashSeed)
	}
	return int(s.word >> (at & 63) & 1)
}

// furc returns the place of key among n servers.
func furc(key string, n int) int {
	if n == 1 {
		return 0
	}
	first := murmur64A(byteView(key), furcHashSeed)
	s := bitStream{first: first, word: first}
	// Each level has every 23rd bit of the stream. A try first descends until a
	// level's bit is set, then reads the number of a leaf from the levels below
	// it; a leaf that does not exist costs a try.
	level := bits.Len(uint(n - 1))
	at := level
	for range furcTries {
		for s.bit(at) == 0 {
			level--
			if level == 0 {
				return 0
			}
			at = level
		}
		at += furcStep
		leaf := 1
		for range level - 1 {
			leaf = leaf<<1 | s.bit(at)
			at += furcStep
		}
		if leaf < n {
			return leaf
		}
	}
	return 0
}

// weightedFurc returns the place of key among servers: it salts the key until
// the server found accepts it, which it does with the probability its weight.
func weightedFurc(key string, servers []Server) int {
	const acceptSeed = 0xface2014
	var buf [saltedSize]byte
	salted := append(buf[:0], key...)
	for try := 0; ; try++ {
		text := stringView(salted)
		place := furc(text, len(servers))
		limit := uint64(servers[place].Weight * (1<<32 - 1))
		if uint64(spooky32(salted, acceptSeed)) < limit || try == furcTries-1 {
			return place
		}
		salted = append(salted[:len(key)], byte('0'+try%10))
		for rest := try / 10; rest > 0; rest /= 10 {
			salted = append(salted, byte('0'+rest%10))
		}
	}
}

// murmur64A is MurmurHash64A.
func murmur64A(b []byte, seed uint64) uint64 {
	const m = 0xc6a4a7935bd1e995
	h := seed ^ uint64(len(b))*m
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * m
		h = (h ^ (k^k>>47)*m) * m
	}
	if len(b) > 0 {
		var tail uint64
		for i, c := range b {
			tail |= uint64(c) << (8 * i)
		}
		h = (h ^ tail) * m
	}
	h = (h ^ h>>47) * m
	return h ^ h>>47
}
