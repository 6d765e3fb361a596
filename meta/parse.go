// Parse: one reply header, read in place in a single pass. What every server
// sends all day is here; what is rare or wrong is in odd.go.

package meta

import "math"

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
	if len(b) < 4 {
		return parseOther(b, r)
	}
	*r = Reply{}
	i := 2
	switch uint(b[0])<<8 | uint(b[1]) {
	case 'V'<<8 | 'A':
		if b[2] != ' ' {
			return parseOther(b, r)
		}
		size := 0
		for i = 3; i < len(b) && b[i]-'0' <= 9; i++ {
			size = size*10 + int(b[i]-'0')
		}
		// One to nine digits are what servers send for all values below 1 GB.
		if uint(i-4) > 8 {
			if size, i, err = parseSize(b); i == 0 {
				return 0, err
			}
		}
		r.Size = size
		r.Code = CodeValue
	case 'H'<<8 | 'D':
		r.Code = CodeDone
	case 'E'<<8 | 'N':
		r.Code = CodeMiss
	case 'N'<<8 | 'F':
		r.Code = CodeNotFound
	case 'N'<<8 | 'S':
		r.Code = CodeNotStored
	case 'E'<<8 | 'X':
		r.Code = CodeExists
	case 'M'<<8 | 'N':
		r.Code = CodeNoop
	default:
		return parseOther(b, r)
	}
	if i < len(b) && !endsToken(b[i]) {
		if r.Code == CodeValue {
			return 0, lineError(b, ErrBadSize)
		}
		return parseOther(b, r)
	}

	var has, bad Fields
	for i < len(b) {
		letter := b[i]
		i++
		switch letter {
		case ' ':
		case '\r':
			if i == len(b) || b[i] != '\n' {
				return 0, lineError(b, ErrBadHeader)
			}
			i++
			fallthrough
		case '\n':
			r.Has, r.Malformed = has, bad
			r.line = b[:i:i]
			if has&(FieldBase64|FieldKey) == FieldBase64|FieldKey && !isBase64(r.Key()) {
				return 0, ErrBadBase64
			}
			return i, nil
		case 'f':
			var v uint64
			var ok bool
			v, i, ok = parseNumber(b, i)
			if (has|bad)&FieldClientFlags != 0 {
			} else if ok && v <= math.MaxUint32 {
				r.ClientFlags = uint32(v)
				has |= FieldClientFlags
			} else {
				bad |= FieldClientFlags
			}
		case 'c':
			var v uint64
			var ok bool
			v, i, ok = parseNumber(b, i)
			if (has|bad)&FieldCAS != 0 {
			} else if ok {
				r.CAS = v
				has |= FieldCAS
			} else {
				bad |= FieldCAS
			}
		case 's':
			var v uint64
			var ok bool
			v, i, ok = parseNumber(b, i)
			if (has|bad)&FieldSize != 0 {
			} else if ok && v <= math.MaxInt {
				r.ItemSize = int(v)
				has |= FieldSize
			} else {
				bad |= FieldSize
			}
		case 't':
			var v uint64
			var ok bool
			if i < len(b) && b[i] == '-' {
				v, i, ok = parseNumber(b, i+1)
				ok = ok && v <= math.MaxInt64
				v = -v
			} else {
				v, i, ok = parseNumber(b, i)
				ok = ok && v <= math.MaxInt64
			}
			if (has|bad)&FieldTTL != 0 {
			} else if ok {
				r.TTL = int64(v)
				has |= FieldTTL
			} else {
				bad |= FieldTTL
			}
		case 'O':
			start := i
			for i < len(b) && !endsToken(b[i]) {
				i++
			}
			if has&FieldOpaque == 0 {
				r.opaque = span{uint16(start), uint16(i)}
				has |= FieldOpaque
			}
		case 'k':
			start := i
			for i < len(b) && !endsToken(b[i]) {
				i++
			}
			if has&FieldKey == 0 {
				r.key = span{uint16(start), uint16(i)}
				has |= FieldKey
			}
		case 'l':
			var v uint64
			var ok bool
			v, i, ok = parseNumber(b, i)
			if (has|bad)&FieldLastAccess != 0 {
			} else if ok && v <= math.MaxInt64 {
				r.LastAccess = int64(v)
				has |= FieldLastAccess
			} else {
				bad |= FieldLastAccess
			}
		case 'h':
			var v uint64
			var ok bool
			v, i, ok = parseNumber(b, i)
			if (has|bad)&FieldHit != 0 {
			} else if ok && v <= 1 {
				r.Hit = v == 1
				has |= FieldHit
			} else {
				bad |= FieldHit
			}
		default:
			has |= fieldOf(letter)
			for i < len(b) && !endsToken(b[i]) {
				i++
			}
		}
	}
	return 0, lineError(b, 0)
}

func fieldOf(letter byte) Fields {
	switch letter {
	case 'W':
		return FieldWin
	case 'X':
		return FieldStale
	case 'Z':
		return FieldLost
	case 'b':
		return FieldBase64
	}
	return 0
}

func endsToken(c byte) bool { return c <= ' ' && (c == ' ' || c == '\r' || c == '\n') }

func parseNumber(b []byte, i int) (v uint64, end int, ok bool) {
	start := i
	for i < len(b) {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + uint64(d)
		i++
	}
	if uint(i-start-1) > 18 || i < len(b) && !endsToken(b[i]) {
		return parseLongNumber(b, start)
	}
	return v, i, true
}
