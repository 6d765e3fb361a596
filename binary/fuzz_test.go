package binary

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire is the layout of a header, for encoding/binary.
type wire struct {
	Magic, Opcode       uint8
	KeyLen              uint16
	ExtrasLen, DataType uint8
	Status              uint16
	BodyLen, Opaque     uint32
	CAS                 uint64
}

// naive reads one whole reply by the means of the standard library. ok is
// false when b does not hold all of it.
func naive(b []byte) (h Header, body Body, n int, ok bool, err error) {
	if len(b) > 0 && b[0] != 0x81 {
		return h, body, 0, false, ErrBadMagic
	}
	var w wire
	if binary.Read(bytes.NewReader(b), binary.BigEndian, &w) != nil {
		return h, body, 0, false, nil
	}
	h = Header{Opcode(w.Opcode), w.ExtrasLen, w.DataType, w.KeyLen, Status(w.Status), w.BodyLen, w.Opaque, w.CAS}
	value := int64(w.BodyLen) - int64(w.ExtrasLen) - int64(w.KeyLen)
	switch {
	case value < 0:
		return h, body, 0, false, ErrBadLengths
	case value > MaxValue:
		return h, body, 0, false, ErrBodyTooLarge
	}
	isGet := bytes.IndexByte([]byte{0x00, 0x09, 0x0c, 0x0d, 0x1d, 0x1e, 0x23, 0x24}, w.Opcode) >= 0
	isNumber := bytes.IndexByte([]byte{0x05, 0x06, 0x15, 0x16}, w.Opcode) >= 0
	if w.Status == 0 && (isGet && w.ExtrasLen != 4 || isNumber && value != 8) {
		return h, body, 0, false, ErrBadBody
	}
	rest := b[24:]
	if int64(len(rest)) < int64(w.BodyLen) {
		return h, body, 0, false, nil
	}
	rest = rest[:w.BodyLen]
	extras := rest[:w.ExtrasLen]
	body.Key = rest[w.ExtrasLen:][:w.KeyLen]
	body.Value = rest[int(w.ExtrasLen)+int(w.KeyLen):]
	if len(extras) == 4 {
		body.ClientFlags = uint32(extras[0])<<24 | uint32(extras[1])<<16 | uint32(extras[2])<<8 | uint32(extras[3])
	}
	if w.Status == 0 && isNumber {
		for _, c := range body.Value {
			body.Number = body.Number<<8 | uint64(c)
		}
	}
	return h, body, 24 + len(rest), true, nil
}

// parse reads one whole reply of which only the first have bytes are there at
// first.
func parse(b []byte, have int) (h Header, body Body, n int, ok bool, err error) {
	n, err = ParseHeader(b[:have], &h)
	if n == 0 && err == nil {
		have = len(b)
		n, err = ParseHeader(b, &h)
	}
	if n == 0 || err != nil {
		return h, body, 0, false, err
	}
	m, ok, err := ParseBody(b[n:have], &h, &body)
	if !ok && err == nil {
		m, ok, err = ParseBody(b[n:], &h, &body)
	}
	if !ok {
		return h, body, 0, false, err
	}
	return h, body, n + m, true, nil
}

// FuzzParse: the parser and the naive one agree about any bytes, however they
// are cut, and what a reply holds lies within the bytes given.
func FuzzParse(f *testing.F) {
	for op := range Opcode(0x26) {
		f.Add(reply(op, 0, 1, 2, "\x00\x00\x00\x01", "key", "12345678"), uint16(30))
		f.Add(reply(op, StatusNotFound, 1, 0, "", "", "Not found"), uint16(3))
	}
	f.Add(reply(OpIncrement, 0, 1, 2, "", "", "12345678"), uint16(30))
	f.Add([]byte("ERROR\r\n"), uint16(3))
	f.Add([]byte("\x81\x00\xff\xff\xff\x00\x00\x00\xff\xff\xff\xff1234567812345678"), uint16(3))
	for _, seed := range transcriptSeeds(f, "binary.txt", "sasl.txt") {
		f.Add(seed, uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		wantH, wantBody, wantN, wantOK, wantErr := naive(b)
		for _, have := range []int{len(b), int(cut) % (len(b) + 1)} {
			h, body, n, ok, err := parse(b, have)
			if n != wantN || ok != wantOK || err != wantErr {
				t.Fatalf("%q: %d %v %v, want %d %v %v", b, n, ok, err, wantN, wantOK, wantErr)
			}
			if !ok {
				continue
			}
			if h != wantH || !bytes.Equal(body.Key, wantBody.Key) || !bytes.Equal(body.Value, wantBody.Value) ||
				body.ClientFlags != wantBody.ClientFlags || body.Number != wantBody.Number {
				t.Fatalf("%q: %+v %+v, want %+v %+v", b, h, body, wantH, wantBody)
			}
			if cap(body.Key) != len(body.Key) || cap(body.Value) != len(body.Value) {
				t.Fatalf("%q: %+v reaches beyond itself", b, body)
			}
		}
	})
}

