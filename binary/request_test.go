package binary

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type build func(dst []byte) ([]byte, error)

func get(r GetRequest) build { return func(b []byte) ([]byte, error) { return AppendGet(b, &r) } }
func gat(r GetAndTouchRequest) build {
	return func(b []byte) ([]byte, error) { return AppendGetAndTouch(b, &r) }
}
func touch(r TouchRequest) build { return func(b []byte) ([]byte, error) { return AppendTouch(b, &r) } }
func store(r StoreRequest) build { return func(b []byte) ([]byte, error) { return AppendStore(b, &r) } }
func del(r DeleteRequest) build  { return func(b []byte) ([]byte, error) { return AppendDelete(b, &r) } }
func math(r ArithmeticRequest) build {
	return func(b []byte) ([]byte, error) { return AppendArithmetic(b, &r) }
}
func sure(f func(dst []byte) []byte) build {
	return func(b []byte) ([]byte, error) { return f(b), nil }
}

// The wanted bytes are opcode, key length, extras length, body length, opaque,
// CAS and body.
func TestBuilders(t *testing.T) {
	for _, c := range []struct {
		name  string
		build build
		want  string
	}{
		{"get", get(GetRequest{Key: "k", Opaque: 7}), "00 0001 00 00000001 00000007 0000000000000000 6b"},
		{"getq", get(GetRequest{Key: "k", Quiet: true}), "09 0001 00 00000001 00000000 0000000000000000 6b"},
		{"getk", get(GetRequest{Key: " \r\n", WithKey: true}), "0c 0003 00 00000003 00000000 0000000000000000 200d0a"},
		{"getkq", get(GetRequest{Key: "k", WithKey: true, Quiet: true}), "0d 0001 00 00000001 00000000 0000000000000000 6b"},
		{"gat", gat(GetAndTouchRequest{Key: "k", Expiration: 258}), "1d 0001 04 00000005 00000000 0000000000000000 00000102 6b"},
		{"gatq", gat(GetAndTouchRequest{Key: "k", Quiet: true}), "1e 0001 04 00000005 00000000 0000000000000000 00000000 6b"},
		{"gatk", gat(GetAndTouchRequest{Key: "k", WithKey: true}), "23 0001 04 00000005 00000000 0000000000000000 00000000 6b"},
		{"gatkq", gat(GetAndTouchRequest{Key: "k", WithKey: true, Quiet: true, Opaque: 1 << 31}), "24 0001 04 00000005 80000000 0000000000000000 00000000 6b"},
		{"touch", touch(TouchRequest{Key: "k", Expiration: 1<<31 - 1}), "1c 0001 04 00000005 00000000 0000000000000000 7fffffff 6b"},
		{"set", store(StoreRequest{Key: "k", Value: []byte("ab"), ClientFlags: 0x01020304, Expiration: 60, CAS: 0x0807060504030201}),
			"01 0001 08 0000000b 00000000 0807060504030201 01020304 0000003c 6b 6162"},
		{"setq", store(StoreRequest{Key: "k", Quiet: true}), "11 0001 08 00000009 00000000 0000000000000000 00000000 00000000 6b"},
		{"add", store(StoreRequest{Key: "k", Mode: Add}), "02 0001 08 00000009 00000000 0000000000000000 00000000 00000000 6b"},
		{"addq", store(StoreRequest{Key: "k", Mode: Add, Quiet: true}), "12 0001 08 00000009 00000000 0000000000000000 00000000 00000000 6b"},
		{"replace", store(StoreRequest{Key: "k", Mode: Replace}), "03 0001 08 00000009 00000000 0000000000000000 00000000 00000000 6b"},
		{"replaceq", store(StoreRequest{Key: "k", Mode: Replace, Quiet: true}), "13 0001 08 00000009 00000000 0000000000000000 00000000 00000000 6b"},
		{"append", store(StoreRequest{Key: "k", Mode: Append, Value: []byte("x"), CAS: 1}), "0e 0001 00 00000002 00000000 0000000000000001 6b 78"},
		{"appendq", store(StoreRequest{Key: "k", Mode: Append, Quiet: true}), "19 0001 00 00000001 00000000 0000000000000000 6b"},
		{"prepend", store(StoreRequest{Key: "k", Mode: Prepend, Value: []byte("x")}), "0f 0001 00 00000002 00000000 0000000000000000 6b 78"},
		{"prependq", store(StoreRequest{Key: "k", Mode: Prepend, Quiet: true}), "1a 0001 00 00000001 00000000 0000000000000000 6b"},
		{"delete", del(DeleteRequest{Key: "k", CAS: 2}), "04 0001 00 00000001 00000000 0000000000000002 6b"},
		{"deleteq", del(DeleteRequest{Key: "k", Quiet: true}), "14 0001 00 00000001 00000000 0000000000000000 6b"},
		{"incr", math(ArithmeticRequest{Key: "k", Delta: 5, Initial: 9}), "05 0001 14 00000015 00000000 0000000000000000 0000000000000005 0000000000000000 ffffffff 6b"},
		{"incr that creates", math(ArithmeticRequest{Key: "k", Delta: 5, Create: true, Initial: 9, Expiration: 60}), "05 0001 14 00000015 00000000 0000000000000000 0000000000000005 0000000000000009 0000003c 6b"},
		{"incrq", math(ArithmeticRequest{Key: "k", Quiet: true, CAS: 1}), "15 0001 14 00000015 00000000 0000000000000001 0000000000000000 0000000000000000 ffffffff 6b"},
		{"decr", math(ArithmeticRequest{Key: "k", Decrement: true, Delta: 1<<64 - 1}), "06 0001 14 00000015 00000000 0000000000000000 ffffffffffffffff 0000000000000000 ffffffff 6b"},
		{"decrq", math(ArithmeticRequest{Key: "k", Decrement: true, Quiet: true}), "16 0001 14 00000015 00000000 0000000000000000 0000000000000000 0000000000000000 ffffffff 6b"},
		{"noop", sure(func(b []byte) []byte { return AppendNoop(b, 3) }), "0a 0000 00 00000000 00000003 0000000000000000"},
		{"version", sure(func(b []byte) []byte { return AppendVersion(b, 3) }), "0b 0000 00 00000000 00000003 0000000000000000"},
		{"quit", sure(func(b []byte) []byte { return AppendQuit(b, false, 3) }), "07 0000 00 00000000 00000003 0000000000000000"},
		{"quitq", sure(func(b []byte) []byte { return AppendQuit(b, true, 3) }), "17 0000 00 00000000 00000003 0000000000000000"},
		{"flush", sure(func(b []byte) []byte { return AppendFlush(b, &FlushRequest{Opaque: 3}) }), "08 0000 00 00000000 00000003 0000000000000000"},
		{"flushq later", sure(func(b []byte) []byte { return AppendFlush(b, &FlushRequest{Delay: 9, Quiet: true}) }), "18 0000 04 00000004 00000000 0000000000000000 00000009"},
		{"stat", func(b []byte) ([]byte, error) { return AppendStat(b, "", 3) }, "10 0000 00 00000000 00000003 0000000000000000"},
		{"stat name", func(b []byte) ([]byte, error) { return AppendStat(b, "items", 3) }, "10 0005 00 00000005 00000003 0000000000000000 6974656d73"},
		{"auth list", sure(func(b []byte) []byte { return AppendAuthList(b, 3) }), "20 0000 00 00000000 00000003 0000000000000000"},
		{"auth start", func(b []byte) ([]byte, error) { return AppendAuthStart(b, "PLAIN", "\x00a\x00b", 3) }, "21 0005 00 00000009 00000003 0000000000000000 504c41494e 00610062"},
		{"auth step", func(b []byte) ([]byte, error) { return AppendAuthStep(b, "X", "", 3) }, "22 0001 00 00000001 00000003 0000000000000000 58"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := strings.SplitN(c.want, " ", 4)
			want := "before 80" + f[0] + f[1] + f[2] + "000000" + strings.ReplaceAll(f[3], " ", "")
			got, err := c.build([]byte("before "))
			require.NoError(t, err)
			assert.Equal(t, want, "before "+hex.EncodeToString(got[len("before "):]))
			assert.Equal(t, "before ", string(got[:7]))
		})
	}
}

