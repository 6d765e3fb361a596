// Binary replies, read by the codec and by hand.

package codectest

import (
	"encoding/binary"
	"fmt"
	"slices"

	codec "github.com/vaquero-cache/memcache/binary"
)

func readPacket(b []byte) (told string, n int, err error) {
	var h codec.Header
	if n, err = codec.ParseHeader(b, &h); err != nil || n == 0 {
		return "", 0, err
	}
	var body codec.Body
	m, ok, err := codec.ParseBody(b[n:], &h, &body)
	if err != nil || !ok {
		return "", 0, err
	}
	told = fmt.Sprintf("%#x status=%#x opaque=%#x cas=%d key=%q value=%q", uint8(h.Opcode), uint16(h.Status), h.Opaque, h.CAS, body.Key, body.Value)
	if h.ExtrasLen == 4 {
		told += fmt.Sprintf(" flags=%d", body.ClientFlags)
	}
	if body.Number != 0 {
		told += fmt.Sprintf(" number=%d", body.Number)
	}
	return told, n + m, nil
}

// tellPackets tells the packets of stream as readAll must, with nothing but the
// layout of a packet.
func tellPackets(stream []byte) []string {
	var told []string
	for len(stream) > 0 {
		key, extras, size := int(binary.BigEndian.Uint16(stream[2:])), int(stream[4]), int(binary.BigEndian.Uint32(stream[8:]))
		body := stream[24 : 24+size]
		one := fmt.Sprintf("%#x status=%#x opaque=%#x cas=%d key=%q value=%q", stream[1], binary.BigEndian.Uint16(stream[6:]),
			binary.BigEndian.Uint32(stream[12:]), binary.BigEndian.Uint64(stream[16:]), body[extras:extras+key], body[extras+key:])
		if extras == 4 {
			one += fmt.Sprintf(" flags=%d", binary.BigEndian.Uint32(body))
		}
		if slices.Contains([]byte{5, 6, 0x15, 0x16}, stream[1]) && stream[6] == 0 && stream[7] == 0 {
			if number := binary.BigEndian.Uint64(body); number != 0 {
				one += fmt.Sprintf(" number=%d", number)
			}
		}
		told = append(told, one)
		stream = stream[24+size:]
	}
	return told
}

// rebuildPacket takes the first binary request from b.
func rebuildPacket(b []byte) (want []byte, name string, got []byte) {
	if len(b) < codec.HeaderLen {
		return b, "", nil
	}
	op := codec.Opcode(b[1])
	name = fmt.Sprintf("%#02x", b[1])
	key, extras, size := int(binary.BigEndian.Uint16(b[2:])), int(b[4]), int(binary.BigEndian.Uint32(b[8:]))
	if size > len(b)-codec.HeaderLen || key+extras > size {
		return b, name, nil
	}
	want = b[:codec.HeaderLen+size]
	if b[5]|b[6]|b[7] != 0 { // data type and vbucket
		return want, name, nil
	}
	p := packet{
		opaque: binary.BigEndian.Uint32(b[12:]), cas: binary.BigEndian.Uint64(b[16:]),
		extras: want[codec.HeaderLen:][:extras], key: string(want[codec.HeaderLen+extras:][:key]), value: want[codec.HeaderLen+extras+key:],
	}
	got = p.rebuild(op)
	if len(got) != len(want) {
		return want, name, nil // extras, key or value that the command does not have
	}
	return want, name, got
}

type packet struct {
	opaque uint32
	cas    uint64
	extras []byte
	key    string
	value  []byte
}

func (p *packet) rebuild(op codec.Opcode) []byte {
	const (
		getOps   = "\x00\x09\x0c\x0d" // plain, quiet, with key, with key and quiet
		touchOps = "\x1d\x1e\x23\x24"
		storeOps = "\x01\x02\x03\x0e\x0f\x11\x12\x13\x19\x1a"
	)
	at := func(ops string) int { return slices.Index([]byte(ops), byte(op)) }
	word := func(i int) uint32 {
		if len(p.extras) < i+4 {
			return 0
		}
		return binary.BigEndian.Uint32(p.extras[i:])
	}
	switch {
	case at(getOps) >= 0:
		i := at(getOps)
		return expressed(codec.AppendGet(nil, &codec.GetRequest{Key: p.key, Opaque: p.opaque, WithKey: i >= 2, Quiet: i%2 == 1}))
	case at(touchOps) >= 0:
		i := at(touchOps)
		return expressed(codec.AppendGetAndTouch(nil, &codec.GetAndTouchRequest{
			Key: p.key, Opaque: p.opaque, Expiration: int32(word(0)), WithKey: i >= 2, Quiet: i%2 == 1,
		}))
	case at(storeOps) >= 0:
		i := at(storeOps)
		return expressed(codec.AppendStore(nil, &codec.StoreRequest{
			Key: p.key, Value: p.value, Mode: codec.StoreMode(i % 5), Quiet: i >= 5, Opaque: p.opaque,
			ClientFlags: word(0), Expiration: int32(word(4)), CAS: p.cas,
		}))
	case op == codec.OpTouch:
		return expressed(codec.AppendTouch(nil, &codec.TouchRequest{Key: p.key, Opaque: p.opaque, Expiration: int32(word(0))}))
	case op == codec.OpDelete || op == codec.OpDeleteQ:
		return expressed(codec.AppendDelete(nil, &codec.DeleteRequest{Key: p.key, Quiet: op == codec.OpDeleteQ, Opaque: p.opaque, CAS: p.cas}))
	case at("\x05\x15\x06\x16") >= 0:
		r := codec.ArithmeticRequest{
			Key: p.key, Decrement: at("\x06\x16") >= 0, Quiet: at("\x15\x16") >= 0, Opaque: p.opaque, CAS: p.cas,
			Delta: uint64(word(0))<<32 | uint64(word(4)),
		}
		if word(16) != 0xffffffff {
			r.Create, r.Initial, r.Expiration = true, uint64(word(8))<<32|uint64(word(12)), int32(word(16))
		} else if word(8)|word(12) != 0 {
			return nil // an initial value that the server will not look at
		}
		return expressed(codec.AppendArithmetic(nil, &r))
	case op == codec.OpFlush || op == codec.OpFlushQ:
		return codec.AppendFlush(nil, &codec.FlushRequest{Delay: word(0), Quiet: op == codec.OpFlushQ, Opaque: p.opaque})
	case op == codec.OpNoop:
		return codec.AppendNoop(nil, p.opaque)
	case op == codec.OpVersion:
		return codec.AppendVersion(nil, p.opaque)
	case op == codec.OpQuit || op == codec.OpQuitQ:
		return codec.AppendQuit(nil, op == codec.OpQuitQ, p.opaque)
	case op == codec.OpStat:
		return expressed(codec.AppendStat(nil, p.key, p.opaque))
	case op == codec.OpAuthList:
		return codec.AppendAuthList(nil, p.opaque)
	case op == codec.OpAuthStart:
		return expressed(codec.AppendAuthStart(nil, p.key, string(p.value), p.opaque))
	case op == codec.OpAuthStep:
		return expressed(codec.AppendAuthStep(nil, p.key, string(p.value), p.opaque))
	}
	return nil
}
