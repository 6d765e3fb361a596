// Parse: one reply line, read in place. VALUE lines, of which a batch has one
// for each key, take a single pass here; all else, and every error, is left to
// parseLine.

package classic

import (
	"encoding/binary"
	"math/bits"
)

// Parse reads the reply line at the start of b into r and returns how many
// bytes it is long, line end included. It looks at the first MaxLine bytes at
// most, keeps no state and allocates nothing.
//
// n is 0 and err nil when b holds only the first part of a line: call again
// with more bytes behind the same ones. How the bytes came in pieces never
// changes the answer. r means nothing then, nor beside an error.
//
// The error is a [ProtocolError]: b is no reply, or one after which the start
// of the next is not known, and the connection must be closed (n is 0).
//
// Extra spaces and a bare LF as line end do no harm. A size above MaxValue is
// an error; a caller who wants less compares r.Size before it reserves memory.
// For VALUE, [ParseBody] takes it from there.
func Parse(b []byte, r *Reply) (n int, err error) {
	b = b[:min(len(b), MaxLine)]
	if len(b) < len(valueWord) || string(b[:len(valueWord)]) != valueWord {
		return parseLine(b, r)
	}

	// One space, the key, one space, and so on: anything else is unusual.
	start := uint(len(valueWord))
	key := tokenEnd(b, start)
	if key == start || key >= uint(len(b)) || b[key] != ' ' {
		return parseLine(b, r)
	}
	flags, i := digits(b, key+1)
	if i-key-2 >= 9 || i >= uint(len(b)) || b[i] != ' ' {
		return parseLine(b, r)
	}
	size, end := digits(b, i+1)
	if end-i-2 >= 9 {
		return parseLine(b, r)
	}
	cas, hasCAS := uint64(0), false
	if end < uint(len(b)) && b[end] == ' ' {
		i = end
		cas, end = digits(b, i+1)
		if end-i-2 >= 18 {
			return parseLine(b, r)
		}
		hasCAS = true
	}
	if end+1 >= uint(len(b)) || b[end] != '\r' || b[end+1] != '\n' {
		return parseLine(b, r)
	}
	r.Code, r.Class, r.HasCAS, r.ClientFlags = CodeValue, 0, hasCAS, uint32(flags)
	r.Size, r.CAS, r.Number = int(size), cas, 0
	r.line, r.key, r.text = b, span{uint16(start), uint16(key)}, span{}
	return int(end) + 2, nil
}

const valueWord = "VALUE "

// digits reads the digits at b[i:]. v is right for up to 19 of them.
func digits(b []byte, i uint) (v uint64, end uint) {
	for i < uint(len(b)) {
		d := uint64(b[i]) ^ '0' // 0 to 9 for digits alone
		if d > 9 {
			break
		}
		v = v*10 + d
		i++
	}
	return v, i
}

// tokenEnd returns the place of the first byte up to ' ' in b[i:], eight bytes
// at a time, since keys are long. It is len(b) if there is none.
func tokenEnd(b []byte, i uint) uint {
	for i+8 <= uint(len(b)) {
		const each = 0x0101010101010101
		x := binary.LittleEndian.Uint64(b[i:])
		// A byte below 0x21 wraps when 0x21 is taken from it, which sets its top
		// bit. The lowest such bit is exact; those above may be borrows.
		if low := (x - 0x21*each) &^ x & (0x80 * each); low != 0 {
			return i + uint(bits.TrailingZeros64(low))/8
		}
		i += 8
	}
	for i < uint(len(b)) && b[i] > ' ' {
		i++
	}
	return i
}
