package binary

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reply builds the bytes of a reply.
func reply(op Opcode, status Status, opaque uint32, cas uint64, extras, key, value string) []byte {
	b, err := hex.DecodeString(fmt.Sprintf("81%02x%04x%02x00%04x%08x%08x%016x", uint8(op), len(key), len(extras), uint16(status),
		len(extras)+len(key)+len(value), opaque, cas))
	if err != nil {
		panic(err)
	}
	return append(b, extras+key+value...)
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name   string
		bytes  []byte
		header Header
		body   Body
	}{
		{"get", reply(OpGet, 0, 7, 9, "\x01\x02\x03\x04", "", "value"),
			Header{Opcode: OpGet, ExtrasLen: 4, BodyLen: 9, Opaque: 7, CAS: 9},
			Body{Value: []byte("value"), ClientFlags: 0x01020304}},
		{"get, empty value", reply(OpGetQ, 0, 7, 9, "\x00\x00\x00\x00", "", ""),
			Header{Opcode: OpGetQ, ExtrasLen: 4, BodyLen: 4, Opaque: 7, CAS: 9}, Body{}},
		{"getk", reply(OpGetK, 0, 1<<32-1, 1<<64-1, "\x00\x00\x00\x05", "a key", "v"),
			Header{Opcode: OpGetK, ExtrasLen: 4, KeyLen: 5, BodyLen: 10, Opaque: 1<<32 - 1, CAS: 1<<64 - 1},
			Body{Key: []byte("a key"), Value: []byte("v"), ClientFlags: 5}},
		{"get, miss", reply(OpGet, StatusNotFound, 7, 0, "", "", "Not found"),
			Header{Opcode: OpGet, Status: StatusNotFound, BodyLen: 9, Opaque: 7}, Body{Value: []byte("Not found")}},
		{"getk, miss", reply(OpGetAndTouchK, StatusNotFound, 7, 0, "", "k", ""),
			Header{Opcode: OpGetAndTouchK, Status: StatusNotFound, KeyLen: 1, BodyLen: 1, Opaque: 7}, Body{Key: []byte("k")}},
		{"set", reply(OpSet, 0, 7, 8, "", "", ""), Header{Opcode: OpSet, Opaque: 7, CAS: 8}, Body{}},
		{"incr", reply(OpIncrement, 0, 7, 8, "", "", "\x00\x00\x00\x00\x00\x00\x01\x02"),
			Header{Opcode: OpIncrement, BodyLen: 8, Opaque: 7, CAS: 8}, Body{Value: []byte("\x00\x00\x00\x00\x00\x00\x01\x02"), Number: 258}},
		{"decr, not a number", reply(OpDecrement, StatusNonNumeric, 7, 0, "", "", "Non-numeric"),
			Header{Opcode: OpDecrement, Status: StatusNonNumeric, BodyLen: 11, Opaque: 7}, Body{Value: []byte("Non-numeric")}},
		{"touch", reply(OpTouch, 0, 7, 8, "\x00\x00\x00\x02", "", ""), Header{Opcode: OpTouch, ExtrasLen: 4, BodyLen: 4, Opaque: 7, CAS: 8}, Body{ClientFlags: 2}},
		{"touch, bare", reply(OpTouch, 0, 7, 8, "", "", ""), Header{Opcode: OpTouch, Opaque: 7, CAS: 8}, Body{}},
		{"stat", reply(OpStat, 0, 7, 0, "", "pid", "12"), Header{Opcode: OpStat, KeyLen: 3, BodyLen: 5, Opaque: 7}, Body{Key: []byte("pid"), Value: []byte("12")}},
		{"version", reply(OpVersion, 0, 7, 0, "", "", "1.6.45"), Header{Opcode: OpVersion, BodyLen: 6, Opaque: 7}, Body{Value: []byte("1.6.45")}},
		{"noop", reply(OpNoop, 0, 7, 0, "", "", ""), Header{Opcode: OpNoop, Opaque: 7}, Body{}},
		{"unknown extras", reply(OpSet, 0, 7, 8, "12345678901", "", ""), Header{Opcode: OpSet, ExtrasLen: 11, BodyLen: 11, Opaque: 7, CAS: 8}, Body{}},
		{"other data type", append([]byte{0x81, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 4}, make([]byte, 16)...), Header{ExtrasLen: 4, DataType: 1, BodyLen: 4}, Body{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, tail := range []string{"", "x", "\x81"} {
				h := Header{DataType: 9, CAS: 9, Status: 9, KeyLen: 9, ExtrasLen: 9}
				body := Body{Key: []byte("old"), Value: []byte("old"), ClientFlags: 9, Number: 9}
				b := append(c.bytes[:len(c.bytes):len(c.bytes)], tail...)
				n, err := ParseHeader(b, &h)
				require.NoError(t, err)
				require.Equal(t, HeaderLen, n)
				require.Equal(t, c.header, h)
				m, ok, err := ParseBody(b[n:], &h, &body)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, len(c.bytes), n+m)
				require.Equal(t, string(c.body.Key), string(body.Key))
				require.Equal(t, string(c.body.Value), string(body.Value))
				require.Equal(t, c.body.ClientFlags, body.ClientFlags)
				require.Equal(t, c.body.Number, body.Number)
				require.Equal(t, len(body.Key), cap(body.Key))
				require.Equal(t, len(body.Value), cap(body.Value))

				p, ok, err := ParsePrefix(b[n:], &h, &body)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, m, p+h.ValueLen())
				require.Equal(t, c.body.ClientFlags, body.ClientFlags)
			}
			for i := range c.bytes {
				var h Header
				var body Body
				n, err := ParseHeader(c.bytes[:i], &h)
				require.NoError(t, err)
				if i < HeaderLen {
					require.Zero(t, n)
					continue
				}
				n, ok, err := ParseBody(c.bytes[HeaderLen:i], &h, &body)
				require.NoError(t, err)
				require.False(t, ok)
				require.Zero(t, n)
			}
		})
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		want  ProtocolError
	}{
		{"request", append([]byte{0x80}, make([]byte, 23)...), ErrBadMagic},
		{"text", []byte("ERROR\r\n"), ErrBadMagic},
		{"one byte", []byte("E"), ErrBadMagic},
		{"extras above the body", reply(OpGet, 0, 0, 0, "1234", "", "")[:HeaderLen], 0},
		{"key above the body", []byte{0x81, 0, 0, 5, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ErrBadLengths},
		{"largest value", []byte{0x81, 0, 0, 5, 4, 0, 0, 0, 0x40, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0},
		{"value above the limit", []byte{0x81, 0, 0, 5, 4, 0, 0, 0, 0x40, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ErrBodyTooLarge},
		{"body of 4 GiB", []byte{0x81, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ErrBodyTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h Header
			n, err := ParseHeader(c.bytes, &h)
			if c.want == 0 {
				assert.NoError(t, err)
				assert.Equal(t, HeaderLen, n)
				return
			}
			assert.Equal(t, c.want, err)
			assert.Zero(t, n)
			assert.NotEmpty(t, c.want.Error())
		})
	}
}

func TestParseBodyRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
	}{
		{"get without flags", reply(OpGet, 0, 0, 0, "", "", "value")},
		{"gatkq with long extras", reply(OpGetAndTouchKQ, 0, 0, 0, "12345", "k", "value")},
		{"incr without number", reply(OpIncrementQ, 0, 0, 0, "", "", "")},
		{"decr with short number", reply(OpDecrement, 0, 0, 0, "", "", "1234567")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h Header
			var body Body
			_, err := ParseHeader(c.bytes, &h)
			require.NoError(t, err)
			_, ok, err := ParseBody(c.bytes[HeaderLen:], &h, &body)
			assert.Equal(t, ErrBadBody, err)
			assert.False(t, ok)
			_, ok, err = ParseBody(nil, &h, &body)
			assert.Equal(t, ErrBadBody, err, "the header alone tells")
			assert.False(t, ok)
		})
	}
}

