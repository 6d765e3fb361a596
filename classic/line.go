// The reply lines other than VALUE.

package classic

import "bytes"

func parseLine(b []byte, r *Reply) (n int, err error) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		return 0, lineError(b, 0)
	}
	end := n - 1
	if end > 0 && b[end-1] == '\r' {
		end--
	}
	line := b[:end]
	if bytes.IndexByte(line, '\r') >= 0 {
		return 0, ErrBadHeader
	}
	token := line
	if i := bytes.IndexByte(line, ' '); i >= 0 {
		token = line[:i]
	}
	rest := skipSpaces(line, len(token)) // where something follows the token, if anything does

	*r = Reply{line: b[:n:n]}
	if len(token) > 0 && token[0]-'0' <= 9 {
		err = r.setNumber(line)
	} else if r.Code = wordCode(string(token)); r.Code != 0 {
		if rest < end {
			err = ErrBadHeader
		}
	} else {
		err = r.setText(token, rest, end)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// wordCode returns the code of a reply that is one word, else 0.
func wordCode(token string) Code {
	switch token {
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

// setNumber reads the answer to incr and decr, which may have spaces behind it.
func (r *Reply) setNumber(line []byte) error {
	v, i, ok := parseNumber(line, 0)
	if !ok || skipSpaces(line, i) != len(line) {
		return ErrBadNumber
	}
	r.Code, r.Number = CodeNumber, v
	return nil
}

// setText reads the replies that begin with token and have a text of any form
// at r.line[rest:end].
func (r *Reply) setText(token []byte, rest, end int) error {
	switch string(token) {
	case "VERSION":
		r.Code = CodeVersion
	case "STAT":
		return r.setPair(CodeStat, rest, end)
	case "PREFIX":
		return r.setPair(CodePrefix, rest, end)
	case "ERROR", "ERROR:":
		r.Code, r.Class = CodeError, ClassError
	case "CLIENT_ERROR", "CLIENT_ERROR:":
		r.Code, r.Class = CodeError, ClassClient
	case "SERVER_ERROR", "SERVER_ERROR:":
		r.Code, r.Class = CodeError, ClassServer
	case "VALUE":
		return ErrBadHeader
	case "VA", "HD", "EN", "NF", "NS", "EX", "MN", "ME":
		return ErrUnexpectedReply
	case "":
		if rest == end {
			return ErrEmptyLine
		}
		return ErrUnknownReply
	default:
		return ErrUnknownReply
	}
	r.text = span{uint16(rest), uint16(end)}
	return nil
}

// setPair reads a name and, if there is one, its value, which may hold spaces
// or be empty.
func (r *Reply) setPair(code Code, start, end int) error {
	i := start
	for i < end && r.line[i] != ' ' {
		i++
	}
	if i == start {
		return ErrBadHeader
	}
	r.Code = code
	r.key = span{uint16(start), uint16(i)}
	r.text = span{uint16(min(i+1, end)), uint16(end)}
	return nil
}