func TestStoreHeader(t *testing.T) {
	r := &StoreRequest{Key: "k", Value: []byte("value")}
	head, err := AppendStoreHeader(nil, r)
	require.NoError(t, err)
	whole, err := AppendStore(nil, r)
	require.NoError(t, err)
	assert.Equal(t, whole, append(head, "value"...))
}

// Every refusal must leave the slice as it was.
func TestBuildersRefuse(t *testing.T) {
	long := strings.Repeat("k", MaxKey+1)
	for _, c := range []struct {
		name  string
		build build
		want  RequestError
	}{
		{"get, no key", get(GetRequest{}), ErrKeyEmpty},
		{"get, long key", get(GetRequest{Key: long}), ErrKeyTooLong},
		{"gat, no key", gat(GetAndTouchRequest{}), ErrKeyEmpty},
		{"gat, negative expiration", gat(GetAndTouchRequest{Key: "k", Expiration: -1}), ErrExpiration},
		{"touch, negative expiration", touch(TouchRequest{Key: "k", Expiration: -1}), ErrExpiration},
		{"set, long key", store(StoreRequest{Key: long}), ErrKeyTooLong},
		{"set, negative expiration", store(StoreRequest{Key: "k", Expiration: -1}), ErrExpiration},
		{"set, mode", store(StoreRequest{Key: "k", Mode: 5}), ErrMode},
		{"add with cas", store(StoreRequest{Key: "k", Mode: Add, CAS: 1}), ErrCAS},
		{"delete, no key", del(DeleteRequest{}), ErrKeyEmpty},
		{"incr, long key", math(ArithmeticRequest{Key: long}), ErrKeyTooLong},
		{"incr, negative expiration", math(ArithmeticRequest{Key: "k", Expiration: -1}), ErrExpiration},
		{"stat, long name", func(b []byte) ([]byte, error) { return AppendStat(b, long, 0) }, ErrKeyTooLong},
		{"auth, no mechanism", func(b []byte) ([]byte, error) { return AppendAuthStart(b, "", "x", 0) }, ErrMechanism},
		{"auth, long mechanism", func(b []byte) ([]byte, error) { return AppendAuthStep(b, long, "x", 0) }, ErrKeyTooLong},
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

func TestPlainAuth(t *testing.T) {
	data, err := PlainAuth("a user", "pass word")
	require.NoError(t, err)
	assert.Equal(t, "\x00a user\x00pass word", data)
	data, err = PlainAuth("a", "")
	require.NoError(t, err)
	assert.Equal(t, "\x00a\x00", data)
	for name, pair := range map[string][2]string{
		"no user":           {"", "x"},
		"user with NUL":     {"a\x00b", "x"},
		"password with NUL": {"a", "x\x00"},
		"user line":         {"a\r", "x"},
		"password line":     {"a", "x\ny"},
		"too long":          {"a", strings.Repeat("x", MaxAuth)},
	} {
		data, err := PlainAuth(pair[0], pair[1])
		assert.Equal(t, ErrCredentials, err, name)
		assert.Empty(t, data, name)
	}
}
