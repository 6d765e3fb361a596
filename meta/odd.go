// The reply lines that Parse meets seldom: error lines, ME, foreign ones,
// numbers and sizes of unusual form, and lines that are not there yet.

package meta

import (
	"bytes"
	"math/bits"
)

// lineError decides what to say of a line that Parse could not read to its
// end. Nothing is an error before its line end is there, so that a line cut
// anywhere is only incomplete.
func lineError(b []byte, e ProtocolError) error {
	if bytes.IndexByte(b, '\n') >= 0 {
		return e
	}
	if len(b) == MaxLine {
		return ErrLineTooLong
	}
	return nil
}

// parseOther reads the lines that do not begin with a code of two letters
// other than ME.
func parseOther(b []byte, r *Reply) (int, error) {
	n := bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		return 0, lineError(b, 0)
	}
	line := b[:n-1]
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	if bytes.IndexByte(line, '\r') >= 0 {
		return 0, ErrBadHeader
	}
	*r = Reply{line: b[:n:n]}
	token, rest, _ := bytes.Cut(line, []byte{' '})
	switch string(token) {
	case "":
		if len(bytes.TrimLeft(rest, " ")) > 0 {
			return 0, ErrUnknownCode // leading spaces
		}
		return 0, ErrEmptyLine
	case "HD":
		r.Code = CodeDone // only "HD" with a bare LF is so short that it comes here
	case "EN":
		r.Code = CodeMiss
	case "NF":
		r.Code = CodeNotFound
	case "NS":
		r.Code = CodeNotStored
	case "EX":
		r.Code = CodeExists
	case "MN":
		r.Code = CodeNoop
	case "VA":
		return 0, ErrMissingSize
	case "ME":
		return parseDebug(len(line), n, r)
	case "ERROR", "ERROR:":
		r.setError(ClassError, len("ERROR"), len(line))
	case "CLIENT_ERROR", "CLIENT_ERROR:":
		r.setError(ClassClient, len("CLIENT_ERROR"), len(line))
	case "SERVER_ERROR", "SERVER_ERROR:":
		r.setError(ClassServer, len("SERVER_ERROR"), len(line))
	case "VALUE", "END", "STORED", "NOT_STORED", "EXISTS", "NOT_FOUND", "DELETED", "TOUCHED",
		"STAT", "VERSION", "RESET":
		return 0, ErrUnexpectedReply
	default:
		return 0, ErrUnknownCode
	}
	return n, nil
}

// setError fills in an error line of the given length. Its text begins at
// start, behind one colon and any spaces: shutdown's refusal has the colon.
func (r *Reply) setError(class ErrorClass, start, length int) {
	if start < length && r.line[start] == ':' {
		start++
	}
	for start < length && r.line[start] == ' ' {
		start++
	}
	r.Code, r.Class = CodeError, class
	r.rest = span{uint16(start), uint16(length)}
}

// parseDebug reads an ME line: a key, which may hold '=', and name=value
// fields.
func parseDebug(length, n int, r *Reply) (int, error) {
	start := len("ME")
	for start < length && r.line[start] == ' ' {
		start++
	}
	end := start
	for end < length && r.line[end] != ' ' {
		end++
	}
	if start == end {
		return n, ErrBadDebug
	}
	for field := range bytes.FieldsFuncSeq(r.line[end:length], func(c rune) bool { return c == ' ' }) {
		if bytes.IndexByte(field, '=') <= 0 {
			return n, ErrBadDebug
		}
	}
	r.Code, r.Has = CodeDebug, FieldKey
	r.key = span{uint16(start), uint16(end)}
	r.rest = span{uint16(end), uint16(length)}
	return n, nil
}

// parseSize reads the size of a VA line that has no plain one right behind its
// first space. end is 0 when there is no size to return.
func parseSize(b []byte) (size, end int, err error) {
	i := 2
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i == len(b) {
		return 0, 0, lineError(b, 0)
	}
	if b[i] == '\r' || b[i] == '\n' {
		return 0, 0, lineError(b, ErrMissingSize)
	}
	start := i
	wide := uint64(0)
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		wide = min(wide*10+uint64(b[i]-'0'), MaxValue+1)
	}
	switch {
	case i == len(b):
		return 0, 0, lineError(b, 0)
	case i == start || !endsToken(b[i]):
		return 0, 0, lineError(b, ErrBadSize)
	case wide > MaxValue:
		return 0, 0, lineError(b, ErrSizeTooLarge)
	}
	return int(wide), i, nil
}

// parseLongNumber is parseNumber for numbers that are empty, malformed or of
// 20 digits and more. end is behind the token whatever it holds.
func parseLongNumber(b []byte, i int) (v uint64, end int, ok bool) {
	start := i
	ok = true
	for ; i < len(b) && !endsToken(b[i]); i++ {
		hi, lo := bits.Mul64(v, 10)
		sum, carry := bits.Add64(lo, uint64(b[i]-'0'), 0)
		if b[i]-'0' > 9 || hi|carry != 0 {
			ok = false
		}
		v = sum
	}
	return v, i, ok && i > start
}

// isBase64 tells whether b is base64 as servers write it: the standard
// alphabet, padded.
func isBase64(b []byte) bool {
	if len(b)%4 != 0 {
		return false
	}
	for range 2 {
		if len(b) > 0 && b[len(b)-1] == '=' {
			b = b[:len(b)-1]
		}
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
