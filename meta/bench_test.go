// Benchmarks: what one header and one request cost, and beside them a parser
// that splits the line into fields first, to see what reading in place is worth.

package meta

import (
	"bytes"
	"strconv"
	"testing"
)

var benchLines = []struct{ name, line string }{
	{"full", "VA 100 f0 O12 s100 kkey:123\r\n"},
	{"opaque", "VA 100 f0 O12\r\n"},
	{"key", "VA 100 f0 kkey:123\r\n"},
	{"value", "VA 100\r\n"},
	{"cas", "VA 100 f0 c1234567 O12\r\n"},
	{"ttl", "VA 100 f0 t-1 O12\r\n"},
	{"stored", "HD O12\r\n"},
	{"miss", "EN O12\r\n"},
	{"base64", "HD kZm9v b\r\n"},
	{"error", "SERVER_ERROR object too large for cache\r\n"},
}

func BenchmarkParse(b *testing.B) {
	for _, c := range benchLines {
		b.Run("line="+c.name, func(b *testing.B) { benchmarkParser(b, c.line, Parse) })
	}
}

func BenchmarkFieldsParser(b *testing.B) {
	for _, c := range benchLines[:4] {
		b.Run("line="+c.name, func(b *testing.B) { benchmarkParser(b, c.line, fieldsParser) })
	}
}

func benchmarkParser(b *testing.B, text string, parse func([]byte, *Reply) (int, error)) {
	line := []byte(text)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	var r Reply
	for b.Loop() {
		parse(line, &r)
	}
	var want Reply
	Parse(line, &want)
	if n, err := parse(line, &r); n != len(line) || err != nil || look(&r) != look(&want) {
		b.Fatal(n, err, look(&r))
	}
}

// fieldsParser reads reply lines into the same struct by way of bytes.Fields,
// as one writes it at first. It leaves out the lines that are no success.
func fieldsParser(b []byte, r *Reply) (n int, err error) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		return 0, nil
	}
	*r = Reply{line: b}
	tokens := bytes.Fields(b[:n])
	if len(tokens) == 0 {
		return 0, ErrEmptyLine
	}
	at := len(tokens[0]) + 1 // where the next token begins
	switch string(tokens[0]) {
	case "VA":
		r.Code = CodeValue
		if len(tokens) < 2 {
			return 0, ErrMissingSize
		}
		if r.Size, err = strconv.Atoi(string(tokens[1])); err != nil {
			return 0, ErrBadSize
		}
		at += len(tokens[1]) + 1
		tokens = tokens[1:]
	case "HD":
		r.Code = CodeDone
	case "EN":
		r.Code = CodeMiss
	default:
		return 0, ErrUnknownCode
	}
	for _, token := range tokens[1:] {
		argument := string(token[1:])
		switch token[0] {
		case 'f':
			var flags uint64
			flags, err = strconv.ParseUint(argument, 10, 32)
			r.ClientFlags = uint32(flags)
			r.Has |= FieldClientFlags
		case 'c':
			r.CAS, err = strconv.ParseUint(argument, 10, 64)
			r.Has |= FieldCAS
		case 's':
			r.ItemSize, err = strconv.Atoi(argument)
			r.Has |= FieldSize
		case 't':
			r.TTL, err = strconv.ParseInt(argument, 10, 64)
			r.Has |= FieldTTL
		case 'l':
			r.LastAccess, err = strconv.ParseInt(argument, 10, 64)
			r.Has |= FieldLastAccess
		case 'h':
			r.Hit, err = strconv.ParseBool(argument)
			r.Has |= FieldHit
		case 'O':
			r.opaque = span{uint16(at + 1), uint16(at + len(token))}
			r.Has |= FieldOpaque
		case 'k':
			r.key = span{uint16(at + 1), uint16(at + len(token))}
			r.Has |= FieldKey
		case 'W':
			r.Has |= FieldWin
		case 'X':
			r.Has |= FieldStale
		case 'Z':
			r.Has |= FieldLost
		}
		if err != nil {
			return 0, err
		}
		at += len(token) + 1
	}
	return n, nil
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 4096)
	value := make([]byte, 100)
	b.Run("op=get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			opaque := [...]byte{'1', '2'}
			AppendGet(buf, &GetRequest{Common: Common{Key: "key:123", Opaque: opaque[:]}, Want: FieldValue | FieldClientFlags | FieldCAS})
		}
	})
	b.Run("op=set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			opaque := [...]byte{'1', '2'}
			AppendSet(buf, &SetRequest{Common: Common{Key: "key:123", Opaque: opaque[:]}, Value: value, ClientFlags: 7, TTL: 60})
		}
	})
}
