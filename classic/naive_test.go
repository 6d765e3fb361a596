// A second parser, to compare with: it cuts a line into fields by the means of
// the standard library, allocates as it likes and is written from the protocol
// alone.

package classic

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

var (
	metaWords  = strings.Fields("VA HD EN NF NS EX MN ME")
	codeByWord = map[string]Code{
		"END": CodeEnd, "STORED": CodeStored, "NOT_STORED": CodeNotStored, "EXISTS": CodeExists, "NOT_FOUND": CodeNotFound,
		"DELETED": CodeDeleted, "TOUCHED": CodeTouched, "OK": CodeOK, "RESET": CodeReset,
	}
	classByWord = map[string]ErrorClass{"ERROR": ClassError, "CLIENT_ERROR": ClassClient, "SERVER_ERROR": ClassServer}
)

func naive(b []byte) (s seen, n int, err error) {
	text := string(b[:min(len(b), MaxLine)])
	line, _, whole := strings.Cut(text, "\n")
	if !whole {
		if len(text) == MaxLine {
			return s, 0, ErrReplyTooLong
		}
		return s, 0, nil
	}
	n = len(line) + 1
	line = strings.TrimSuffix(line, "\r")
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' })
	switch {
	case strings.Contains(line, "\r"):
		return s, 0, ErrBadHeader
	case len(fields) == 0:
		return s, 0, ErrEmptyLine
	case line[0] == ' ':
		return s, 0, ErrUnknownReply
	case slices.Contains(metaWords, fields[0]):
		return s, 0, ErrUnexpectedReply
	}
	rest := strings.TrimLeft(line[len(fields[0]):], " ")
	code, isWord := codeByWord[fields[0]]
	class, isError := classByWord[strings.TrimSuffix(fields[0], ":")]
	switch {
	case isWord:
		s.Code = code
		if rest != "" {
			return s, 0, ErrBadHeader
		}
	case isError:
		s.Code, s.Class, s.Text = CodeError, class, rest
	case fields[0] == "VERSION":
		s.Code, s.Text = CodeVersion, rest
	case fields[0] == "STAT", fields[0] == "PREFIX":
		s.Code = CodeStat
		if fields[0] == "PREFIX" {
			s.Code = CodePrefix
		}
		if s.Key, s.Text, _ = strings.Cut(rest, " "); s.Key == "" {
			return s, 0, ErrBadHeader
		}
	case fields[0] == "VALUE":
		if s, err = naiveValue(fields[1:]); err != nil {
			return s, 0, err
		}
	case isDigit(line[0]):
		s.Code = CodeNumber
		if s.Number, err = strconv.ParseUint(fields[0], 10, 64); err != nil || len(fields) > 1 {
			return s, 0, ErrBadNumber
		}
	default:
		return s, 0, ErrUnknownReply
	}
	return s, n, nil
}

func naiveValue(fields []string) (s seen, err error) {
	s.Code = CodeValue
	if len(fields) < 2 {
		return s, ErrBadFlags
	}
	s.Key = fields[0]
	flags, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil {
		return s, ErrBadFlags
	}
	s.ClientFlags = uint32(flags)
	if len(fields) < 3 || strings.Trim(fields[2], "0123456789") != "" {
		return s, ErrBadSize
	}
	size, _ := new(big.Int).SetString(fields[2], 10)
	if !size.IsUint64() {
		return s, ErrBadSize
	}
	if size.Uint64() > MaxValue {
		return s, ErrSizeTooLarge
	}
	s.Size = int(size.Int64())
	if len(fields) > 3 {
		s.HasCAS = true
		if s.CAS, err = strconv.ParseUint(fields[3], 10, 64); err != nil {
			return s, ErrBadCAS
		}
	}
	if len(fields) > 4 {
		return s, ErrBadHeader
	}
	return s, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
