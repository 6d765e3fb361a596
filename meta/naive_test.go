// A second parser, to compare with: it cuts a line into fields by the means of
// the standard library, allocates as it likes and is written from the protocol
// alone.

package meta

import (
	"encoding/base64"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

var (
	classicWords = strings.Fields("VALUE END STORED NOT_STORED EXISTS NOT_FOUND DELETED TOUCHED STAT VERSION RESET PREFIX")
	codeByName   = map[string]Code{
		"VA": CodeValue, "HD": CodeDone, "EN": CodeMiss, "NF": CodeNotFound, "NS": CodeNotStored, "EX": CodeExists, "MN": CodeNoop,
	}
	classByName = map[string]ErrorClass{"ERROR": ClassError, "CLIENT_ERROR": ClassClient, "SERVER_ERROR": ClassServer}
	fieldByFlag = map[string]Fields{
		"f": FieldClientFlags, "c": FieldCAS, "s": FieldSize, "t": FieldTTL, "h": FieldHit, "l": FieldLastAccess,
		"k": FieldKey, "O": FieldOpaque, "b": FieldBase64, "W": FieldWin, "X": FieldStale, "Z": FieldLost,
	}
)

func naive(b []byte) (s seen, n int, err error) {
	text := string(b[:min(len(b), MaxLine)])
	line, _, whole := strings.Cut(text, "\n")
	if !whole {
		if len(text) == MaxLine {
			return s, 0, ErrLineTooLong
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
		return s, 0, ErrUnknownCode
	}
	if class, isError := classByName[strings.TrimSuffix(fields[0], ":")]; isError {
		return seen{Code: CodeError, Class: class, Message: strings.TrimLeft(line[len(fields[0]):], " ")}, n, nil
	}
	if slices.Contains(classicWords, fields[0]) {
		return s, 0, ErrUnexpectedReply
	}
	if fields[0] == "ME" {
		return naiveDebug(fields[1:], n)
	}
	code, known := codeByName[fields[0]]
	if !known {
		return s, 0, ErrUnknownCode
	}
	s.Code = code
	flags := fields[1:]
	if code == CodeValue {
		if len(flags) == 0 {
			return s, 0, ErrMissingSize
		}
		if strings.Trim(flags[0], "0123456789") != "" {
			return s, 0, ErrBadSize
		}
		size, _ := new(big.Int).SetString(flags[0], 10)
		if size.Cmp(big.NewInt(MaxValue)) > 0 {
			return s, 0, ErrSizeTooLarge
		}
		s.Size = int(size.Int64())
		flags = flags[1:]
	}
	for _, flag := range flags {
		s.take(flag[:1], flag[1:])
	}
	if s.Has&FieldBase64 != 0 {
		if _, err := base64.StdEncoding.DecodeString(s.Key); err != nil {
			return s, 0, ErrBadBase64
		}
	}
	return s, n, nil
}

func naiveDebug(fields []string, n int) (s seen, _ int, err error) {
	if len(fields) == 0 {
		return s, n, ErrBadDebug
	}
	s = seen{Code: CodeDebug, Has: FieldKey, Key: fields[0]}
	for _, field := range fields[1:] {
		if strings.Index(field, "=") < 1 {
			return s, n, ErrBadDebug
		}
		s.Debug += field + ";"
	}
	return s, n, nil
}

// take adds one flag the way the protocol means it, with the means of the
// standard library alone.
func (s *seen) take(letter, arg string) {
	field, ok := fieldByFlag[letter]
	if !ok || (s.Has|s.Malformed)&field != 0 {
		return
	}
	unsigned := func(size int) uint64 {
		u, err := strconv.ParseUint(arg, 10, size)
		if err != nil {
			s.Malformed |= field
			return 0
		}
		return u
	}
	switch letter {
	case "k":
		s.Key = arg
	case "O":
		s.Opaque = arg
	case "f":
		s.ClientFlags = uint32(unsigned(32))
	case "c":
		s.CAS = unsigned(64)
	case "s":
		s.ItemSize = int(unsigned(strconv.IntSize - 1))
	case "l":
		s.LastAccess = int64(unsigned(63))
	case "t":
		digits, negative := strings.CutPrefix(arg, "-")
		arg = digits
		s.TTL = int64(unsigned(63))
		if negative {
			s.TTL = -s.TTL
		}
	case "h":
		s.Hit = unsigned(1) == 1
	}
	s.Has |= field &^ s.Malformed
}
