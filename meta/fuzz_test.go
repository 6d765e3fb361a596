package meta

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func seeds(f *testing.F) [][]byte {
	var all [][]byte
	for _, v := range readVectors(f) {
		if v.Line != nil {
			all = append(all, *v.Line)
		}
		if v.Stream != nil {
			all = append(all, *v.Stream)
		}
	}
	for _, c := range lines {
		all = append(all, []byte(c.line))
	}
	return all
}

// FuzzParse: Parse, its long way and the naive parser agree about any bytes;
// a cut anywhere before the end of the line makes it incomplete and nothing
// else; what a reply holds lies within the bytes given.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		want, wantN, wantErr := naive(b)
		var r Reply
		n, err := Parse(b, &r)
		if n != wantN || err != wantErr || err == nil && n > 0 && look(&r) != want {
			t.Fatalf("%q: %d %v %+v, want %d %v %+v", b, n, err, look(&r), wantN, wantErr, want)
		}
		checkShortCut(t, b)
		if err == nil && n > 0 {
			checkReplyBounds(t, &r, n)
		}

		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			end = len(b)
		}
		if k := int(cut); k < MaxLine && k <= end {
			if n, err := Parse(b[:k], &r); n != 0 || err != nil {
				t.Fatalf("%q: %d, %v", b[:k], n, err)
			}
		}
	})
}

func checkReplyBounds(t *testing.T, r *Reply, n int) {
	if r.Size < 0 || r.Size > MaxValue || cap(r.Opaque()) > n || cap(r.Key()) > n || cap(r.Message()) > n {
		t.Fatalf("%+v reaches beyond its %d bytes", look(r), n)
	}
	r.Debug()
	r.InStep(true)
	if r.Base64() {
		raw, err := base64.StdEncoding.DecodeString(string(r.Key()))
		if err != nil || string(raw) != string(r.AppendKey(nil)) {
			t.Fatalf("key %q: %v", r.Key(), err)
		}
	}
}

// FuzzStream: the replies of a stream, values included, are the same however
// it is cut.
func FuzzStream(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed, uint16(3))
	}
	f.Add([]byte("VA 6\r\na\r\nMN\r\r\nMN\r\nVA 0 W\r\n\r\nEN O1\r\nCLIENT_ERROR bad data chunk\r\nHD\r\n"), uint16(9))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		whole, rest, err := readStream(stream, len(stream), len(stream)+1)
		values, tail, e := readStream(stream, int(cut)%(len(stream)+1), len(stream)+1)
		if err != e || !slices.Equal(whole, values) || !bytes.Equal(rest, tail) {
			t.Fatalf("%q: whole %q %q %v, cut %q %q %v", stream, whole, rest, err, values, tail, e)
		}
	})
}

