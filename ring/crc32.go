package ring

// CRC-32 (IEEE) of keys. hash/crc32 is made for long data: below the 64 bytes
// from which it has a processor's help it goes byte by byte or through checks
// that take longer than a short key. Here a step takes eight bytes, the next
// four, and only what is left goes byte by byte.

import (
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
)

// crcSlices tell in slice n what a byte does to the sum once n more bytes have
// followed it.
type crcSlices [8][256]uint32

// crcMade is nil until the first key is hashed.
var crcMade atomic.Pointer[crcSlices]

func makeCRC() *crcSlices {
	t := new(crcSlices)
	t[0] = *crc32.IEEETable
	for n := 1; n < len(t); n++ {
		for b := range t[n] {
			before := t[n-1][b]
			t[n][b] = before>>8 ^ t[0][byte(before)]
		}
	}
	crcMade.Store(t)
	return t
}

// crcAssisted is the length from which hash/crc32 has a processor's help.
const crcAssisted = 64

func crc32IEEE(key string) uint32 {
	b := byteView(key)
	if len(b) >= crcAssisted {
		return crc32.ChecksumIEEE(b)
	}
	t := crcMade.Load()
	if t == nil {
		t = makeCRC()
	}
	sum := ^uint32(0)
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b) ^ uint64(sum)
		sum = t[7][byte(x)] ^ t[6][byte(x>>8)] ^ t[5][byte(x>>16)] ^ t[4][byte(x>>24)] ^
			t[3][byte(x>>32)] ^ t[2][byte(x>>40)] ^ t[1][byte(x>>48)] ^ t[0][byte(x>>56)]
		b = b[8:]
	}
	if len(b) >= 4 {
		x := binary.LittleEndian.Uint32(b) ^ sum
		sum = t[3][byte(x)] ^ t[2][byte(x>>8)] ^ t[1][byte(x>>16)] ^ t[0][byte(x>>24)]
		b = b[4:]
	}
	for _, c := range b {
		sum = sum>>8 ^ t[0][byte(sum)^c]
	}
	return ^sum
}

// crc256 is hashCRC256.
func crc256(key string) uint64 { return uint64(crc32IEEE(key[:min(len(key), 256)])) }
