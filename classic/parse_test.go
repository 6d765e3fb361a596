package classic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seen is what a Reply told, in a form that can be compared and that holds no
// part of the buffer.
type seen struct {
	Code        Code
	Class       ErrorClass
	ClientFlags uint32
	Size        int
	CAS         uint64
	HasCAS      bool
	Number      uint64
	Key, Text   string
}

func look(r *Reply) seen {
	return seen{r.Code, r.Class, r.ClientFlags, r.Size, r.CAS, r.HasCAS, r.Number, string(r.Key()), string(r.Text())}
}

var lines = []struct {
	name string
	line string
	want seen
	err  error
}{
	{"value", "VALUE k 0 3\r\n", seen{Code: CodeValue, Key: "k", Size: 3}, nil},
	{"value with cas", "VALUE key:1 4294967295 1048576 18446744073709551615\r\n", seen{Code: CodeValue, Key: "key:1", ClientFlags: 1<<32 - 1, Size: 1 << 20, CAS: 1<<64 - 1, HasCAS: true}, nil},
	{"value with cas 0", "VALUE k 0 3 0\r\n", seen{Code: CodeValue, Key: "k", Size: 3, HasCAS: true}, nil},
	{"value, spaces", "VALUE  k  1  2  3  \r\n", seen{Code: CodeValue, Key: "k", ClientFlags: 1, Size: 2, CAS: 3, HasCAS: true}, nil},
	{"value, bare LF", "VALUE k 0 3\n", seen{Code: CodeValue, Key: "k", Size: 3}, nil},
	{"value, key with control byte", "VALUE a\x01\xff 0 3\r\n", seen{Code: CodeValue, Key: "a\x01\xff", Size: 3}, nil},
	{"value, largest", "VALUE k 0 1073741824\r\n", seen{Code: CodeValue, Key: "k", Size: MaxValue}, nil},
	{"value, nothing", "VALUE\r\n", seen{}, ErrBadFlags},
	{"value, no flags", "VALUE k\r\n", seen{}, ErrBadFlags},
	{"value, no size", "VALUE k 0\r\n", seen{}, ErrBadSize},
	{"value, no key", "VALUE 0 3\r\n", seen{}, ErrBadSize},
	{"value, negative size", "VALUE k 0 -3\r\n", seen{}, ErrBadSize},
	{"value, size with junk", "VALUE k 0 3x\r\n", seen{}, ErrBadSize},
	{"value, size above the limit", "VALUE k 0 1073741825\r\n", seen{}, ErrSizeTooLarge},
	{"value, size of 20 digits", "VALUE k 0 18446744073709551615\r\n", seen{}, ErrSizeTooLarge},
	{"value, size above 64 bits", "VALUE k 0 18446744073709551616\r\n", seen{}, ErrBadSize},
	{"value, flags with junk", "VALUE k 0x1 3\r\n", seen{}, ErrBadFlags},
	{"value, flags above 32 bits", "VALUE k 4294967296 3\r\n", seen{}, ErrBadFlags},
	{"value, cas with junk", "VALUE k 0 3 1x\r\n", seen{}, ErrBadCAS},
	{"value, cas above 64 bits", "VALUE k 0 3 18446744073709551616\r\n", seen{}, ErrBadCAS},
	{"value, one token too many", "VALUE k 0 3 4 5\r\n", seen{}, ErrBadHeader},
	{"value, CR inside", "VALUE k 0 3\r \n", seen{}, ErrBadHeader},
	{"value, CR for a space", "VALUE k\r0 3\r\n", seen{}, ErrBadHeader},
	{"value, flags of 9 digits", "VALUE k 999999999 999999999 999999999999999999\r\n", seen{Code: CodeValue, Key: "k", ClientFlags: 999999999, Size: 999999999, CAS: 999999999999999999, HasCAS: true}, nil},
	{"value, leading zeros", "VALUE k 0000000000007 0000000000003 00000000000000000000000009\r\n", seen{Code: CodeValue, Key: "k", ClientFlags: 7, Size: 3, CAS: 9, HasCAS: true}, nil},
	{"value, trailing space", "VALUE k 0 3 \r\n", seen{Code: CodeValue, Key: "k", Size: 3}, nil},
	{"end", "END\r\n", seen{Code: CodeEnd}, nil},
	{"end, trailing space", "END \r\n", seen{Code: CodeEnd}, nil},
	{"end, something behind", "END 1\r\n", seen{}, ErrBadHeader},
	{"stored", "STORED\r\n", seen{Code: CodeStored}, nil},
	{"not stored", "NOT_STORED\r\n", seen{Code: CodeNotStored}, nil},
	{"exists", "EXISTS\r\n", seen{Code: CodeExists}, nil},
	{"not found", "NOT_FOUND\r\n", seen{Code: CodeNotFound}, nil},
	{"deleted", "DELETED\r\n", seen{Code: CodeDeleted}, nil},
	{"touched", "TOUCHED\r\n", seen{Code: CodeTouched}, nil},
	{"ok", "OK\r\n", seen{Code: CodeOK}, nil},
	{"reset", "RESET\r\n", seen{Code: CodeReset}, nil},
	{"number", "15\r\n", seen{Code: CodeNumber, Number: 15}, nil},
	{"number, padded", "9 \r\n", seen{Code: CodeNumber, Number: 9}, nil},
	{"number, largest", "18446744073709551615\r\n", seen{Code: CodeNumber, Number: 1<<64 - 1}, nil},
	{"number, too large", "18446744073709551616\r\n", seen{}, ErrBadNumber},
	{"number, two", "1 2\r\n", seen{}, ErrBadNumber},
	{"number, junk", "1x\r\n", seen{}, ErrBadNumber},
	{"version", "VERSION 1.6.45\r\n", seen{Code: CodeVersion, Text: "1.6.45"}, nil},
	{"version, odd text", "VERSION 1.6.0 beta 2\r\n", seen{Code: CodeVersion, Text: "1.6.0 beta 2"}, nil},
	{"stat", "STAT pid 12\r\n", seen{Code: CodeStat, Key: "pid", Text: "12"}, nil},
	{"stat, spaces in the value", "STAT inter a b  c\r\n", seen{Code: CodeStat, Key: "inter", Text: "a b  c"}, nil},
	{"stat, empty value", "STAT inter \r\n", seen{Code: CodeStat, Key: "inter"}, nil},
	{"stat, no value", "STAT inter\r\n", seen{Code: CodeStat, Key: "inter"}, nil},
	{"stat, no name", "STAT\r\n", seen{}, ErrBadHeader},
	{"prefix", "PREFIX user get 1 hit 1 set 0 del 0\r\n", seen{Code: CodePrefix, Key: "user", Text: "get 1 hit 1 set 0 del 0"}, nil},
	{"error", "ERROR\r\n", seen{Code: CodeError, Class: ClassError}, nil},
	{"error, text", "ERROR Too many open connections\r\n", seen{Code: CodeError, Class: ClassError, Text: "Too many open connections"}, nil},
	{"client error", "CLIENT_ERROR bad data chunk\r\n", seen{Code: CodeError, Class: ClassClient, Text: "bad data chunk"}, nil},
	{"server error, colon", "SERVER_ERROR: shutdown not enabled\r\n", seen{Code: CodeError, Class: ClassServer, Text: "shutdown not enabled"}, nil},
	{"prefix of a class only", "SERVER_ERRORS x\r\n", seen{}, ErrUnknownReply},
	{"lower case", "stored\r\n", seen{}, ErrUnknownReply},
	{"leading space", " STORED\r\n", seen{}, ErrUnknownReply},
	{"tab", "VALUE\tk 0 3\r\n", seen{}, ErrUnknownReply},
	{"binary", "\x81\x00\n", seen{}, ErrUnknownReply},
	{"meta", "HD\r\n", seen{}, ErrUnexpectedReply},
	{"meta value", "VA 3\r\n", seen{}, ErrUnexpectedReply},
	{"empty", "\r\n", seen{}, ErrEmptyLine},
	{"empty, bare LF", "\n", seen{}, ErrEmptyLine},
	{"spaces", "  \r\n", seen{}, ErrEmptyLine},
	{"CR twice", "END\r\r\n", seen{}, ErrBadHeader},
	{"as long as may be", "VERSION " + strings.Repeat("x", MaxLine-10) + "\r\n", seen{Code: CodeVersion, Text: strings.Repeat("x", MaxLine-10)}, nil},
	{"too long", "VERSION " + strings.Repeat("x", MaxLine-9) + "\r\n", seen{}, ErrReplyTooLong},
	{"value too long", "VALUE " + strings.Repeat("x", MaxLine) + " 0 3\r\n", seen{}, ErrReplyTooLong},
}

