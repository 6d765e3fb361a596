package meta

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seen is what a Reply told, in a form that can be compared and that holds no
// part of the buffer.
type seen struct {
	Code           Code
	Class          ErrorClass
	Has, Malformed Fields
	Size           int
	ClientFlags    uint32
	CAS            uint64
	ItemSize       int
	TTL            int64
	LastAccess     int64
	Hit            bool
	Opaque, Key    string
	Message        string
	Debug          string
}

func look(r *Reply) seen {
	s := seen{
		r.Code, r.Class, r.Has, r.Malformed, r.Size, r.ClientFlags, r.CAS, r.ItemSize, r.TTL, r.LastAccess, r.Hit,
		string(r.Opaque()), string(r.Key()), string(r.Message()), "",
	}
	for name, value := range r.DebugFields {
		s.Debug += string(name) + "=" + string(value) + ";"
	}
	return s
}

// lines are cases beyond the vectors: for the most part the corners between
// the short cut of Parse and the whole grammar.
var lines = []struct {
	name string
	line string
	want seen
	err  error
}{
	{"full", "VA 100 f7 O12 s100 kkey:123 c9 t-1 h1 l44 X W\r\n", seen{
		Code: CodeValue, Size: 100, ClientFlags: 7, Opaque: "12", ItemSize: 100, Key: "key:123", CAS: 9, TTL: -1, Hit: true, LastAccess: 44,
		Has: FieldClientFlags | FieldOpaque | FieldSize | FieldKey | FieldCAS | FieldTTL | FieldHit | FieldLastAccess | FieldStale | FieldWin,
	}, nil},
	{"flags of 9 digits", "HD f999999999 s999999999\r\n", seen{Code: CodeDone, ClientFlags: 999999999, ItemSize: 999999999, Has: FieldClientFlags | FieldSize}, nil},
	{"flags of 10 digits", "HD f4294967295 s1073741824\r\n", seen{Code: CodeDone, ClientFlags: 1<<32 - 1, ItemSize: 1 << 30, Has: FieldClientFlags | FieldSize}, nil},
	{"flags above 32 bits", "HD f4294967296 O1\r\n", seen{Code: CodeDone, Opaque: "1", Has: FieldOpaque, Malformed: FieldClientFlags}, nil},
	{"cas of 18 digits", "HD c999999999999999999\r\n", seen{Code: CodeDone, CAS: 999999999999999999, Has: FieldCAS}, nil},
	{"cas of 20 digits", "HD c18446744073709551615 O1\r\n", seen{Code: CodeDone, CAS: 1<<64 - 1, Opaque: "1", Has: FieldCAS | FieldOpaque}, nil},
	{"cas above 64 bits", "HD c18446744073709551616\r\n", seen{Code: CodeDone, Malformed: FieldCAS}, nil},
	{"cas with leading zeros", "HD c00000000000000000000000007\r\n", seen{Code: CodeDone, CAS: 7, Has: FieldCAS}, nil},
	{"cas with junk", "HD c12x O1\r\n", seen{Code: CodeDone, Opaque: "1", Has: FieldOpaque, Malformed: FieldCAS}, nil},
	{"cas with sign", "HD c-1\r\n", seen{Code: CodeDone, Malformed: FieldCAS}, nil},
	{"malformed first, repeated", "HD cx c7\r\n", seen{Code: CodeDone, Malformed: FieldCAS}, nil},
	{"repeated, malformed then", "HD c7 cx\r\n", seen{Code: CodeDone, CAS: 7, Has: FieldCAS}, nil},
	{"each repeated", "VA 1 f1 f2 c1 c2 s1 s2 t1 t2 O1 O2 ka kb h0 h1 l1 l2 W W\r\n", seen{
		Code: CodeValue, Size: 1, ClientFlags: 1, CAS: 1, ItemSize: 1, TTL: 1, Opaque: "1", Key: "a", LastAccess: 1,
		Has: FieldClientFlags | FieldCAS | FieldSize | FieldTTL | FieldOpaque | FieldKey | FieldHit | FieldLastAccess | FieldWin,
	}, nil},
	{"ttl -1", "HD t-1\r\n", seen{Code: CodeDone, TTL: -1, Has: FieldTTL}, nil},
	{"ttl -1 repeated", "HD t-1 t7\r\n", seen{Code: CodeDone, TTL: -1, Has: FieldTTL}, nil},
	{"ttl then -1", "HD t7 t-1\r\n", seen{Code: CodeDone, TTL: 7, Has: FieldTTL}, nil},
	{"ttl -12", "HD t-12\r\n", seen{Code: CodeDone, TTL: -12, Has: FieldTTL}, nil},
	{"ttl -1x", "HD t-1x\r\n", seen{Code: CodeDone, Malformed: FieldTTL}, nil},
	{"ttl wrapped", "HD t4294966471\r\n", seen{Code: CodeDone, TTL: 4294966471, Has: FieldTTL}, nil},
	{"ttl largest", "HD t9223372036854775807\r\n", seen{Code: CodeDone, TTL: 1<<63 - 1, Has: FieldTTL}, nil},
	{"ttl above 63 bits", "HD t9223372036854775808\r\n", seen{Code: CodeDone, Malformed: FieldTTL}, nil},
	{"hit neither 0 nor 1", "HD h2\r\n", seen{Code: CodeDone, Malformed: FieldHit}, nil},
	{"no arguments", "HD f c s t h l k O\r\n", seen{
		Code: CodeDone, Has: FieldKey | FieldOpaque,
		Malformed: FieldClientFlags | FieldCAS | FieldSize | FieldTTL | FieldHit | FieldLastAccess,
	}, nil},
	{"marks with arguments", "HD W1 Xx Zz\r\n", seen{Code: CodeDone, Has: FieldWin | FieldStale | FieldLost}, nil},
	{"unknown flags", "HD ! y7 O1 \x80\x01 Y\r\n", seen{Code: CodeDone, Opaque: "1", Has: FieldOpaque}, nil},
	{"key with control bytes", "HD ka\x01\tb\x7f\xff O1\r\n", seen{Code: CodeDone, Key: "a\x01\tb\x7f\xff", Opaque: "1", Has: FieldKey | FieldOpaque}, nil},
	{"key of 8 and more", "HD kabcdefgh O1\r\n", seen{Code: CodeDone, Key: "abcdefgh", Opaque: "1", Has: FieldKey | FieldOpaque}, nil},
	{"key of high bytes", "HD k" + strings.Repeat("\xa0\x80\xff", 9) + "\r\n", seen{Code: CodeDone, Key: strings.Repeat("\xa0\x80\xff", 9), Has: FieldKey}, nil},
	{"key with CR", "HD kabc\rdefgh\r\n", seen{}, ErrBadHeader},
	{"opaque with CR", "HD O1\r2\r\n", seen{}, ErrBadHeader},
	{"flags, bare LF", "VA 3 f0 O1\n", seen{Code: CodeValue, Size: 3, Opaque: "1", Has: FieldClientFlags | FieldOpaque}, nil},
	{"CR, space, LF", "HD O1\r \n", seen{}, ErrBadHeader},
	{"miss with flags of old servers", "EN  O1 \r\n", seen{Code: CodeMiss, Opaque: "1", Has: FieldOpaque}, nil},
	{"noop with flags", "MN O1\r\n", seen{Code: CodeNoop, Opaque: "1", Has: FieldOpaque}, nil},
	{"base64 key", "EN O7 kYSBiDQo= b\r\n", seen{Code: CodeMiss, Opaque: "7", Key: "YSBiDQo=", Has: FieldOpaque | FieldKey | FieldBase64}, nil},
	{"base64 key of padding", "HD k==== b\r\n", seen{}, ErrBadBase64},
	{"base64 key, URL alphabet", "HD k_-8= b\r\n", seen{}, ErrBadBase64},
	{"base64 key, empty", "HD k b\r\n", seen{Code: CodeDone, Has: FieldKey | FieldBase64}, nil},
	{"size of 9 digits", "VA 999999999\r\n", seen{Code: CodeValue, Size: 999999999}, nil},
	{"size of 10 digits", "VA 1073741824\r\n", seen{Code: CodeValue, Size: MaxValue}, nil},
	{"size one too large", "VA 1073741825\r\n", seen{}, ErrSizeTooLarge},
	{"size of 100 digits", "VA " + strings.Repeat("9", 100) + "\r\n", seen{}, ErrSizeTooLarge},
	{"size with leading zeros", "VA 00000000000000000000012\r\n", seen{Code: CodeValue, Size: 12}, nil},
	{"size with plus", "VA +3\r\n", seen{}, ErrBadSize},
	{"size with junk and flags", "VA 3x O1\r\n", seen{}, ErrBadSize},
	{"size and control byte", "VA 3\x01\r\n", seen{}, ErrBadSize},
	{"code and bare LF", "VA\n", seen{}, ErrMissingSize},
	{"short code", "HD\n", seen{Code: CodeDone}, nil},
	{"code with CR", "HD\rO1\r\n", seen{}, ErrBadHeader},
	{"leading space", " HD\r\n", seen{}, ErrUnknownCode},
	{"only spaces", "   \r\n", seen{}, ErrEmptyLine},
	{"stats of prefixes", "PREFIX a get 1\r\n", seen{}, ErrUnexpectedReply},
	{"debug", "ME k exp=-1 la=3 cas=5 fetch=yes cls=1 size=63\r\n", seen{Code: CodeDebug, Key: "k", Has: FieldKey, Debug: "exp=-1;la=3;cas=5;fetch=yes;cls=1;size=63;"}, nil},
	{"debug without fields", "ME k\r\n", seen{Code: CodeDebug, Key: "k", Has: FieldKey}, nil},
	{"debug, odd fields", "ME  k  a=  b=c=d \r\n", seen{Code: CodeDebug, Key: "k", Has: FieldKey, Debug: "a=;b=c=d;"}, nil},
	{"debug without key", "ME \r\n", seen{}, ErrBadDebug},
	{"debug, field without name", "ME k =1\r\n", seen{}, ErrBadDebug},
	{"error", "SERVER_ERROR object too large for cache\r\n", seen{Code: CodeError, Class: ClassServer, Message: "object too large for cache"}, nil},
	{"error with flags in its text", "CLIENT_ERROR O1 kkey\r\n", seen{Code: CodeError, Class: ClassClient, Message: "O1 kkey"}, nil},
	{"error, two colons", "ERROR:: x\r\n", seen{}, ErrUnknownCode},
	{"as long as may be", "HD k" + strings.Repeat("x", MaxLine-6) + "\r\n", seen{Code: CodeDone, Key: strings.Repeat("x", MaxLine-6), Has: FieldKey}, nil},
	{"too long by one", "HD k" + strings.Repeat("x", MaxLine-5) + "\r\n", seen{}, ErrLineTooLong},
	{"number too long", "HD s" + strings.Repeat("0", MaxLine) + "\r\n", seen{}, ErrLineTooLong},
	{"spaces too long", "VA" + strings.Repeat(" ", MaxLine) + "3\r\n", seen{}, ErrLineTooLong},
}

