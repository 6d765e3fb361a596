package classic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type build func(dst []byte) ([]byte, error)

func store(r StoreRequest) build {
	return func(b []byte) ([]byte, error) { return AppendStore(b, &r) }
}

func sure(f func(dst []byte) []byte) build {
	return func(b []byte) ([]byte, error) { return f(b), nil }
}

func TestBuilders(t *testing.T) {
	for _, c := range []struct {
		name  string
		build build
		want  string
	}{
		{"get", func(b []byte) ([]byte, error) { return AppendGet(b, "a") }, "get a\r\n"},
		{"gets", func(b []byte) ([]byte, error) { return AppendGets(b, "a", "b", "a") }, "gets a b a\r\n"},
		{"gat", func(b []byte) ([]byte, error) { return AppendGetAndTouch(b, -1, "a") }, "gat -1 a\r\n"},
		{"gats", func(b []byte) ([]byte, error) { return AppendGetsAndTouch(b, 60, "a", "b") }, "gats 60 a b\r\n"},
		{"set", store(StoreRequest{Key: "k", Value: []byte("a\r\nb")}), "set k 0 0 4\r\na\r\nb\r\n"},
		{"add", store(StoreRequest{Key: "k", Mode: Add, ClientFlags: 1<<32 - 1, Expiration: -1}), "add k 4294967295 -1 0\r\n\r\n"},
		{"replace", store(StoreRequest{Key: "k", Mode: Replace, NoReply: true}), "replace k 0 0 0 noreply\r\n\r\n"},
		{"append", store(StoreRequest{Key: "k", Mode: Append, Value: []byte("x")}), "append k 0 0 1\r\nx\r\n"},
		{"prepend", store(StoreRequest{Key: "k", Mode: Prepend, Value: []byte("x")}), "prepend k 0 0 1\r\nx\r\n"},
		{"cas", store(StoreRequest{Key: "k", Mode: CompareAndSwap, CAS: 1<<64 - 1, Value: []byte("x"), NoReply: true}), "cas k 0 0 1 18446744073709551615 noreply\r\nx\r\n"},
		{"delete", func(b []byte) ([]byte, error) { return AppendDelete(b, &DeleteRequest{Key: "k"}) }, "delete k\r\n"},
		{"delete quietly", func(b []byte) ([]byte, error) { return AppendDelete(b, &DeleteRequest{Key: "k", NoReply: true}) }, "delete k noreply\r\n"},
		{"delete noreply", func(b []byte) ([]byte, error) { return AppendDelete(b, &DeleteRequest{Key: "noreply"}) }, "delete noreply 0\r\n"},
		{"delete noreply quietly", func(b []byte) ([]byte, error) {
			return AppendDelete(b, &DeleteRequest{Key: "noreply", NoReply: true})
		}, "delete noreply noreply\r\n"},
		{"incr", func(b []byte) ([]byte, error) { return AppendArithmetic(b, &ArithmeticRequest{Key: "k", Delta: 5}) }, "incr k 5\r\n"},
		{"decr", func(b []byte) ([]byte, error) {
			return AppendArithmetic(b, &ArithmeticRequest{Key: "k", Decrement: true, NoReply: true})
		}, "decr k 0 noreply\r\n"},
		{"touch", func(b []byte) ([]byte, error) { return AppendTouch(b, &TouchRequest{Key: "k", Expiration: 60}) }, "touch k 60\r\n"},
		{"version", sure(AppendVersion), "version\r\n"},
		{"quit", sure(AppendQuit), "quit\r\n"},
		{"flush_all", sure(func(b []byte) []byte { return AppendFlushAll(b, &FlushAllRequest{}) }), "flush_all\r\n"},
		{"flush_all later", sure(func(b []byte) []byte { return AppendFlushAll(b, &FlushAllRequest{Delay: 9, NoReply: true}) }), "flush_all 9 noreply\r\n"},
		{"flush_all in 2106", sure(func(b []byte) []byte { return AppendFlushAll(b, &FlushAllRequest{Delay: 1<<32 - 1}) }), "flush_all 2147483647\r\n"},
		{"verbosity", sure(func(b []byte) []byte { return AppendVerbosity(b, &VerbosityRequest{Level: 1}) }), "verbosity 1\r\n"},
		{"stats", func(b []byte) ([]byte, error) { return AppendStats(b, "") }, "stats\r\n"},
		{"stats detail", func(b []byte) ([]byte, error) { return AppendStats(b, "detail on") }, "stats detail on\r\n"},
		{"auth", func(b []byte) ([]byte, error) { return AppendAuth(b, "bob", "pa ss") }, "set auth 0 -1 9\r\nbob pa ss\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.build([]byte("before "))
			require.NoError(t, err)
			assert.Equal(t, "before "+c.want, string(got))
		})
	}
}

