// The reader of transcript files: cases of bytes to send and bytes that come
// back. testdata/transcripts/README.md has the format.

package codectest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type testCase struct {
	file     string // without its suffix
	name     string
	versions []string
	steps    []step
}

// step is one line of a case that sends or expects bytes.
type step struct {
	send     bool
	versions []string // the step counts for these alone; nil: for all
	parts    []string
}

// transcripts reads all files in the folder of transcripts.
func transcripts(t testing.TB) []testCase {
	folder := filepath.Join("..", "..", "testdata", "transcripts")
	if root := os.Getenv("MEMCACHE_VECTORS"); root != "" {
		folder = filepath.Join(root, "transcripts")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []testCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		cases, err := parseTranscript(name, string(data))
		require.NoError(t, err, file)
		all = append(all, cases...)
	}
	return all
}

func parseTranscript(file, data string) ([]testCase, error) {
	var cases []testCase
	var c *testCase
	number := 0
	for line := range strings.Lines(data) {
		number++
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case word == "case":
			c = &testCase{file: file, name: rest}
		case c == nil:
			return nil, fmt.Errorf("line %d: outside of a case", number)
		case word == "end":
			cases = append(cases, *c)
			c = nil
		case word == "versions":
			c.versions = strings.Fields(rest)
		case word == "note", word == "server", word == "sleep", strings.HasPrefix(word, "!@"):
		case word[0] == '>' || word[0] == '<':
			s := step{send: word[0] == '>'}
			if at, ok := strings.CutPrefix(word[1:], "@"); ok {
				s.versions = strings.Split(at, ",")
			}
			var err error
			if s.parts, err = splitParts(rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			c.steps = append(c.steps, s)
		default:
			return nil, fmt.Errorf("line %d: %q", number, line)
		}
	}
	return cases, nil
}

// splitParts cuts a line at the spaces outside of quoted strings.
func splitParts(line string) ([]string, error) {
	var parts []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		part, _, _ := strings.Cut(line, " ")
		if line[0] == '"' {
			var err error
			if part, err = strconv.QuotedPrefix(line); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
		line = line[len(part):]
	}
	return parts, nil
}

// block is what one side says until the other does, as one server version
// recorded it.
type block struct {
	send  bool
	bytes []byte
}

// blocks returns the blocks of a case on that version. high picks the upper end
// of each number that may vary, else the lower end is taken.
func (c *testCase) blocks(t testing.TB, version string, high bool) []block {
	var all []block
	values := map[string]uint64{}
	for _, s := range c.steps {
		if s.versions != nil && !slices.Contains(s.versions, version) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].send != s.send {
			all = append(all, block{send: s.send})
		}
		b := &all[len(all)-1]
		for _, part := range s.parts {
			b.bytes = appendPart(t, b.bytes, part, values, high)
		}
	}
	return all
}

func appendPart(t testing.TB, dst []byte, part string, values map[string]uint64, high bool) []byte {
	if part[0] == '"' {
		text, err := strconv.Unquote(part)
		require.NoError(t, err, part)
		return append(dst, text...)
	}
	name, rest, _ := strings.Cut(part, "(")
	arguments := strings.Split(strings.TrimSuffix(rest, ")"), ",")
	number := func(i int) int64 {
		n, err := strconv.ParseInt(arguments[i], 0, 64)
		require.NoError(t, err, part)
		return n
	}
	value := func() uint64 {
		if _, ok := values[arguments[0]]; !ok {
			values[arguments[0]] = uint64(len(values)) + 1
			if high {
				values[arguments[0]] = ^uint64(len(values))
			}
		}
		return values[arguments[0]]
	}
	switch name {
	case "none", "closed":
		return dst
	case "fill":
		return append(dst, strings.Repeat(string([]byte{byte(number(0))}), int(number(1)))...)
	case "cas":
		return strconv.AppendUint(dst, value(), 10)
	case "cas8":
		return binary.BigEndian.AppendUint64(dst, value())
	case "num":
		if high {
			return strconv.AppendInt(dst, number(1), 10)
		}
		return strconv.AppendInt(dst, number(0), 10)
	case "rest":
		return append(dst, "1.6.45"...)
	case "bytes": // as many as the packet that has just begun says
		header := dst[len(dst)-24:]
		return append(dst, strings.Repeat("x", int(binary.BigEndian.Uint32(header[8:])))...)
	case "stats":
		return append(dst, "STAT pid 12\r\nSTAT inter \r\nSTAT version 1.6.45 beta\r\n"...)
	case "binstats":
		for _, pair := range [][2]string{{"pid", "12"}, {"inter", ""}} {
			size := len(pair[0]) + len(pair[1])
			dst = append(dst, 0x81, 0x10, 0, byte(len(pair[0])), 0, 0, 0, 0, 0, 0, 0, byte(size))
			dst = append(dst, make([]byte, 12)...)
			dst = append(dst, pair[0]+pair[1]...)
		}
		return dst
	}
	t.Fatalf("part %q", part)
	return nil
}