func TestParse(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			var r Reply
			// What an earlier line said must not show through.
			_, err := Parse([]byte("VA 99 f9 c9 s9 t9 h1 l9 kZm9v O99 b W X Z\r\n"), &r)
			require.NoError(t, err)

			n, err := Parse([]byte(c.line), &r)
			require.Equal(t, c.err, err)
			if err == nil {
				require.Equal(t, len(c.line), n)
				require.Equal(t, c.want, look(&r))
			}
			checkSplits(t, []byte(c.line))
		})
	}
}

// Parse is a short cut through parseAny and nothing else.
func TestShortCutAgrees(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			checkShortCut(t, []byte(c.line))
		})
	}
}

func checkShortCut(t testing.TB, b []byte) {
	var r, s Reply
	n, err := Parse(b, &r)
	m, e := parseAny(b[:min(len(b), MaxLine)], &s)
	if n != m || err != e || err == nil && n > 0 && look(&r) != look(&s) {
		t.Fatalf("%q: Parse %d %v %+v, parseAny %d %v %+v", b, n, err, look(&r), m, e, look(&s))
	}
}

func TestSlicesAreClipped(t *testing.T) {
	var r Reply
	_, err := Parse([]byte("HD O1 kkey\r\nEN\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, 1, cap(r.Opaque()))
	assert.Equal(t, 3, cap(r.Key()))
	_, err = Parse([]byte("ERROR text\r\nEN\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, 4, cap(r.Message()))
	_, err = Parse([]byte("ME k a=bc d=e\r\nEN\r\n"), &r)
	require.NoError(t, err)
	for name, value := range r.DebugFields {
		assert.Equal(t, len(name), cap(name))
		assert.Equal(t, len(value), cap(value))
	}
}

func TestAbsentAndEmpty(t *testing.T) {
	var r Reply
	_, err := Parse([]byte("HD\r\n"), &r)
	require.NoError(t, err)
	assert.Nil(t, r.Opaque())
	assert.Nil(t, r.Key())
	assert.Nil(t, r.Message())
	assert.Nil(t, r.DebugField("exp"))
	_, err = Parse([]byte("HD O k\r\n"), &r)
	require.NoError(t, err)
	assert.NotNil(t, r.Opaque())
	assert.NotNil(t, r.Key())
	assert.Empty(t, r.Opaque())
	assert.Empty(t, r.Key())
}

func TestAppendKey(t *testing.T) {
	var r Reply
	_, err := Parse([]byte("HD kYSBiDQo= b\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, "key a b\r\n", string(r.AppendKey([]byte("key "))))
	// An item stored as text keeps its plain key, whatever the request said.
	_, err = Parse([]byte("HD kYSBiDQo=\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, "YSBiDQo=", string(r.AppendKey(nil)))
}

func TestDebug(t *testing.T) {
	var r Reply
	_, err := Parse([]byte("ME k exp=-1 la=3 cas=5 fetch=yes cls=1 size=63 new=7\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, Debug{TTL: -1, LastAccess: 3, CAS: 5, Fetched: true, SlabClass: 1, Size: 63}, r.Debug())
	assert.Equal(t, "7", string(r.DebugField("new")))
	assert.Nil(t, r.DebugField("old"))
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
		{"exact", "bar\r\nMN\r\n", 3, "bar", 5, nil},
		{"line ends inside", "\r\nMN\r\n\r\n", 6, "\r\nMN\r\n", 8, nil},
		{"empty", "\r\n", 0, "", 2, nil},
		{"cut", "bar\r", 3, "", 0, nil},
		{"short", "b", 3, "", 0, nil},
		{"no CRLF", "barXX", 3, "", 0, ErrBodyTerminator},
		{"bare LF", "bar\nMN\r\n", 3, "", 0, ErrBodyTerminator},
		{"one short", "ba\r\nMN\r\n", 3, "", 0, ErrBodyTerminator},
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
		{"HD\r\n", true, true},
		{"ERROR\r\n", true, false},
		{"ERROR: shutdown not enabled\r\n", true, true},
		{"ERROR Too many open connections\r\n", false, false},
		{"CLIENT_ERROR\r\n", false, false},
		{"CLIENT_ERROR bad data chunk\r\n", false, false},
		{"CLIENT_ERROR bad command line format\r\n", true, false},
		{"CLIENT_ERROR options flags are too long\r\n", true, false},
		{"CLIENT_ERROR options flags too long\r\n", true, false},
		{"CLIENT_ERROR parsing request\r\n", true, false},
		{"CLIENT_ERROR unauthenticated\r\n", true, false},
		{"CLIENT_ERROR something new\r\n", true, false},
		{"CLIENT_ERROR invalid flag\r\n", true, true},
		{"CLIENT_ERROR duplicate flag\r\n", true, true},
		{"CLIENT_ERROR invalid or duplicate flag\r\n", true, true},
		{"CLIENT_ERROR bad token in command line format\r\n", true, true},
		{"CLIENT_ERROR error decoding key\r\n", true, true},
		{"CLIENT_ERROR opaque token too long\r\n", true, true},
		{"CLIENT_ERROR invalid mode for ms M token\r\n", true, true},
		{"CLIENT_ERROR incorrect length for M token\r\n", true, true},
		{"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n", true, true},
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

func TestNamesAndTexts(t *testing.T) {
	assert.Equal(t, "VA", CodeValue.String())
	assert.Equal(t, "none", Code(0).String())
	assert.Equal(t, "CLIENT_ERROR", ClassClient.String())
	assert.Equal(t, "meta: empty reply line", ErrEmptyLine.Error())
	assert.Equal(t, "meta: invalid reply", ProtocolError(99).Error())
	assert.Equal(t, "meta: invalid request", RequestError(0).Error())
}
