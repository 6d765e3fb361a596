// The replies of the transcripts through the parsers, cut at every place.

package codectest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/classic"
	"github.com/vaquero-cache/memcache/meta"
)

func TestVectorsTranscriptReplies(t *testing.T) {
	cases, replies := 0, 0
	for _, c := range transcripts(t) {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			for _, version := range c.versions {
				for _, high := range []bool{false, true} {
					for _, b := range c.blocks(t, version, high) {
						if !b.send {
							replies += checkReplies(t, b.bytes)
						}
					}
				}
			}
			cases++
		})
	}
	t.Logf("%d cases checked, 0 skipped; %d replies", cases, replies)
}

// checkReplies reads the stream whole and cut in two at each place, and returns
// how many replies it holds. What the parsers say of the whole is checked
// against the text itself.
func checkReplies(t *testing.T, stream []byte) int {
	whole := readAll(stream, len(stream))
	if len(stream) > 0 && stream[0] != 0x81 {
		assert.Equal(t, tellText(t, string(stream)), whole)
	} else {
		assert.Equal(t, tellPackets(stream), whole)
	}
	for cut := range len(stream) {
		if insideRun(stream, cut) {
			continue
		}
		if got := readAll(stream, cut); !assert.Equal(t, whole, got, "cut at %d", cut) {
			break
		}
	}
	return len(whole)
}

// insideRun tells whether cut lies deep in a run of one byte, the filling of a
// large value, where all cuts are alike.
func insideRun(stream []byte, cut int) bool {
	const depth = 64
	return cut > depth && cut+depth < len(stream) &&
		bytes.Count(stream[cut-depth:cut+depth], stream[cut:cut+1]) == 2*depth
}

// readAll returns one line of text for each reply of stream and one for an
// error that ends it. At first only cut bytes of stream are there.
func readAll(stream []byte, cut int) []string {
	var told []string
	have := stream[:cut]
	for pos := 0; pos < len(stream); {
		one, n, err := readOne(have[pos:])
		if err != nil {
			return append(told, err.Error())
		}
		if n > 0 {
			told = append(told, one)
			pos += n
			continue
		}
		if len(have) == len(stream) {
			return append(told, "incomplete")
		}
		have = stream
	}
	return told
}

// readOne reads the reply at the start of b by the codec that it is for: the
// cases mix the text protocols and the expected bytes do not say which command
// they answer.
func readOne(b []byte) (told string, n int, err error) {
	if len(b) > 0 && b[0] == 0x81 {
		return readPacket(b)
	}
	var m meta.Reply
	n, err = meta.Parse(b, &m)
	if err == meta.ErrUnexpectedReply || err == meta.ErrUnknownCode {
		return readClassic(b)
	}
	if err != nil || n == 0 {
		return "", 0, err
	}
	told = tellMeta(&m)
	if m.Code == meta.CodeError {
		// Error lines belong to both, and both must see the same.
		var c classic.Reply
		k, err := classic.Parse(b, &c)
		if err != nil || k != n || c.Code != classic.CodeError || c.Class.String() != m.Class.String() || !bytes.Equal(c.Text(), m.Message()) {
			return "", 0, fmt.Errorf("classic sees %v %q, %v in %q", c.Class, c.Text(), err, told)
		}
	}
	if m.Code == meta.CodeValue {
		value, k, err := meta.ParseBody(b[n:], m.Size)
		if err != nil || k == 0 {
			return "", 0, err
		}
		return told + " = " + string(value), n + k, nil
	}
	return told, n, nil
}

func readClassic(b []byte) (told string, n int, err error) {
	var c classic.Reply
	if n, err = classic.Parse(b, &c); err != nil || n == 0 {
		return "", 0, err
	}
	told = c.Code.String()
	switch c.Code {
	case classic.CodeNumber:
		return strconv.FormatUint(c.Number, 10), n, nil
	case classic.CodeStat, classic.CodePrefix:
		return strings.TrimRight(fmt.Sprintf("%v %s %s", c.Code, c.Key(), c.Text()), " "), n, nil
	case classic.CodeVersion:
		return told + " " + string(c.Text()), n, nil
	case classic.CodeValue:
		told += fmt.Sprintf(" %s %d %d", c.Key(), c.ClientFlags, c.Size)
		if c.HasCAS {
			told += fmt.Sprintf(" %d", c.CAS)
		}
		value, k, err := classic.ParseBody(b[n:], c.Size)
		if err != nil || k == 0 {
			return "", 0, err
		}
		return told + " = " + string(value), n + k, nil
	}
	return told, n, nil
}

