package ring

// Hash functions of spymemcached, which see a key as Java does: as UTF-16.

import "unicode/utf16"

// javaHashCode is String.hashCode, unsigned.
func javaHashCode(key string) uint32 {
	var h uint32
	for _, r := range key {
		if r >= 0x10000 {
			high, low := utf16.EncodeRune(r)
			h = h*31 + uint32(high)
			r = low
		}
		h = h*31 + uint32(r)
	}
	return h
}

// javaFNV is any of the FNV family over the code units of key in a 64-bit
// state of which the low half is the hash; xorFirst makes it the "a" variant.
func javaFNV(key string, offset, prime uint64, xorFirst bool) uint32 {
	h := offset
	unit := func(u rune) {
		if xorFirst {
			h = (h ^ uint64(u)) * prime
		} else {
			h = h*prime ^ uint64(u)
		}
	}
	for _, r := range key {
		if r >= 0x10000 {
			high, low := utf16.EncodeRune(r)
			unit(high)
			r = low
		}
		unit(r)
	}
	return uint32(h)
}
