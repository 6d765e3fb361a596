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

// fieldsParser reads the lines of this benchmark into the same struct by way of
// bytes.Fields, as one writes it at first.
func fieldsParser(b []byte, r *Reply) (n int, err error) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		return 0, nil
	}
	*r = Reply{line: b}
	tokens := bytes.Fields(b[:n])
	at := 3 // where the token begins
	switch string(tokens[0]) {
	case "VA":
		r.Code = CodeValue
		if r.Size, err = strconv.Atoi(string(tokens[1])); err != nil {
			return 0, err
		}
		at += len(tokens[1]) + 1
		tokens = tokens[2:]
	case "HD":
		r.Code = CodeDone
		tokens = tokens[1:]
	case "EN":
		r.Code = CodeMiss
		tokens = tokens[1:]
	}
	for _, token := range tokens {
		arg := span{uint16(at + 1), uint16(at + len(token))}
		at += len(token) + 1
		switch token[0] {
		case 'f':
			v, err := strconv.ParseUint(string(token[1:]), 10, 32)
			if err != nil {
				return 0, err
			}
			r.ClientFlags = uint32(v)
			r.Has |= FieldClientFlags
		case 's':
			if r.ItemSize, err = strconv.Atoi(string(token[1:])); err != nil {
				return 0, err
			}
			r.Has |= FieldSize
		case 'O':
			r.opaque = arg
			r.Has |= FieldOpaque
		case 'k':
			r.key = arg
			r.Has |= FieldKey
		}
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
