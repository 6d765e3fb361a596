// parseAny: the whole grammar of reply lines. Parse is a short cut through it
// for the commonest lines and gives the same answers.

package meta

import (
	"bytes"
	"math"
	"math/bits"
)

// parseAny does what Parse promises, for any b of up to MaxLine bytes. Nothing
// is an error before the line end is there, so that a line cut anywhere is
// incomplete and nothing else.
func parseAny(b []byte, r *Reply) (n int, err error) {
	*r = Reply{line: b} // whatever comes, nothing of an earlier line remains
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) == MaxLine {
			return 0, ErrLineTooLong
		}
		return 0, nil
	}
	n = end + 1
	line := bytes.TrimSuffix(b[:end], []byte{'\r'})
	if bytes.IndexByte(line, '\r') >= 0 {
		return 0, ErrBadHeader
	}
	token := nextToken(line, 0)
	if token.start == token.end {
		return 0, ErrEmptyLine
	}
	if token.start > 0 {
		return 0, ErrUnknownCode // no server indents
	}

	switch word := string(line[:token.end]); word {
	case "HD", "EN", "NF", "NS", "EX", "MN":
		r.Code = plainCode(word[0], word[1])
	case "VA":
		r.Code = CodeValue
		token = nextToken(line, token.end)
		if r.Size, err = parseSize(line[token.start:token.end]); err != nil {
			return 0, err
		}
	case "ME":
		r.Code = CodeDebug
		return n, r.setDebug(line, token)
	case "ERROR", "ERROR:":
		r.setError(ClassError, line, token)
		return n, nil
	case "CLIENT_ERROR", "CLIENT_ERROR:":
		r.setError(ClassClient, line, token)
		return n, nil
	case "SERVER_ERROR", "SERVER_ERROR:":
		r.setError(ClassServer, line, token)
		return n, nil
	case "VALUE", "END", "STORED", "NOT_STORED", "EXISTS", "NOT_FOUND", "DELETED", "TOUCHED",
		"STAT", "VERSION", "RESET", "PREFIX":
		return 0, ErrUnexpectedReply
	default:
		return 0, ErrUnknownCode
	}

	for {
		token = nextToken(line, token.end)
		if token.start == token.end {
			break
		}
		r.setFlag(line[token.start], span{token.start + 1, token.end})
	}
	if r.Base64() && !isBase64(r.Key()) {
		return 0, ErrBadBase64
	}
	return n, nil
}

// nextToken returns the first token of line at or behind i, an empty one at
// the end of the line if there is none.
func nextToken(line []byte, i uint16) span {
	for int(i) < len(line) && line[i] == ' ' {
		i++
	}
	start := i
	for int(i) < len(line) && line[i] != ' ' {
		i++
	}
	return span{start, i}
}

// parseSize reads the size token of a VA line.
func parseSize(token []byte) (int, error) {
	if len(token) == 0 {
		return 0, ErrMissingSize
	}
	size := uint64(0)
	for _, c := range token {
		if c < '0' || c > '9' {
			return 0, ErrBadSize
		}
		size = min(size*10+uint64(c-'0'), MaxValue+1)
	}
	if size > MaxValue {
		return 0, ErrSizeTooLarge
	}
	return int(size), nil
}

// setFlag takes up one flag, whose argument is at arg. Unknown flags and those
// that the line has carried already change nothing.
func (r *Reply) setFlag(letter byte, arg span) {
	field := flagField(letter)
	if (r.Has|r.Malformed)&field != 0 {
		return
	}
	ok := true
	switch token := r.slice(arg); field {
	case FieldOpaque:
		r.opaque = arg
	case FieldKey:
		r.key = arg
	case FieldClientFlags:
		var v uint64
		v, ok = parseNumber(token, math.MaxUint32)
		r.ClientFlags = uint32(v)
	case FieldCAS:
		r.CAS, ok = parseNumber(token, math.MaxUint64)
	case FieldSize:
		var v uint64
		v, ok = parseNumber(token, math.MaxInt)
		r.ItemSize = int(v)
	case FieldLastAccess:
		var v uint64
		v, ok = parseNumber(token, math.MaxInt64)
		r.LastAccess = int64(v)
	case FieldHit:
		var v uint64
		v, ok = parseNumber(token, 1)
		r.Hit = v == 1
	case FieldTTL:
		r.TTL, ok = parseTTL(token)
	}
	if ok {
		r.Has |= field
	} else {
		r.Malformed |= field
	}
}

// flagField returns the field of a flag of replies, 0 if it is not known.
func flagField(letter byte) Fields {
	switch letter {
	case 'f':
		return FieldClientFlags
	case 'c':
		return FieldCAS
	case 's':
		return FieldSize
	case 't':
		return FieldTTL
	case 'h':
		return FieldHit
	case 'l':
		return FieldLastAccess
	case 'k':
		return FieldKey
	case 'O':
		return FieldOpaque
	case 'b':
		return FieldBase64
	case 'W':
		return FieldWin
	case 'X':
		return FieldStale
	case 'Z':
		return FieldLost
	}
	return 0
}

// parseNumber reads a decimal number of at most limit. v is 0 unless ok.
func parseNumber(token []byte, limit uint64) (v uint64, ok bool) {
	for _, c := range token {
		hi, lo := bits.Mul64(v, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if c < '0' || c > '9' || hi|carry != 0 || sum > limit {
			return 0, false
		}
		v = sum
	}
	return v, len(token) > 0
}

// parseTTL reads the only number with a sign. v is 0 unless ok.
func parseTTL(token []byte) (v int64, ok bool) {
	number, negative := bytes.CutPrefix(token, []byte{'-'})
	u, ok := parseNumber(number, math.MaxInt64)
	if negative {
		return -int64(u), ok
	}
	return int64(u), ok
}

// setError takes up an error line. Its text begins behind the class, one colon
// (the refusal of shutdown has it) and any spaces.
func (r *Reply) setError(class ErrorClass, line []byte, token span) {
	start := token.end
	for int(start) < len(line) && line[start] == ' ' {
		start++
	}
	r.Code, r.Class = CodeError, class
	r.rest = span{start, uint16(len(line))}
}

// setDebug takes up an ME line: a key, which may hold '=', and name=value
// fields.
func (r *Reply) setDebug(line []byte, token span) error {
	r.Has, r.key = FieldKey, nextToken(line, token.end)
	r.rest = span{r.key.end, uint16(len(line))}
	if r.key.start == r.key.end {
		return ErrBadDebug
	}
	for token = r.key; ; {
		token = nextToken(line, token.end)
		if token.start == token.end {
			return nil
		}
		if bytes.IndexByte(line[token.start:token.end], '=') <= 0 {
			return ErrBadDebug
		}
	}
}

// isBase64 tells whether b is base64 as servers write it: the standard
// alphabet, padded.
func isBase64(b []byte) bool {
	if len(b)%4 != 0 {
		return false
	}
	for range 2 {
		b = bytes.TrimSuffix(b, []byte{'='})
	}
	for _, c := range b {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}