// Each line must give its answer whatever follows it, and none before its end
// (or before MaxLine bytes) is there.
func TestParse(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			for _, tail := range []string{"", "END\r\n", "\n", "x"} {
				r := Reply{Code: CodeStat, Number: 7, CAS: 7, HasCAS: true, ClientFlags: 7, Size: 7}
				n, err := Parse([]byte(c.line+tail), &r)
				require.Equal(t, c.err, err)
				if err != nil {
					require.Zero(t, n)
					continue
				}
				require.Equal(t, len(c.line), n)
				require.Equal(t, c.want, look(&r))
			}
			for i := range min(len(c.line), MaxLine) {
				var r Reply
				n, err := Parse([]byte(c.line[:i]), &r)
				require.NoError(t, err, "%d bytes", i)
				require.Zero(t, n, "%d bytes", i)
			}
		})
	}
}

// Parse is a short cut through parseLine and nothing else.
func TestShortCutAgrees(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) { checkShortCut(t, []byte(c.line)) })
	}
}

func checkShortCut(t *testing.T, b []byte) {
	var r, s Reply
	n, err := Parse(b, &r)
	m, e := parseLine(b[:min(len(b), MaxLine)], &s)
	if n != m || err != e || err == nil && n > 0 && look(&r) != look(&s) {
		t.Fatalf("%q: Parse %d %v %+v, parseLine %d %v %+v", b, n, err, look(&r), m, e, look(&s))
	}
}

