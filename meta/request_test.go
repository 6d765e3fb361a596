package meta

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAppendGet(t *testing.T) {
	key := Common{Key: "k"}
	for _, c := range []struct {
		name string
		r    GetRequest
		want string
	}{
		{"bare", GetRequest{Common: key}, "mg k\r\n"},
		{"all fields", GetRequest{Common: key, Want: getFields}, "mg k v f c s h l k t\r\n"},
		{"opaque", GetRequest{Common: Common{Key: "k", Opaque: []byte("a1")}, Want: FieldValue}, "mg k v Oa1\r\n"},
		{"empty opaque", GetRequest{Common: Common{Key: "k", Opaque: []byte{}}}, "mg k O\r\n"},
		{"base64", GetRequest{Common: Common{Key: "a b\r\n", Base64: true}, Want: FieldKey}, "mg YSBiDQo= b k\r\n"},
		{"quiet no bump", GetRequest{Common: Common{Key: "k", Quiet: true}, NoBump: true}, "mg k q u\r\n"},
		{"old ttl", GetRequest{Common: key, Want: FieldTTL, Args: ArgTTL | ArgRecache, TTL: -1, Recache: 30}, "mg k t R30 T-1\r\n"},
		{"new ttl", GetRequest{Common: key, Want: FieldTTL, Args: ArgTTL | ArgVivify, TTL: 300, TTLLast: true}, "mg k N0 T300 t\r\n"},
		{"versions", GetRequest{Common: key, Args: ArgCAS | ArgNewCAS, CAS: 1<<64 - 1, NewCAS: 7}, "mg k C18446744073709551615 E7\r\n"},
		{"proxy", GetRequest{Common: Common{Key: "k", ProxyP: "x", ProxyL: "y"}}, "mg k Px Ly\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendGet([]byte("before "), &c.r)
			require.NoError(t, err)
			assert.Equal(t, "before "+c.want, string(got))
		})
	}
}

func TestAppendSet(t *testing.T) {
	key := Common{Key: "k"}
	for _, c := range []struct {
		name string
		r    SetRequest
		want string
	}{
		{"bare", SetRequest{Common: key}, "ms k 0\r\n\r\n"},
		{"value", SetRequest{Common: key, Value: []byte("a\r\nb"), ClientFlags: 5, TTL: 60}, "ms k 4 F5 T60\r\na\r\nb\r\n"},
		{"base64", SetRequest{Common: Common{Key: "k", Base64: true}, Value: []byte("x")}, "ms aw== 1 b\r\nx\r\n"},
		{"add", SetRequest{Common: key, Mode: Add}, "ms k 0 ME\r\n\r\n"},
		{"replace", SetRequest{Common: key, Mode: Replace}, "ms k 0 MR\r\n\r\n"},
		{"append", SetRequest{Common: key, Mode: Append, Args: ArgVivify, Vivify: 30}, "ms k 0 MA N30\r\n\r\n"},
		{"prepend", SetRequest{Common: key, Mode: Prepend}, "ms k 0 MP\r\n\r\n"},
		{"compare", SetRequest{Common: key, Args: ArgCAS | ArgNewCAS, NewCAS: 9, Invalidate: true}, "ms k 0 C0 E9 I\r\n\r\n"},
		{"fields", SetRequest{Common: Common{Key: "k", Quiet: true, Opaque: []byte("1")}, Want: setFields}, "ms k 0 c s k O1 q\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendSet([]byte("before "), &c.r)
			require.NoError(t, err)
			assert.Equal(t, "before "+c.want, string(got))
			head, err := AppendSetHeader(nil, &c.r)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(head)+string(c.r.Value)+"\r\n")
		})
	}
}

func TestAppendDelete(t *testing.T) {
	key := Common{Key: "k"}
	for _, c := range []struct {
		name string
		r    DeleteRequest
		want string
	}{
		{"bare", DeleteRequest{Common: key}, "md k\r\n"},
		{"compare", DeleteRequest{Common: key, Want: FieldKey, Args: ArgCAS, CAS: 3}, "md k k C3\r\n"},
		{"mark stale", DeleteRequest{Common: key, Args: ArgTTL | ArgNewCAS, TTL: 30, Invalidate: true}, "md k E0 I T30\r\n"},
		{"drop value", DeleteRequest{Common: key, DropValue: true}, "md k x\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendDelete([]byte("before "), &c.r)
			require.NoError(t, err)
			assert.Equal(t, "before "+c.want, string(got))
		})
	}
}

func TestAppendArithmetic(t *testing.T) {
	key := Common{Key: "k"}
	for _, c := range []struct {
		name string
		r    ArithmeticRequest
		want string
	}{
		{"bare", ArithmeticRequest{Common: key}, "ma k\r\n"},
		{"decrement", ArithmeticRequest{Common: key, Decrement: true, Args: ArgDelta, Delta: 7}, "ma k MD D7\r\n"},
		{"create", ArithmeticRequest{Common: key, Want: FieldValue, Args: ArgVivify | ArgInitial, Initial: 13}, "ma k v J13 N0\r\n"},
		{"all", ArithmeticRequest{Common: key, Want: mathFields, Args: ArgTTL | ArgCAS | ArgNewCAS, TTL: 9, CAS: 1, NewCAS: 2}, "ma k v c k t T9 C1 E2\r\n"},
		{"new ttl", ArithmeticRequest{Common: key, Want: FieldTTL, Args: ArgTTL, TTL: 9, TTLLast: true}, "ma k T9 t\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendArithmetic([]byte("before "), &c.r)
			require.NoError(t, err)
			assert.Equal(t, "before "+c.want, string(got))
		})
	}
}

