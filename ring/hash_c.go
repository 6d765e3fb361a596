package ring

// Hash functions as the C clients (libmemcached, twemproxy) compute them.

import (
	"encoding/binary"
	"math/bits"
)

// signed widens a key byte as a signed C character is widened.
func signed(b byte) uint32 { return uint32(int32(int8(b))) }

func oneAtATime(key string) uint32 {
	var h uint32
	for i := range len(key) {
		h += signed(key[i])
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	h += h << 15
	return h
}

const (
	fnvOffset64 = 0xcbf29ce484222325
	fnvPrime64  = 0x100000001b3
	fnvOffset32 = 2166136261
	fnvPrime32  = 16777619
)

func fnv64(key string) uint32 {
	var h uint64 = fnvOffset64
	for i := range len(key) {
		h *= fnvPrime64
		h ^= uint64(int64(int8(key[i])))
	}
	return uint32(h)
}

func fnv64a(key string) uint32 {
	var h uint32 = fnvOffset64 & 0xffffffff
	for i := range len(key) {
		h ^= signed(key[i])
		h *= fnvPrime64 & 0xffffffff
	}
	return h
}

func fnv32(key string) uint32 {
	var h uint32 = fnvOffset32
	for i := range len(key) {
		h *= fnvPrime32
		h ^= signed(key[i])
	}
	return h
}

func fnv32a(key string) uint32 {
	var h uint32 = fnvOffset32
	for i := range len(key) {
		h ^= signed(key[i])
		h *= fnvPrime32
	}
	return h
}

var crc16Table = func() (table [256]uint16) {
	for i := range table {
		c := uint16(i) << 8
		for range 8 {
			carry := c >> 15
			c = c<<1 ^ carry*0x1021
		}
		table[i] = c
	}
	return table
}()

// crc16 keeps all 32 bits of its register, as twemproxy does.
func crc16(key string) uint32 {
	var c uint32
	for i := range len(key) {
		c = c<<8 ^ uint32(crc16Table[byte(c>>8)^key[i]])
	}
	return c
}

func hsieh(key string) uint32 {
	b := byteView(key)
	if len(b) == 0 {
		return 0
	}
	word := func(i int) uint32 { return uint32(binary.LittleEndian.Uint16(b[i:])) }
	var h uint32
	for ; len(b) >= 4; b = b[4:] {
		h += word(0)
		h = h<<16 ^ word(2)<<11 ^ h
		h += h >> 11
	}
	switch len(b) {
	case 3:
		h += word(0)
		h ^= h << 16
		h ^= signed(b[2]) << 18
		h += h >> 11
	case 2:
		h += word(0)
		h ^= h << 11
		h += h >> 17
	case 1:
		h += uint32(b[0])
		h ^= h << 10
		h += h >> 1
	}
	h ^= h << 3
	h += h >> 5
	h ^= h << 4
	h += h >> 17
	h ^= h << 25
	h += h >> 6
	return h
}

// littleEndian returns the up to 4 bytes of b as a number.
func littleEndian(b []byte) uint32 {
	var v uint32
	for i, c := range b {
		v |= uint32(c) << (8 * i)
	}
	return v
}

func murmur2(key string) uint32 {
	const m = 0x5bd1e995
	b := byteView(key)
	n := uint32(len(b))
	h := 0xdeadbeef*n ^ n
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k = (k ^ k>>24) * m
		h = h*m ^ k
	}
	if len(b) > 0 {
		h = (h ^ littleEndian(b)) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

// murmur3State is MurmurHash3 (x86, 32 bits) in the middle of a text, so that
// a common beginning is hashed once.
type murmur3State struct {
	h    uint32
	tail [3]byte // the last size%4 bytes
	size uint32
}

func murmur3Scramble(k uint32) uint32 {
	return bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
}

func murmur3(key string, seed uint32) uint32 {
	return murmur3State{h: seed}.add(key).sum()
}

// add returns the state after s.
func (m murmur3State) add(s string) murmur3State {
	block := func(k uint32) { m.h = bits.RotateLeft32(m.h^murmur3Scramble(k), 13)*5 + 0xe6546b64 }
	b := byteView(s)
	held := int(m.size % 4)
	m.size += uint32(len(b))
	if held > 0 {
		var head [4]byte
		copy(head[:], m.tail[:held])
		n := copy(head[held:], b)
		if b = b[n:]; held+n < 4 {
			copy(m.tail[:], head[:])
			return m
		}
		block(binary.LittleEndian.Uint32(head[:]))
	}
	for ; len(b) >= 4; b = b[4:] {
		block(binary.LittleEndian.Uint32(b))
	}
	copy(m.tail[:], b)
	return m
}

// sum returns the hash of all that was added.
func (m murmur3State) sum() uint32 {
	h := m.h
	if held := m.size % 4; held > 0 {
		h ^= murmur3Scramble(littleEndian(m.tail[:held]))
	}
	h ^= m.size
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// jenkins is lookup3 with the start value that libmemcached gives it, 13.
func jenkins(key string) uint32 {
	rot := bits.RotateLeft32
	k := byteView(key)
	a := 0xdeadbeef + uint32(len(k)) + 13
	b, c := a, a
	if len(k) == 0 {
		return c
	}
	for ; len(k) > 12; k = k[12:] {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
		a, c = (a-c)^rot(c, 4), c+b
		b, a = (b-a)^rot(a, 6), a+c
		c, b = (c-b)^rot(b, 8), b+a
		a, c = (a-c)^rot(c, 16), c+b
		b, a = (b-a)^rot(a, 19), a+c
		c, b = (c-b)^rot(b, 4), b+a
	}
	a += littleEndian(k[:min(len(k), 4)])
	b += littleEndian(k[min(len(k), 4):min(len(k), 8)])
	c += littleEndian(k[min(len(k), 8):])
	c = (c ^ b) - rot(b, 14)
	a = (a ^ c) - rot(c, 11)
	b = (b ^ a) - rot(a, 25)
	c = (c ^ b) - rot(b, 16)
	a = (a ^ c) - rot(c, 4)
	b = (b ^ a) - rot(a, 14)
	return (c ^ b) - rot(b, 24)
}