func TestSlicesAreClipped(t *testing.T) {
	var r Reply
	for _, line := range []string{"VALUE key 0 3\r\n", "STAT name value\r\n"} {
		_, err := Parse([]byte(line), &r)
		require.NoError(t, err)
		assert.Equal(t, len(r.Key()), cap(r.Key()))
		assert.Equal(t, len(r.Text()), cap(r.Text()))
	}
}

func TestParseBody(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes string
		size  int
		want  string
		n     int
		err   error
	}{
		{"exact", "bar\r\nEND\r\n", 3, "bar", 5, nil},
		{"line ends inside", "\r\nEND\r\n\r\n", 7, "\r\nEND\r\n", 9, nil},
		{"empty", "\r\n", 0, "", 2, nil},
		{"cut", "bar\r", 3, "", 0, nil},
		{"short", "b", 3, "", 0, nil},
		{"no CRLF", "barXX", 3, "", 0, ErrBodyTerminator},
		{"bare LF", "bar\nEND\r\n", 3, "", 0, ErrBodyTerminator},
		{"one short", "ba\r\nEND\r\n", 3, "", 0, ErrBodyTerminator},
	} {
		t.Run(c.name, func(t *testing.T) {
			value, n, err := ParseBody([]byte(c.bytes), c.size)
			assert.Equal(t, c.err, err)
			assert.Equal(t, c.n, n)
			assert.Equal(t, c.want, string(value))
			assert.Equal(t, len(value), cap(value))
		})
	}
}

func TestInStep(t *testing.T) {
	for _, c := range []struct {
		line          string
		without, with bool // a value behind the request
	}{
		{"STORED\r\n", true, true},
		{"ERROR\r\n", true, false},
		{"ERROR: shutdown not enabled\r\n", true, true},
		{"ERROR Too many open connections\r\n", false, false},
		{"CLIENT_ERROR\r\n", false, false},
		{"CLIENT_ERROR bad data chunk\r\n", false, false},
		{"CLIENT_ERROR bad command line format\r\n", false, false},
		{"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n", true, false},
		{"CLIENT_ERROR invalid exptime argument\r\n", true, false},
		{"CLIENT_ERROR authentication failure\r\n", true, true},
		{"CLIENT_ERROR parsing request\r\n", true, false},
		{"SERVER_ERROR object too large for cache\r\n", true, true},
		{"SERVER_ERROR out of memory storing object\r\n", true, true},
		{"SERVER_ERROR out of memory reading request\r\n", false, false},
		{"SERVER_ERROR backend failure\r\n", true, true},
	} {
		t.Run(strings.TrimSpace(c.line), func(t *testing.T) {
			var r Reply
			_, err := Parse([]byte(c.line), &r)
			require.NoError(t, err)
			assert.Equal(t, c.without, r.InStep(false))
			assert.Equal(t, c.with, r.InStep(true))
		})
	}
	assert.False(t, (&Reply{}).InStep(false), "no reply proves nothing")
}
