// Parse: one reply header, read in place in a single pass. What servers send
// all day is read here; all else, and every error, is left to parseAny.

package meta

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// MaxLine is the longest reply header accepted, line end included. memcached
// sends at most about 650 bytes; proxies may say more in an error line.
const MaxLine = 2048

// Parse reads the reply header at the start of b into r and returns how many
// bytes it is long, line end included. It looks at the first MaxLine bytes at
// most, keeps no state and allocates nothing.
//
// n is 0 and err nil when b holds only the first part of a line: call again
// with more bytes behind the same ones. How the bytes came in pieces never
// changes the answer. r means nothing then, nor beside an error.
//
// The error is a [ProtocolError]: b is no reply, or one after which the start
// of the next is not known, and the connection must be closed (n is 0). Only
// beside [ErrBadDebug] n is the length of the line and the stream is in step.
//
// Flags may come in any order. Those not known are skipped, of a repeated one
// the first counts, and extra spaces or a bare LF as line end do no harm. A
// size above MaxValue is an error; a caller who wants less compares r.Size
// before it reserves memory. For VA, [ParseBody] takes it from there.
func Parse(b []byte, r *Reply) (n int, err error) {
	b = b[:min(len(b), MaxLine)]
	if len(b) < len("HD\r\n") {
		return parseAny(b, r)
	}
	// Field by field, since an assignment of the whole struct would take the
	// slower way of a pointer write. has covers the spans.
	r.Class, r.Hit, r.Has, r.Malformed, r.ClientFlags = 0, false, 0, 0, 0
	r.Size, r.CAS, r.ItemSize, r.LastAccess, r.TTL = 0, 0, 0, 0, 0

	i := uint(len("HD"))
	if string(b[:3]) == "VA " {
		size, end := digits(b, 3)
		if end-3-1 >= 9 { // none, or more than MaxValue surely allows
			return parseAny(b, r)
		}
		r.Code, r.Size = CodeValue, int(size)
		i = end
	} else if r.Code = plainCode(b[0], b[1]); r.Code == 0 {
		return parseAny(b, r)
	}

	// b[i] is the byte behind a token. A flag is a space, a letter and perhaps
	// an argument. The letters are those that clients ask for on every read, the
	// commonest first: a switch on letter would be a search tree or a jump
	// table, and both are slower than a match at the first comparisons.
	var has Fields
	for i+1 < uint(len(b)) {
		if b[i] != ' ' {
			if b[i] == '\r' && b[i+1] == '\n' {
				r.Has, r.line = has, b
				return int(i) + 2, nil
			}
			break
		}
		letter := b[i+1]
		start := i + 2
		switch {
		case letter == 'f':
			v, end := digits(b, start)
			if end-start-1 >= 9 || has&FieldClientFlags != 0 {
				return parseAny(b, r)
			}
			r.ClientFlags = uint32(v)
			has |= FieldClientFlags
			i = end
		case letter == 'O':
			end := start
			for end < uint(len(b)) && b[end] > ' ' {
				end++
			}
			if has&FieldOpaque != 0 {
				return parseAny(b, r)
			}
			r.opaque = span{uint16(start), uint16(end)}
			has |= FieldOpaque
			i = end
		case letter == 'c':
			v, end := digits(b, start)
			if end-start-1 >= 18 || has&FieldCAS != 0 {
				return parseAny(b, r)
			}
			r.CAS = v
			has |= FieldCAS
			i = end
		case letter == 's':
			v, end := digits(b, start)
			if end-start-1 >= 9 || has&FieldSize != 0 {
				return parseAny(b, r)
			}
			r.ItemSize = int(v)
			has |= FieldSize
			i = end
		case letter == 'k':
			end := tokenEnd(b, start)
			if has&FieldKey != 0 {
				return parseAny(b, r)
			}
			r.key = span{uint16(start), uint16(end)}
			has |= FieldKey
			i = end
		case letter == 't':
			v, end := digits(b, start)
			if end == start && end+1 < uint(len(b)) && b[end] == '-' && b[end+1] == '1' {
				v, end = math.MaxUint64, end+2 // -1: an item without end
			}
			if end-start-1 >= 18 || has&FieldTTL != 0 {
				return parseAny(b, r)
			}
			r.TTL = int64(v)
			has |= FieldTTL
			i = end
		case letter == 'W':
			has |= FieldWin
			i = start
		case letter == 'X':
			has |= FieldStale
			i = start
		case letter == 'Z':
			has |= FieldLost
			i = start
		default:
			return parseAny(b, r)
		}
	}
	return parseAny(b, r)
}

// plainCode returns the code of two letters other than VA and ME, else 0.
func plainCode(first, second byte) Code {
	switch uint(first)<<8 | uint(second) {
	case 'H'<<8 | 'D':
		return CodeDone
	case 'E'<<8 | 'N':
		return CodeMiss
	case 'N'<<8 | 'F':
		return CodeNotFound
	case 'N'<<8 | 'S':
		return CodeNotStored
	case 'E'<<8 | 'X':
		return CodeExists
	case 'M'<<8 | 'N':
		return CodeNoop
	}
	return 0
}

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
