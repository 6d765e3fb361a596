// The parser vectors: lines with their answers, in testdata/parser of the repository or in the
// folder that MEMCACHE_VECTORS names.

package meta

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// latin1 is bytes written as a JSON string in which each character up to
// U+00FF stands for one byte.
type latin1 []byte

func (l *latin1) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*l = make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xff {
			return errors.New("character above U+00FF")
		}
		*l = append(*l, byte(c))
	}
	return nil
}

type vector struct {
	Name       string
	Line       *latin1
	Stream     *latin1
	Result     string
	Kind       string
	Code       string
	Size       int
	Flags      [][2]latin1
	DecodedKey *latin1 `json:"decoded_key"`
	DecodedHex string  `json:"decoded_key_hex"`
	Key        latin1
	Fields     map[string]latin1
	Class      string
	Message    latin1
	Connection string
	Error      string
	Policy     string
	Context    string
	Values     []latin1
	Rest       latin1
}

// vectorFolder returns the folder of that kind of vectors.
func vectorFolder(kind string) string {
	if root := os.Getenv("MEMCACHE_VECTORS"); root != "" {
		return filepath.Join(root, kind)
	}
	return filepath.Join("..", "testdata", kind)
}

func readVectors(t testing.TB) []vector {
	files, err := filepath.Glob(filepath.Join(vectorFolder("parser"), "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []vector
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			var v vector
			require.NoError(t, json.Unmarshal(lines.Bytes(), &v), "%s", lines.Bytes())
			all = append(all, v)
		}
		require.NoError(t, lines.Err())
	}
	return all
}

var vectorErrors = map[string]ProtocolError{
	"missing_size":        ErrMissingSize,
	"bad_size":            ErrBadSize,
	"size_too_large":      ErrSizeTooLarge,
	"unknown_code":        ErrUnknownCode,
	"unexpected_reply":    ErrUnexpectedReply,
	"bad_header":          ErrBadHeader,
	"bad_base64":          ErrBadBase64,
	"empty_line":          ErrEmptyLine,
	"line_too_long":       ErrLineTooLong,
	"bad_body_terminator": ErrBodyTerminator,
}

func TestVectorsParser(t *testing.T) {
	checked, skipped := 0, 0
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			switch {
			case v.Stream != nil:
				checkStream(t, v)
			case v.Line != nil:
				checkLine(t, v)
			default:
				skipped++
				t.Skip("neither line nor stream")
			}
			checked++
		})
	}
	t.Logf("%d cases checked, %d skipped", checked, skipped)
}

func checkLine(t *testing.T, v vector) {
	line := []byte(*v.Line)
	var r Reply
	n, err := Parse(line, &r)

	switch v.Result {
	case "incomplete":
		require.NoError(t, err)
		require.Zero(t, n)
		return
	case "error":
		want, ok := vectorErrors[v.Error]
		require.True(t, ok, "error %q", v.Error)
		if v.Policy == "error_keep_connection" {
			assert.Equal(t, ErrBadDebug, err)
			assert.Equal(t, len(line), n, "the stream goes on behind the line")
		} else {
			assert.Equal(t, want, err)
			assert.Zero(t, n)
		}
	case "ok":
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		assert.True(t, r.InStep(true))
		if v.Kind == "me" {
			checkDebug(t, v, &r)
		} else {
			checkMeta(t, v, &r)
		}
	case "error_reply":
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		assert.Equal(t, CodeError, r.Code)
		assert.Equal(t, v.Class, r.Class.String())
		assert.Equal(t, string(v.Message), string(r.Message()))
		switch v.Connection {
		case "keep":
			// A context that names no ms says that there was no value to lose.
			assert.True(t, r.InStep(false))
			assert.True(t, v.Context != "" && !strings.Contains(v.Context, "ms") || r.InStep(true))
		case "close":
			assert.False(t, r.InStep(true))
		default:
			t.Fatalf("connection %q", v.Connection)
		}
	default:
		t.Fatalf("result %q", v.Result)
	}
	checkSplits(t, line)
}

