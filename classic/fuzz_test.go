package classic

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: Parse, its long way and the naive parser agree about any bytes;
// a cut anywhere before the end of the line makes it incomplete and nothing
// else; what a reply holds lies within the bytes given.
func FuzzParse(f *testing.F) {
	for _, c := range lines {
		f.Add([]byte(c.line), uint16(len(c.line)/2))
	}
	for _, seed := range transcriptSeeds(f, "classic.txt", "auth.txt") {
		f.Add(seed, uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		want, wantN, wantErr := naive(b)
		var r Reply
		n, err := Parse(b, &r)
		if n != wantN || err != wantErr || err == nil && n > 0 && look(&r) != want {
			t.Fatalf("%q: %d %v %+v, want %d %v %+v", b, n, err, look(&r), wantN, wantErr, want)
		}
		if err == nil && n > 0 && (r.Size < 0 || r.Size > MaxValue || cap(r.Key()) > n || cap(r.Text()) > n) {
			t.Fatalf("%+v reaches beyond its %d bytes", look(&r), n)
		}
		checkShortCut(t, b)
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

// FuzzStream: the replies of a stream, values included, are the same however
// it is cut.
func FuzzStream(f *testing.F) {
	for _, c := range lines {
		f.Add([]byte(c.line+"abc\r\nEND\r\n"), uint16(len(c.line)/2))
	}
	f.Add([]byte("VALUE a 0 5 1\r\nEND\r\n\r\nVALUE b 7 0 2\r\n\r\nEND\r\nSTORED\r\n"), uint16(17))
	for _, seed := range transcriptSeeds(f, "classic.txt", "auth.txt") {
		f.Add(seed, uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		whole := tell(stream, len(stream))
		parts := tell(stream, int(cut)%(len(stream)+1))
		if whole != parts {
			t.Fatalf("%q: whole %s, cut %s", stream, whole, parts)
		}
	})
}

// tell says what stream holds, of which only the first have bytes are there at
// first.
func tell(stream []byte, have int) string {
	var told strings.Builder
	var r Reply
	for pos := 0; ; {
		n, err := Parse(stream[pos:have], &r)
		m, value := 0, []byte(nil)
		if err == nil && n > 0 && r.Code == CodeValue {
			if value, m, err = ParseBody(stream[pos+n:have], r.Size); m == 0 {
				n = 0
			}
		}
		switch {
		case err != nil:
			told.WriteString(err.Error())
			return told.String()
		case n > 0:
			s := look(&r)
			told.WriteString(strconv.Itoa(int(s.Code)) + " " + s.Key + " " + s.Text + " " + strconv.FormatUint(s.Number, 10) + string(value) + "\n")
			pos += n + m
		case have < len(stream):
			have = len(stream)
		default:
			return told.String()
		}
	}
}

// FuzzAppend: what a builder makes of anything is refused or is one line (and
// one value) that says exactly what was asked.
func FuzzAppend(f *testing.F) {
	f.Add("key", "other", uint8(0), []byte("value"), uint32(7), int32(60), uint64(9), false)
	f.Add("noreply", "noreply", uint8(0), []byte("noreply"), uint32(0), int32(0), uint64(0), false)
	f.Add("a\r\nflush_all", "", uint8(5), []byte("\r\n"), uint32(0), int32(-1), uint64(1<<64-1), true)
	f.Add(strings.Repeat("k", 250), strings.Repeat("k", 251), uint8(6), []byte(nil), uint32(1<<32-1), int32(1<<31-1), uint64(0), true)
	f.Fuzz(func(t *testing.T, key, other string, mode uint8, value []byte, flags uint32, expiration int32, number uint64, noReply bool) {
		start := []byte("start")
		exp, num := strconv.FormatInt(int64(expiration), 10), strconv.FormatUint(number, 10)
		check := func(got []byte, err error, value []byte, want ...string) {
			if err != nil {
				require.Equal(t, "start", string(got))
				require.IsType(t, RequestError(0), err)
				return
			}
			if noReply && want[0][0] != 'g' && want[0] != "stats" {
				want = append(want, "noreply")
			}
			line, rest, ok := strings.Cut(string(got), "\r\n")
			require.True(t, ok)
			require.Equal(t, "start"+strings.Join(want, " "), line)
			require.NotContains(t, line, "\n")
			if value == nil {
				require.Empty(t, rest)
			} else {
				require.Equal(t, string(value)+"\r\n", rest)
			}
			if want[0] != "stats" {
				require.NotContains(t, key, " ")
			}
		}

		got, err := AppendGet(start, key, other)
		check(got, err, nil, "get", key, other)
		got, err = AppendGets(start, key)
		check(got, err, nil, "gets", key)
		got, err = AppendGetAndTouch(start, expiration, key)
		check(got, err, nil, "gat", exp, key)
		got, err = AppendGetsAndTouch(start, expiration, key, other)
		check(got, err, nil, "gats", exp, key, other)

		got, err = AppendStore(start, &StoreRequest{
			Key: key, Value: value, Mode: StoreMode(mode), ClientFlags: flags, Expiration: expiration, CAS: number, NoReply: noReply,
		})
		names := []string{"set", "add", "replace", "append", "prepend", "cas"}
		if int(mode) >= len(names) {
			require.Error(t, err)
		} else {
			want := []string{names[mode], key, strconv.FormatUint(uint64(flags), 10), exp, strconv.Itoa(len(value))}
			if names[mode] == "cas" {
				want = append(want, num)
			}
			check(got, err, append([]byte{}, value...), want...)
		}

		got, err = AppendDelete(start, &DeleteRequest{Key: key, NoReply: noReply})
		if key == "noreply" && !noReply {
			check(got, err, nil, "delete", key, "0")
		} else {
			check(got, err, nil, "delete", key)
		}
		got, err = AppendTouch(start, &TouchRequest{Key: key, Expiration: expiration, NoReply: noReply})
		check(got, err, nil, "touch", key, exp)
		got, err = AppendArithmetic(start, &ArithmeticRequest{Key: key, Delta: number, NoReply: noReply})
		check(got, err, nil, "incr", key, num)
		got, err = AppendArithmetic(start, &ArithmeticRequest{Key: key, Delta: number, Decrement: true, NoReply: noReply})
		check(got, err, nil, "decr", key, num)

		got, err = AppendStats(start, other)
		if other == "" {
			check(got, err, nil, "stats")
		} else {
			check(got, err, nil, "stats", other)
		}
		got, err = AppendAuth(start, key, other)
		if err == nil {
			require.Equal(t, "startset auth 0 -1 "+strconv.Itoa(len(key)+len(other)+1)+"\r\n"+key+" "+other+"\r\n", string(got))
		}
	})
}

// transcriptSeeds returns what servers said in the golden transcripts, the
// literal parts of each line.
func transcriptSeeds(f *testing.F, files ...string) (seeds [][]byte) {
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("..", "testdata", "transcripts", file))
		require.NoError(f, err)
		for line := range strings.Lines(string(data)) {
			if line[0] != '<' {
				continue
			}
			var seed []byte
			for _, part := range strings.SplitAfter(line, "\" ") {
				if quoted, err := strconv.QuotedPrefix(part[max(strings.IndexByte(part, '"'), 0):]); err == nil {
					text, err := strconv.Unquote(quoted)
					require.NoError(f, err)
					seed = append(seed, text...)
				}
			}
			seeds = append(seeds, seed)
		}
	}
	return seeds
}