// FuzzAppend: what a builder makes of anything is refused or is one line (and
// one value) that says exactly what was asked.
func FuzzAppend(f *testing.F) {
	f.Add("key", false, true, []byte("1"), "", "", uint16(FieldValue|FieldCAS), uint8(ArgTTL), int32(60), uint64(7), uint8(0), []byte("value"))
	f.Add("a b\r\n", true, false, []byte(nil), "p", "l", uint16(getFields), uint8(getArgs), int32(-1), uint64(1<<64-1), uint8(4), []byte("\r\n"))
	f.Add("a\r\nflush_all", false, false, []byte("1 q"), "", "", uint16(0), uint8(0), int32(0), uint64(0), uint8(9), []byte(nil))
	f.Fuzz(func(t *testing.T, key string, encode, quiet bool, opaque []byte, p, l string, want uint16, args uint8, ttl int32, number uint64, mode uint8, value []byte) {
		c := Common{Key: key, Base64: encode, Quiet: quiet, Opaque: opaque, ProxyP: p, ProxyL: l}
		w, a, odd := Fields(want), Args(args), mode%2 == 1
		start := []byte("start")

		got, err := AppendGet(start, &GetRequest{
			Common: c, Want: w, Args: a, TTL: ttl, Vivify: ttl, Recache: ttl, CAS: number, NewCAS: number, TTLLast: odd, NoBump: odd,
		})
		line, _ := checkLineBuilt(t, "mg", key, encode, got, err, nil)
		checkFlags(t, line, c, w, a, ttl, number)

		got, err = AppendSet(start, &SetRequest{
			Common: c, Value: value, Mode: SetMode(mode), Want: w, Args: a, ClientFlags: uint32(number), TTL: ttl, Vivify: ttl,
			CAS: number, NewCAS: number, Invalidate: odd,
		})
		line, _ = checkLineBuilt(t, "ms", key, encode, got, err, value)
		if line != nil {
			require.Equal(t, strconv.Itoa(len(value)), line[0])
			checkFlags(t, line[1:], c, w, a, ttl, number)
		}

		got, err = AppendDelete(start, &DeleteRequest{
			Common: c, Want: w, Args: a, TTL: ttl, CAS: number, NewCAS: number, Invalidate: odd, DropValue: odd,
		})
		line, _ = checkLineBuilt(t, "md", key, encode, got, err, nil)
		checkFlags(t, line, c, w, a, ttl, number)

		got, err = AppendArithmetic(start, &ArithmeticRequest{
			Common: c, Want: w, Args: a, Decrement: odd, Delta: number, Initial: number, TTL: ttl, Vivify: ttl,
			CAS: number, NewCAS: number, TTLLast: odd,
		})
		line, _ = checkLineBuilt(t, "ma", key, encode, got, err, nil)
		checkFlags(t, line, c, w, a, ttl, number)

		got, err = AppendDebug(start, &DebugRequest{Key: key, Base64: encode})
		checkLineBuilt(t, "me", key, encode, got, err, nil)
	})
}

// checkLineBuilt checks the frame of a request and returns its tokens behind
// the key, nil if it was refused.
func checkLineBuilt(t *testing.T, command, key string, encoded bool, got []byte, err error, value []byte) (flags []string, ok bool) {
	if err != nil {
		require.Equal(t, "start", string(got))
		require.IsType(t, RequestError(0), err)
		return nil, false
	}
	rest, ok := strings.CutPrefix(string(got), "start"+command+" ")
	require.True(t, ok)
	line, rest, ok := strings.Cut(rest, "\r\n")
	require.True(t, ok)
	require.NotContains(t, line, "\n")
	require.NotContains(t, line, "\r")
	require.LessOrEqual(t, len(line), 500)
	tokens := strings.Split(line, " ")
	require.LessOrEqual(t, len(tokens)+1, maxTokens)
	require.LessOrEqual(t, len(tokens[0]), MaxKey)
	if encoded {
		raw, err := base64.StdEncoding.DecodeString(tokens[0])
		require.NoError(t, err)
		tokens[0] = string(raw)
		require.Contains(t, tokens, "b")
	}
	require.Equal(t, key, tokens[0])
	if command == "ms" {
		require.Equal(t, string(value)+"\r\n", rest)
	} else {
		require.Empty(t, rest)
	}
	return tokens[1:], true
}

// checkFlags checks that each thing asked for is said once, and no other.
func checkFlags(t *testing.T, tokens []string, c Common, want Fields, args Args, ttl int32, number uint64) {
	if tokens == nil {
		return
	}
	given := map[string]string{}
	for _, token := range tokens {
		_, twice := given[token[:1]]
		require.False(t, twice, token)
		given[token[:1]] = token[1:]
	}
	for i, letter := range fieldLetters {
		_, asked := given[string(letter)]
		require.Equal(t, want&(1<<i) != 0, asked)
	}
	for letter, arg := range map[string]Args{
		"N": ArgVivify, "R": ArgRecache, "C": ArgCAS, "E": ArgNewCAS, "D": ArgDelta, "J": ArgInitial,
	} {
		value, said := given[letter]
		require.Equal(t, args&arg != 0, said)
		switch {
		case !said:
		case letter == "N" || letter == "R":
			require.Equal(t, strconv.FormatInt(int64(ttl), 10), value)
		default:
			require.Equal(t, strconv.FormatUint(number, 10), value)
		}
	}
	for letter, tag := range map[string]string{"O": string(c.Opaque), "P": c.ProxyP, "L": c.ProxyL} {
		require.Equal(t, tag, given[letter])
	}
	_, quiet := given["q"]
	require.Equal(t, c.Quiet, quiet)
}