func TestEndOfStats(t *testing.T) {
	var h Header
	_, err := ParseHeader(reply(OpStat, 0, 0, 0, "", "", ""), &h)
	require.NoError(t, err)
	assert.True(t, h.EndOfStats())
	_, err = ParseHeader(reply(OpStat, 0, 0, 0, "", "pid", ""), &h)
	require.NoError(t, err)
	assert.False(t, h.EndOfStats(), "an empty statistic")
	_, err = ParseHeader(reply(OpNoop, 0, 0, 0, "", "", ""), &h)
	require.NoError(t, err)
	assert.False(t, h.EndOfStats())
}

func TestInStep(t *testing.T) {
	for _, c := range []struct {
		op             Opcode
		status         Status
		keyed, without bool
	}{
		{OpGet, StatusOK, true, true},
		{OpGet, StatusNotFound, true, true},
		{OpSet, StatusExists, true, true},
		{OpSet, StatusTooLarge, true, true},
		{OpSet, StatusInvalid, false, false},
		{OpAppend, StatusNotStored, true, true},
		{OpIncrement, StatusNonNumeric, true, true},
		{OpSet, StatusOutOfMemory, true, true},
		{OpGetAndTouchK, StatusUnknownCommand, false, true},
		{OpNoop, StatusAuthFailure, false, false},
		{OpAuthStart, StatusAuthFailure, true, true},
		{OpAuthStep, StatusAuthContinue, true, true},
	} {
		t.Run(fmt.Sprintf("%#x/%v", uint8(c.op), c.status), func(t *testing.T) {
			h := Header{Opcode: c.op, Status: c.status}
			assert.Equal(t, c.keyed, h.InStep(true))
			assert.Equal(t, c.without, h.InStep(false))
		})
	}
}

func TestStatusIsAnError(t *testing.T) {
	assert.NoError(t, StatusOK.Err())
	err := fmt.Errorf("set: %w", StatusExists.Err())
	assert.ErrorIs(t, err, StatusExists)
	var s Status
	assert.True(t, errors.As(err, &s))
	texts := map[string]Status{}
	for s := range Status(0x100) {
		text := s.Error()
		assert.True(t, strings.HasPrefix(text, "binary: "))
		if text != "binary: unknown status" {
			assert.NotContains(t, texts, text)
			texts[text] = s
		}
	}
	assert.Len(t, texts, 18)
}