func TestAppendDebugAndNoop(t *testing.T) {
	got, err := AppendDebug(nil, &DebugRequest{Key: "k"})
	require.NoError(t, err)
	assert.Equal(t, "me k\r\n", string(got))
	got, err = AppendDebug(nil, &DebugRequest{Key: "k", Base64: true})
	require.NoError(t, err)
	assert.Equal(t, "me aw== b v\r\n", string(got))
	assert.Equal(t, "mn\r\n", string(AppendNoop(nil)))
}

// Every refusal must leave the slice as it was.
func TestBuildersRefuse(t *testing.T) {
	get := func(r GetRequest) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) { return AppendGet(b, &r) }
	}
	set := func(r SetRequest) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) { return AppendSet(b, &r) }
	}
	del := func(r DeleteRequest) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) { return AppendDelete(b, &r) }
	}
	math := func(r ArithmeticRequest) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) { return AppendArithmetic(b, &r) }
	}
	debug := func(r DebugRequest) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) { return AppendDebug(b, &r) }
	}
	key := Common{Key: "k"}
	for _, c := range []struct {
		name  string
		build func([]byte) ([]byte, error)
		want  RequestError
	}{
		{"empty key", get(GetRequest{}), ErrKeyEmpty},
		{"empty base64 key", get(GetRequest{Common: Common{Base64: true}}), ErrKeyEmpty},
		{"long key", set(SetRequest{Common: Common{Key: strings.Repeat("k", 251)}}), ErrKeyTooLong},
		{"long base64 key", set(SetRequest{Common: Common{Key: strings.Repeat("k", 187), Base64: true}}), ErrKeyTooLong},
		{"space", del(DeleteRequest{Common: Common{Key: "a b"}}), ErrKeyByte},
		{"CRLF", math(ArithmeticRequest{Common: Common{Key: "a\r\nflush_all\r\n"}}), ErrKeyByte},
		{"NUL", debug(DebugRequest{Key: "a\x00"}), ErrKeyByte},
		{"DEL", get(GetRequest{Common: Common{Key: "\x7f"}}), ErrKeyByte},
		{"long opaque", get(GetRequest{Common: Common{Key: "k", Opaque: make([]byte, 32)}}), ErrOpaqueTooLong},
		{"opaque with space", get(GetRequest{Common: Common{Key: "k", Opaque: []byte("1 q")}}), ErrOpaqueByte},
		{"opaque with LF", get(GetRequest{Common: Common{Key: "k", Opaque: []byte("\n")}}), ErrOpaqueByte},
		{"reply field", get(GetRequest{Common: key, Want: FieldWin}), ErrField},
		{"ms value", set(SetRequest{Common: key, Want: FieldValue}), ErrField},
		{"md cas", del(DeleteRequest{Common: key, Want: FieldCAS}), ErrField},
		{"ma size", math(ArithmeticRequest{Common: key, Want: FieldSize}), ErrField},
		{"mg delta", get(GetRequest{Common: key, Args: ArgDelta}), ErrArgument},
		{"ms recache", set(SetRequest{Common: key, Args: ArgRecache}), ErrArgument},
		{"md ttl alone", del(DeleteRequest{Common: key, Args: ArgTTL}), ErrArgument},
		{"ma initial alone", math(ArithmeticRequest{Common: key, Args: ArgInitial}), ErrArgument},
		{"ma quiet value", math(ArithmeticRequest{Common: Common{Key: "k", Quiet: true}, Want: FieldValue}), ErrQuietValue},
		{"mode", set(SetRequest{Common: key, Mode: 5}), ErrMode},
		{"proxy tag with space", get(GetRequest{Common: Common{Key: "k", ProxyL: "a b"}}), ErrTagByte},
		{"long proxy tag", get(GetRequest{Common: Common{Key: "k", ProxyP: strings.Repeat("x", 32)}}), ErrTagTooLong},
		{"too many flags", get(GetRequest{
			Common: Common{Key: "k", Quiet: true, Base64: true, Opaque: []byte("1"), ProxyP: "x"},
			Want:   getFields, Args: getArgs, NoBump: true,
		}), ErrTooManyFlags},
	} {
		t.Run(c.name, func(t *testing.T) {
			buf := append(make([]byte, 0, 1024), "before"...)
			got, err := c.build(buf)
			assert.Equal(t, c.want, err)
			assert.Equal(t, "before", string(got))
			assert.NotEmpty(t, c.want.Error())
		})
	}
}

func TestKeyLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    string
		base64 bool
		length int
	}{
		{"text", strings.Repeat("k", 250), false, 250},
		{"base64", strings.Repeat("\xff", 186), true, 248},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendDebug(nil, &DebugRequest{Key: c.key, Base64: c.base64})
			require.NoError(t, err)
			assert.Len(t, strings.Fields(string(got))[1], c.length)
		})
	}
}