// tellMeta writes a meta reply as servers do, but for the order of its flags.
func tellMeta(r *meta.Reply) string {
	switch r.Code {
	case meta.CodeError:
		return strings.TrimRight(fmt.Sprintf("%v %s", r.Class, r.Message()), " ")
	case meta.CodeDebug:
		told := "ME " + string(r.Key())
		for name, value := range r.DebugFields {
			told += fmt.Sprintf(" %s=%s", name, value)
		}
		return told
	}
	told := r.Code.String()
	if r.Code == meta.CodeValue {
		told += fmt.Sprintf(" %d", r.Size)
	}
	flags := []string{}
	for field, flag := range map[meta.Fields]string{
		meta.FieldClientFlags: fmt.Sprintf("f%d", r.ClientFlags), meta.FieldCAS: fmt.Sprintf("c%d", r.CAS),
		meta.FieldSize: fmt.Sprintf("s%d", r.ItemSize), meta.FieldTTL: fmt.Sprintf("t%d", r.TTL),
		meta.FieldLastAccess: fmt.Sprintf("l%d", r.LastAccess), meta.FieldOpaque: "O" + string(r.Opaque()),
		meta.FieldKey: "k" + string(r.Key()), meta.FieldBase64: "b", meta.FieldWin: "W", meta.FieldStale: "X", meta.FieldLost: "Z",
		meta.FieldHit: map[bool]string{false: "h0", true: "h1"}[r.Hit],
	} {
		if r.Has&field != 0 {
			flags = append(flags, flag)
		}
	}
	if r.Base64() {
		raw, err := base64.StdEncoding.DecodeString(string(r.Key()))
		if err != nil || !bytes.Equal(raw, r.AppendKey(nil)) {
			return "key decoded otherwise"
		}
	}
	return told + sorted(flags)
}

// tellText tells the replies of stream as readAll must, with nothing but the
// text itself: each line is a reply, VA and VALUE lines have a value.
func tellText(t *testing.T, stream string) []string {
	var told []string
	for stream != "" {
		line, rest, ok := strings.Cut(stream, "\r\n")
		if !ok {
			return append(told, "incomplete")
		}
		f := strings.Fields(line)
		if len(f) == 0 {
			return append(told, meta.ErrEmptyLine.Error())
		}
		one, size := strings.TrimRight(line, " "), ""
		switch f[0] {
		case "VA":
			one, size = "VA "+f[1]+sorted(f[2:]), f[1]
		case "VALUE":
			size = f[3]
		case "HD", "EN", "NF", "NS", "EX", "MN":
			one = f[0] + sorted(f[1:])
		case "ERROR:", "CLIENT_ERROR:", "SERVER_ERROR:":
			one = strings.Replace(line, ":", "", 1)
		default:
			if _, err := strconv.ParseUint(line, 10, 64); err != nil && !slices.Contains(lineWords, f[0]) {
				return append(told, classic.ErrUnknownReply.Error()) // of a command that no codec has
			}
		}
		if size != "" {
			n, err := strconv.Atoi(size)
			require.NoError(t, err)
			require.Equal(t, "\r\n", rest[n:n+2])
			one += " = " + rest[:n]
			rest = rest[n+2:]
		}
		told = append(told, one)
		stream = rest
	}
	return told
}

var lineWords = strings.Fields("END STORED NOT_STORED EXISTS NOT_FOUND DELETED TOUCHED OK RESET STAT PREFIX VERSION ME " +
	"ERROR CLIENT_ERROR SERVER_ERROR")

func sorted(flags []string) string {
	flags = slices.Sorted(slices.Values(flags))
	if len(flags) == 0 {
		return ""
	}
	return " " + strings.Join(flags, " ")
}
