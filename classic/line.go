// parseLine: the whole grammar of reply lines. Parse is a short cut through it
// for VALUE lines and gives the same answers.

package classic

import (
	"bytes"
	"math/bits"
)

// parseLine does what Parse promises, for any b of up to MaxLine bytes.
// Nothing is an error before the line end is there, so that a line cut
// anywhere is incomplete and nothing else.
func parseLine(b []byte, r *Reply) (n int, err error) {
	*r = Reply{line: b}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) == MaxLine {
			return 0, ErrReplyTooLong
		}
		return 0, nil
	}
	n = end + 1
	line := bytes.TrimSuffix(b[:end], []byte{'\r'})
	if bytes.IndexByte(line, '\r') >= 0 {
		return 0, ErrBadHeader
	}
	token := nextToken(line, 0)
	switch {
	case token.start == token.end:
		err = ErrEmptyLine
	case token.start > 0:
		err = ErrUnknownReply // no server indents
	case line[0]-'0' <= 9:
		err = r.setNumber(line, token)
	default:
		err = r.setWord(line, token)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// setWord takes up a line that begins with a word.
func (r *Reply) setWord(line []byte, token span) error {
	rest := nextToken(line, token.end) // behind the word
	word := string(line[:token.end])
	if r.Code = wordCode(word); r.Code != 0 {
		if rest.start != rest.end {
			return ErrBadHeader
		}
		return nil
	}
	switch word {
	case "VALUE":
		return r.setValue(line, rest)
	case "STAT":
		return r.setPair(CodeStat, line, rest)
	case "PREFIX":
		return r.setPair(CodePrefix, line, rest)
	case "VERSION":
		r.Code = CodeVersion
	case "ERROR", "ERROR:":
		r.Code, r.Class = CodeError, ClassError
	case "CLIENT_ERROR", "CLIENT_ERROR:":
		r.Code, r.Class = CodeError, ClassClient
	case "SERVER_ERROR", "SERVER_ERROR:":
		r.Code, r.Class = CodeError, ClassServer
	case "VA", "HD", "EN", "NF", "NS", "EX", "MN", "ME":
		return ErrUnexpectedReply
	default:
		return ErrUnknownReply
	}
	r.text = span{rest.start, uint16(len(line))}
	return nil
}

// wordCode returns the code of a reply that is one word, else 0.
func wordCode(word string) Code {
	switch word {
	case "END":
		return CodeEnd
	case "STORED":
		return CodeStored
	case "NOT_STORED":
		return CodeNotStored
	case "EXISTS":
		return CodeExists
	case "NOT_FOUND":
		return CodeNotFound
	case "DELETED":
		return CodeDeleted
	case "TOUCHED":
		return CodeTouched
	case "OK":
		return CodeOK
	case "RESET":
		return CodeReset
	}
	return 0
}

// setNumber takes up the answer to incr and decr, which may have spaces behind
// it.
func (r *Reply) setNumber(line []byte, token span) error {
	number, ok := parseNumber(line[:token.end])
	if rest := nextToken(line, token.end); !ok || rest.start != rest.end {
		return ErrBadNumber
	}
	r.Code, r.Number = CodeNumber, number
	return nil
}

// setValue takes up `VALUE key flags bytes [cas]`.
func (r *Reply) setValue(line []byte, key span) error {
	at := nextToken(line, key.end)
	flags, ok := parseNumber(line[at.start:at.end])
	if !ok || flags >= 1<<32 {
		return ErrBadFlags
	}
	at = nextToken(line, at.end)
	size, ok := parseNumber(line[at.start:at.end])
	if !ok {
		return ErrBadSize
	}
	if size > MaxValue {
		return ErrSizeTooLarge
	}
	if at = nextToken(line, at.end); at.start != at.end {
		if r.CAS, ok = parseNumber(line[at.start:at.end]); !ok {
			return ErrBadCAS
		}
		r.HasCAS = true
	}
	if at = nextToken(line, at.end); at.start != at.end {
		return ErrBadHeader
	}
	r.Code, r.key, r.ClientFlags, r.Size = CodeValue, key, uint32(flags), int(size)
	return nil
}

// setPair takes up a name and, if there is one, its value, which may hold
// spaces or be empty.
func (r *Reply) setPair(code Code, line []byte, name span) error {
	if name.start == name.end {
		return ErrBadHeader
	}
	r.Code, r.key = code, name
	r.text = span{min(name.end+1, uint16(len(line))), uint16(len(line))}
	return nil
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

// parseNumber reads a decimal number of up to 64 bits.
func parseNumber(token []byte) (v uint64, ok bool) {
	for _, c := range token {
		hi, lo := bits.Mul64(v, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if c < '0' || c > '9' || hi|carry != 0 {
			return 0, false
		}
		v = sum
	}
	return v, len(token) > 0
}