// checkSplits makes sure that no part of the first line of b gets an answer,
// and that bytes behind it change none.
func checkSplits(t testing.TB, b []byte) {
	var whole, r Reply
	n, err := Parse(b, &whole)
	end := min(len(b), MaxLine)
	if lf := bytes.IndexByte(b[:end], '\n'); lf >= 0 {
		end = lf + 1
	}
	for i := range end {
		m, e := Parse(b[:i], &r)
		require.Zero(t, m, "%q", b[:i])
		require.NoError(t, e, "%q", b[:i])
	}
	for _, tail := range []string{"H", "HD\r\n", "\n", " ", "\r", "kkey s1\r\n"} {
		m, e := Parse(append(b[:end:end], tail...), &r)
		require.Equal(t, n, m)
		require.Equal(t, err, e)
		if e == nil && m > 0 {
			require.Equal(t, look(&whole), look(&r))
		}
	}
}

func checkMeta(t *testing.T, v vector, r *Reply) {
	assert.Equal(t, v.Code, r.Code.String())
	assert.Equal(t, v.Size, r.Size)

	var want seen
	want.Code, want.Size = r.Code, r.Size
	for _, flag := range v.Flags {
		want.take(string(flag[0]), string(flag[1]))
	}
	assert.Equal(t, want, look(r))

	if v.DecodedKey != nil {
		assert.Equal(t, string(*v.DecodedKey), string(r.AppendKey(nil)))
	}
	if v.DecodedHex != "" {
		assert.Equal(t, v.DecodedHex, hex.EncodeToString(r.AppendKey(nil)))
	}
}

func checkDebug(t *testing.T, v vector, r *Reply) {
	assert.Equal(t, CodeDebug, r.Code)
	assert.Equal(t, string(v.Key), string(r.Key()))
	got := map[string]latin1{}
	for name, value := range r.DebugFields {
		got[string(name)] = slices.Clone(value)
	}
	assert.Equal(t, v.Fields, got)
	for name := range maps.Keys(v.Fields) {
		assert.Equal(t, string(v.Fields[name]), string(r.DebugField(name)))
	}
	if exp, ok := v.Fields["exp"]; ok {
		assert.Equal(t, string(exp), strconv.FormatInt(r.Debug().TTL, 10))
	}
}

func checkStream(t *testing.T, v vector) {
	// At each split the answer must be the same, once all bytes are there.
	stream := []byte(*v.Stream)
	for split := range len(stream) + 1 {
		values, rest, err := readStream(stream, split, max(len(v.Values), 1))
		switch v.Result {
		case "ok":
			require.NoError(t, err)
			require.Equal(t, string(v.Rest), string(rest))
			require.Len(t, values, len(v.Values))
			for i, value := range v.Values {
				require.Equal(t, string(value), values[i])
			}
		case "incomplete":
			require.NoError(t, err)
			require.Less(t, len(values), max(len(v.Values), 1))
		case "error":
			require.Equal(t, vectorErrors[v.Error], err)
		default:
			t.Fatalf("result %q", v.Result)
		}
	}
}

// readStream reads that many values from stream, of which only the first split
// bytes are there at first.
func readStream(stream []byte, split, count int) (values []string, rest []byte, err error) {
	var r Reply
	pos, have := 0, split
	for len(values) < count {
		n, err := Parse(stream[pos:have], &r)
		if err != nil {
			return values, nil, err
		}
		if n > 0 && r.Code == CodeValue {
			value, m, err := ParseBody(stream[pos+n:have], r.Size)
			if err != nil {
				return values, nil, err
			}
			if m > 0 {
				values = append(values, string(value))
			} else {
				n = 0
			}
			n += m
		}
		if n == 0 {
			if have == len(stream) {
				break
			}
			have = len(stream)
		}
		pos += n
	}
	return values, stream[pos:], nil
}
