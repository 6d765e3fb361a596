package memcachetest

// Numbers of the text protocols. 1.6.45 takes plain digits within range (and one
// '-' where a number may be negative); 1.6.18 calls C's strtol family, which
// skips spaces in front, takes a sign, and wraps what is too large for the field.

import "math"

// digits reads an unsigned decimal that fills all of b.
func digits(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// cNumber reads a number as strtoull does: spaces, a sign, digits; behind them
// must be the end or a space. sign is '-', '+' or 0.
func cNumber(b []byte) (n uint64, sign byte, ok bool) {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		sign, b = b[0], b[1:]
	}
	end := 0
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	if end < len(b) && !isSpace(b[end]) {
		return 0, sign, false
	}
	n, ok = digits(b[:end])
	return n, sign, ok
}

// number is the parser of one server version.
type number struct{ old bool }

// u64 reads a CAS, a delta or an initial value.
func (p number) u64(b []byte) (uint64, bool) {
	if !p.old {
		return digits(b)
	}
	n, sign, ok := cNumber(b)
	if sign == '-' {
		n = -n
		// A small negative number is huge as an unsigned one: refused.
		ok = ok && int64(n) >= 0
	}
	return n, ok
}

// u32 reads client flags of the meta protocol.
func (p number) u32(b []byte) (uint32, bool) {
	if !p.old {
		n, ok := digits(b)
		return uint32(n), ok && n <= math.MaxUint32
	}
	n, ok := p.u64(b)
	return uint32(n), ok
}

// i32 reads an expiration.
func (p number) i32(b []byte) (int32, bool) {
	if p.old {
		n, sign, ok := cNumber(b)
		if !ok || n > math.MaxInt64 {
			return 0, false
		}
		if sign == '-' {
			n = -n
		}
		return int32(n), true
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	n, ok := digits(b)
	switch {
	case !ok:
		return 0, false
	case negative:
		return int32(-int64(n)), n <= math.MaxInt32+1
	}
	return int32(n), n <= math.MaxInt32
}

// maxLength is the largest value length either version accepts.
const maxLength = math.MaxInt32 - 2

// length reads the length of a value.
func (p number) length(b []byte) (int, bool) {
	n, ok := p.i32(b)
	return int(n), ok && n >= 0 && n <= maxLength
}
