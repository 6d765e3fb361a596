// Parse: one reply line, read in place. VALUE lines, of which a batch has one
// for each key, take a single pass.

package classic

import (
	"bytes"
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
	if len(b) > 6 && string(b[:6]) == "VALUE " {
		return parseValue(b, r)
	}
	return parseLine(b, r)
}

// lineError decides what to say of a line that could not be read to its end.
// Nothing is an error before its line end is there, so that a line cut
// anywhere is only incomplete.
func lineError(b []byte, e ProtocolError) error {
	if bytes.IndexByte(b, '\n') >= 0 {
		return e
	}
	if len(b) == MaxLine {
		return ErrReplyTooLong
	}
	return nil
}

// parseValue reads `VALUE key flags bytes [cas]`. b starts with "VALUE ".
func parseValue(b []byte, r *Reply) (n int, err error) {
	*r = Reply{Code: CodeValue}
	i := skipSpaces(b, len("VALUE "))
	start := i
	for i < len(b) && !endsToken(b[i]) {
		i++
	}
	r.key = span{uint16(start), uint16(i)}

	flags, i, ok := parseNumber(b, skipSpaces(b, i))
	if !ok || flags >= 1<<32 {
		return 0, lineError(b, ErrBadFlags)
	}
	size, i, ok := parseNumber(b, skipSpaces(b, i))
	if !ok {
		return 0, lineError(b, ErrBadSize)
	}
	if size > MaxValue {
		return 0, lineError(b, ErrSizeTooLarge)
	}
	r.ClientFlags, r.Size = uint32(flags), int(size)

	i = skipSpaces(b, i)
	if i < len(b) && b[i] > ' ' {
		if r.CAS, i, r.HasCAS = parseNumber(b, i); !r.HasCAS {
			return 0, lineError(b, ErrBadCAS)
		}
		i = skipSpaces(b, i)
	}
	if i < len(b) && b[i] == '\r' {
		i++
	}
	if i == len(b) || b[i] != '\n' {
		return 0, lineError(b, ErrBadHeader)
	}
	n = i + 1
	r.line = b[:n:n]
	return n, nil
}

func skipSpaces(b []byte, i int) int {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return i
}

func endsToken(c byte) bool { return c == ' ' || c == '\r' || c == '\n' }

// parseNumber reads the token at b[i:], which is a decimal number that fits in
// 64 bits if ok. end is behind its digits. A token that b cuts off counts as
// it stands; the caller finds the line incomplete.
func parseNumber(b []byte, i int) (v uint64, end int, ok bool) {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	if i-start > 19 {
		v, ok = parseLongNumber(b[start:i])
		return v, i, ok && (i == len(b) || endsToken(b[i]))
	}
	return v, i, i > start && (i == len(b) || endsToken(b[i]))
}

// parseLongNumber reads digits that may be too many for 64 bits.
func parseLongNumber(digits []byte) (v uint64, ok bool) {
	for _, c := range digits {
		hi, lo := bits.Mul64(v, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if hi|carry != 0 {
			return 0, false
		}
		v = sum
	}
	return v, true
}

// ParseBody returns the value of size bytes at the start of b and the number
// of bytes that belong to it, CRLF included. value is part of b, its capacity
// clipped.
//
// n is 0 and err nil when b does not hold all of them yet. The error is
// [ErrBodyTerminator], after which the connection must be closed. It never
// allocates; size must be 0 to MaxValue, as Parse makes sure.
func ParseBody(b []byte, size int) (value []byte, n int, err error) {
	if len(b) < size+2 {
		return nil, 0, nil
	}
	if b[size] != '\r' || b[size+1] != '\n' {
		return nil, 0, ErrBodyTerminator
	}
	return b[:size:size], size + 2, nil
}