// FuzzAppend: what a builder makes of anything is refused or is one request
// whose parts are where its header says, and say what was asked.
func FuzzAppend(f *testing.F) {
	f.Add("key", uint8(0), []byte("value"), uint32(7), int32(60), uint64(9), uint32(1), true, false)
	f.Add("a b\r\n", uint8(3), []byte(nil), uint32(0), int32(0), uint64(0), uint32(1<<32-1), false, true)
	f.Add("", uint8(1), []byte{}, uint32(0), int32(-1), uint64(1), uint32(0), true, true)
	f.Fuzz(func(t *testing.T, key string, mode uint8, value []byte, flags uint32, expiration int32, number uint64, opaque uint32, quiet, other bool) {
		start := []byte("start")
		check := func(got []byte, err error, extras []byte, key string, value []byte, cas uint64) (op uint8) {
			if err != nil {
				require.Equal(t, "start", string(got))
				require.IsType(t, RequestError(0), err)
				return 0xff
			}
			got = got[len(start):]
			var w wire
			require.NoError(t, binary.Read(bytes.NewReader(got), binary.BigEndian, &w))
			require.Equal(t, wire{
				Magic: 0x80, Opcode: w.Opcode, KeyLen: uint16(len(key)), ExtrasLen: uint8(len(extras)),
				BodyLen: uint32(len(extras) + len(key) + len(value)), Opaque: opaque, CAS: cas,
			}, w)
			require.Equal(t, string(extras)+key+string(value), string(got[24:]))
			return w.Opcode
		}
		be := binary.BigEndian
		exp := be.AppendUint32(nil, uint32(expiration))

		got, err := AppendGet(start, &GetRequest{Key: key, Opaque: opaque, WithKey: other, Quiet: quiet})
		check(got, err, nil, key, nil, 0)
		got, err = AppendGetAndTouch(start, &GetAndTouchRequest{Key: key, Opaque: opaque, Expiration: expiration, WithKey: other, Quiet: quiet})
		check(got, err, exp, key, nil, 0)
		got, err = AppendTouch(start, &TouchRequest{Key: key, Opaque: opaque, Expiration: expiration})
		check(got, err, exp, key, nil, 0)
		got, err = AppendStore(start, &StoreRequest{
			Key: key, Value: value, Mode: StoreMode(mode), Quiet: quiet, Opaque: opaque, ClientFlags: flags, Expiration: expiration, CAS: number,
		})
		extras := append(be.AppendUint32(nil, flags), exp...)
		if StoreMode(mode) == Append || StoreMode(mode) == Prepend {
			extras = nil
		}
		check(got, err, extras, key, value, number)
		got, err = AppendDelete(start, &DeleteRequest{Key: key, Quiet: quiet, Opaque: opaque, CAS: number})
		check(got, err, nil, key, nil, number)
		got, err = AppendArithmetic(start, &ArithmeticRequest{
			Key: key, Decrement: other, Quiet: quiet, Opaque: opaque, Delta: number, CAS: number, Create: true, Initial: number, Expiration: expiration,
		})
		check(got, err, append(be.AppendUint64(be.AppendUint64(nil, number), number), exp...), key, nil, number)
		got, err = AppendStat(start, key, opaque)
		check(got, err, nil, key, nil, 0)
		got, err = AppendAuthStart(start, key, string(value), opaque)
		check(got, err, nil, key, value, 0)
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
