// The places where the protocol means something else than it seems to, one
// test for each.

package meta

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replies parses a stream to its end, bodies included.
func replies(t *testing.T, stream string) (all []seen, err error) {
	for b := []byte(stream); len(b) > 0; {
		var r Reply
		n, err := Parse(b, &r)
		if err != nil {
			return all, err
		}
		require.NotZero(t, n, "incomplete: %q", b)
		b = b[n:]
		if r.Code == CodeValue {
			_, n, err := ParseBody(b, r.Size)
			if err != nil {
				return all, err
			}
			b = b[n:]
		}
		all = append(all, look(&r))
	}
	return all, nil
}

func codes(all []seen) (names []string) {
	for _, s := range all {
		names = append(names, s.Code.String())
	}
	return names
}

// The stub that a vivifying miss leaves is a hit with an empty value. Only W
// and Z tell it from a stored empty value.
func TestTrapStubLooksLikeEmptyValue(t *testing.T) {
	all, err := replies(t, "VA 0 f0 W\r\n\r\nVA 0 f0 Z\r\n\r\nVA 0 f0\r\n\r\n")
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, FieldClientFlags|FieldWin, all[0].Has)
	assert.Equal(t, FieldClientFlags|FieldLost, all[1].Has)
	assert.Equal(t, FieldClientFlags, all[2].Has)
}

// The winner's reply says that the stub never ends, since t is read before N
// has acted. TTLLast asks for the truth.
func TestTrapTTLOfAStub(t *testing.T) {
	r := GetRequest{Common: Common{Key: "k"}, Want: FieldTTL, Args: ArgVivify, Vivify: 30}
	before, err := AppendGet(nil, &r)
	require.NoError(t, err)
	assert.Equal(t, "mg k t N30\r\n", string(before))
	r.TTLLast = true
	after, err := AppendGet(nil, &r)
	require.NoError(t, err)
	assert.Equal(t, "mg k N30 t\r\n", string(after))
}

// R compares what T has left, so R must come before T.
func TestTrapRecacheBeforeTouch(t *testing.T) {
	b, err := AppendGet(nil, &GetRequest{Common: Common{Key: "k"}, Args: ArgRecache | ArgTTL, Recache: 30, TTL: 300})
	require.NoError(t, err)
	assert.Equal(t, "mg k R30 T300\r\n", string(b))
}

// A quiet ma hides VA as well as HD, and the number with it.
func TestTrapQuietArithmeticHidesItsValue(t *testing.T) {
	_, err := AppendArithmetic(nil, &ArithmeticRequest{Common: Common{Key: "k", Quiet: true}, Want: FieldValue})
	assert.Equal(t, ErrQuietValue, err)
}

// A quiet md sends NF for each item that was not there, and error lines are
// never hidden: only MN ends a quiet batch.
func TestTrapQuietBatchEndsAtNoopAlone(t *testing.T) {
	all, err := replies(t, "NF O1\r\nEX O2\r\nSERVER_ERROR object too large for cache\r\nCLIENT_ERROR invalid flag\r\nNF O5\r\nMN\r\n")
	require.NoError(t, err)
	assert.Equal(t, []string{"NF", "EX", "error line", "error line", "NF", "MN"}, codes(all))
}

// A counter that got shorter keeps its length by spaces, which belong to the
// value that mg returns.
func TestTrapPaddedNumber(t *testing.T) {
	stream := []byte("VA 2 s2\r\n9 \r\nHD\r\n")
	var r Reply
	n, err := Parse(stream, &r)
	require.NoError(t, err)
	value, _, err := ParseBody(stream[n:], r.Size)
	require.NoError(t, err)
	assert.Equal(t, "9 ", string(value))
}

// On a hit, how the key is written depends on how the item was stored, not on
// the request; without an item, on the request.
func TestTrapBase64FollowsTheItem(t *testing.T) {
	for line, key := range map[string]string{
		"HD kYSBi b O1\r\n": "a b",  // stored with b, asked for without
		"HD kYSBi O1\r\n":   "YSBi", // stored as text, asked for with b
		"EN O1 kYSBi b\r\n": "a b",
	} {
		var r Reply
		_, err := Parse([]byte(line), &r)
		require.NoError(t, err)
		assert.Equal(t, key, string(r.AppendKey(nil)), line)
	}
}

// Servers since 1.6.40 send an empty line behind the refusal of a classic get
// with too long a key. Taking it for nothing would pair all that follows right
// only by chance.
func TestTrapStrayLineEnd(t *testing.T) {
	all, err := replies(t, "CLIENT_ERROR bad command line format\r\n\r\nHD\r\n")
	assert.Equal(t, ErrEmptyLine, err)
	assert.Len(t, all, 1)
}

// After a size that the server cannot read, the value is executed: the second
// reply belongs to no request.
func TestTrapValueRunsAsCommands(t *testing.T) {
	stream := []byte("CLIENT_ERROR bad command line format\r\nMN\r\n") // to "ms k 2x\r\nmn\r\n"
	var r Reply
	_, err := Parse(stream, &r)
	require.NoError(t, err)
	assert.False(t, r.InStep(true))

	stream = []byte("CLIENT_ERROR bad data chunk\r\nERROR\r\n")
	_, err = Parse(stream, &r)
	require.NoError(t, err)
	assert.False(t, r.InStep(true))
	assert.False(t, r.InStep(false))
}

// EN carries neither opaque nor key before 1.6.18, error lines never do.
func TestTrapRepliesWithoutOpaque(t *testing.T) {
	all, err := replies(t, "EN\r\nCLIENT_ERROR error decoding key\r\n")
	require.NoError(t, err)
	for _, s := range all {
		assert.Zero(t, s.Has)
	}
}

// The key limit counts what is sent, so base64 leaves room for 186 bytes.
func TestTrapKeyLimitBehindBase64(t *testing.T) {
	for length, want := range map[int]error{186: nil, 187: ErrKeyTooLong, 250: ErrKeyTooLong} {
		_, err := AppendGet(nil, &GetRequest{Common: Common{Key: strings.Repeat("\x00", length), Base64: true}})
		assert.Equal(t, want, err, length)
	}
}

// What one reply said must never show in the next, however few its fields.
func TestTrapReplyIsReused(t *testing.T) {
	var r Reply
	_, err := Parse([]byte("VA 9 k99 O99 c99 f99 t99 s99 W X Z h1 l99\r\n"), &r)
	require.NoError(t, err)
	_, err = Parse([]byte("HD\r\n"), &r)
	require.NoError(t, err)
	assert.Equal(t, seen{Code: CodeDone}, look(&r))
}
