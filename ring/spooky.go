package ring

// SpookyHash V2, of which mcrouter's WeightedCh3 takes 32 bits.

import (
	"encoding/binary"
	"math/bits"
)

const (
	spookyFill  = 0xdeadbeefdeadbeef
	spookyBlock = 96  // bytes mixed at once into 12 words
	spookyShort = 192 // shorter messages are mixed into 4 words
)

// spooky32 returns the low 32 bits of the hash.
func spooky32(b []byte, seed uint64) uint32 {
	if len(b) < spookyShort {
		return uint32(spookyOfShort(b, seed))
	}
	return uint32(spookyOfLong(b, seed))
}

// The rotations of one round of each kind of mixing.
var (
	spookyShortMix = [12]int{50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36}
	spookyShortEnd = [11]int{15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63}
	spookyLongMix  = [12]int{11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46}
	spookyLongEnd  = [12]int{44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54}
)

func spookyOfShort(b []byte, seed uint64) uint64 {
	word := func(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
	s := [4]uint64{seed, seed, spookyFill, spookyFill}
	mix := func() {
		for i, turn := range spookyShortMix {
			x, y, z := &s[(i+2)&3], &s[(i+3)&3], &s[i&3]
			*x = bits.RotateLeft64(*x, turn) + *y
			*z ^= *x
		}
	}
	size := uint64(len(b))
	for ; len(b) >= 32; b = b[32:] {
		s[2] += word(b)
		s[3] += word(b[8:])
		mix()
		s[0] += word(b[16:])
		s[1] += word(b[24:])
	}
	if len(b) >= 16 {
		s[2] += word(b)
		s[3] += word(b[8:])
		mix()
		b = b[16:]
	}
	s[3] += size << 56
	if len(b) == 0 {
		s[2] += spookyFill
		s[3] += spookyFill
	} else {
		var last [16]byte
		copy(last[:], b)
		s[2] += word(last[:])
		s[3] += word(last[8:])
	}
	for i, turn := range spookyShortEnd {
		x, y := &s[(i+3)&3], &s[(i+2)&3]
		*x ^= *y
		*y = bits.RotateLeft64(*y, turn)
		*x += *y
	}
	return s[0]
}

func spookyOfLong(b []byte, seed uint64) uint64 {
	var s [12]uint64
	for i := range s {
		s[i] = [3]uint64{seed, seed, spookyFill}[i%3]
	}
	for ; len(b) >= spookyBlock; b = b[spookyBlock:] {
		for i, turn := range spookyLongMix {
			s[i] += binary.LittleEndian.Uint64(b[8*i:])
			s[(i+2)%12] ^= s[(i+10)%12]
			s[(i+11)%12] ^= s[i]
			s[i] = bits.RotateLeft64(s[i], turn)
			s[(i+11)%12] += s[(i+1)%12]
		}
	}
	var last [spookyBlock]byte
	copy(last[:], b)
	last[spookyBlock-1] = byte(len(b))
	for i := range s {
		s[i] += binary.LittleEndian.Uint64(last[8*i:])
	}
	for range 3 {
		for i, turn := range spookyLongEnd {
			s[(i+11)%12] += s[(i+1)%12]
			s[(i+2)%12] ^= s[(i+11)%12]
			s[(i+1)%12] = bits.RotateLeft64(s[(i+1)%12], turn)
		}
	}
	return s[0]
}