func TestStoreHeader(t *testing.T) {
	r := &StoreRequest{Key: "k", Value: []byte("value")}
	head, err := AppendStoreHeader(nil, r)
	require.NoError(t, err)
	whole, err := AppendStore(nil, r)
	require.NoError(t, err)
	assert.Equal(t, string(whole), string(head)+"value\r\n")
}

func TestGetsKeyByKey(t *testing.T) {
	b := AppendGetsStart(nil)
	for _, key := range []string{"a", "b c", "d"} {
		b, _ = AppendKey(b, key)
	}
	assert.Equal(t, "gets a d\r\n", string(AppendEnd(b)), "a refused key leaves the line good")
}

// Only gat and gats lines are bounded: the server reads get and gets of any
// length.
func TestLongRetrievals(t *testing.T) {
	keys := make([]string, 1500)
	for i := range keys {
		keys[i] = "key:0123456"
	}
	got, err := AppendGets(nil, keys...)
	require.NoError(t, err)
	assert.Len(t, got, len("gets")+12*len(keys)+2)

	_, err = AppendGetsAndTouch(nil, 1, keys...)
	assert.Equal(t, ErrLineTooLong, err)
	got, err = AppendGetAndTouch([]byte(strings.Repeat("x", 3000)), 1, keys[:170]...)
	require.NoError(t, err, "what was in the slice before does not count")
	assert.Len(t, got, 3000+len("gat 1")+12*170+2)
}

// Every refusal must leave the slice as it was.
func TestBuildersRefuse(t *testing.T) {
	long := strings.Repeat("k", MaxKey+1)
	for _, c := range []struct {
		name  string
		build build
		want  RequestError
	}{
		{"no keys", func(b []byte) ([]byte, error) { return AppendGet(b) }, ErrNoKeys},
		{"empty key", func(b []byte) ([]byte, error) { return AppendGets(b, "a", "") }, ErrKeyEmpty},
		{"long key", func(b []byte) ([]byte, error) { return AppendGetAndTouch(b, 0, "a", long) }, ErrKeyTooLong},
		{"space", func(b []byte) ([]byte, error) { return AppendKey(b, "a b") }, ErrKeyByte},
		{"CRLF", store(StoreRequest{Key: "a\r\nflush_all\r\n"}), ErrKeyByte},
		{"mode", store(StoreRequest{Key: "a", Mode: 6}), ErrMode},
		{"NUL", func(b []byte) ([]byte, error) { return AppendDelete(b, &DeleteRequest{Key: "\x00"}) }, ErrKeyByte},
		{"DEL", func(b []byte) ([]byte, error) { return AppendArithmetic(b, &ArithmeticRequest{Key: "\x7f"}) }, ErrKeyByte},
		{"tab", func(b []byte) ([]byte, error) { return AppendTouch(b, &TouchRequest{Key: "\t"}) }, ErrKeyByte},
		{"stats line", func(b []byte) ([]byte, error) { return AppendStats(b, "x\r\nquit") }, ErrArgument},
		{"stats length", func(b []byte) ([]byte, error) { return AppendStats(b, strings.Repeat("x", MaxLine)) }, ErrLineTooLong},
		{"no user", func(b []byte) ([]byte, error) { return AppendAuth(b, "", "x") }, ErrCredentials},
		{"user with space", func(b []byte) ([]byte, error) { return AppendAuth(b, "a b", "x") }, ErrCredentials},
		{"user line", func(b []byte) ([]byte, error) { return AppendAuth(b, "a\r\nget b", "x") }, ErrCredentials},
		{"user with NUL", func(b []byte) ([]byte, error) { return AppendAuth(b, "a\x00", "x") }, ErrCredentials},
		{"password line", func(b []byte) ([]byte, error) { return AppendAuth(b, "a", "x\n") }, ErrCredentials},
		{"password with NUL", func(b []byte) ([]byte, error) { return AppendAuth(b, "a", "x\x00") }, ErrCredentials},
		{"long password", func(b []byte) ([]byte, error) { return AppendAuth(b, "a", strings.Repeat("x", MaxAuth)) }, ErrCredentials},
	} {
		t.Run(c.name, func(t *testing.T) {
			buf := append(make([]byte, 0, 4096), "before"...)
			got, err := c.build(buf)
			assert.Equal(t, c.want, err)
			assert.Equal(t, "before", string(got))
			assert.NotEmpty(t, c.want.Error())
		})
	}
}
