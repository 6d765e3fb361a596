package integration

// Random scripts of binary packets.

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// packet is a binary request whose key and CAS depend on the run.
type packet struct {
	op            byte
	extras        []byte
	key           string // behind the prefix, if prefixed
	prefixed      bool
	value         string
	opaque        uint32
	cas           uint64
	relative      bool // cas is added to the server's counter
	extraKey      int  // by how much the lengths in the header lie
	extraBody     int
	extraExtras   int
	vbucket, kind uint16
}

func (p packet) wire(prefix string, cas uint64) []byte {
	key := p.key
	if p.prefixed {
		key = prefix + key
	}
	if p.relative {
		cas += p.cas
	} else {
		cas = p.cas
	}
	out := []byte{0x80, p.op}
	out = binary.BigEndian.AppendUint16(out, uint16(len(key)+p.extraKey))
	out = append(out, byte(len(p.extras)+p.extraExtras), byte(p.kind))
	out = binary.BigEndian.AppendUint16(out, p.vbucket)
	out = binary.BigEndian.AppendUint32(out, uint32(len(p.extras)+len(key)+len(p.value)+p.extraBody))
	out = binary.BigEndian.AppendUint32(out, p.opaque)
	out = binary.BigEndian.AppendUint64(out, cas)
	return append(append(append(out, p.extras...), key...), p.value...)
}

func (p packet) String() string {
	return fmt.Sprintf("op %#02x extras %x key %.30q value %.60q opaque %d cas %d (relative %v) lies %d/%d/%d",
		p.op, p.extras, p.key, p.value, p.opaque, p.cas, p.relative, p.extraKey, p.extraExtras, p.extraBody)
}

// packetGenerator makes packets from a seed.
type packetGenerator struct{ text *generator }

func newPacketGenerator(seed uint64) *packetGenerator {
	return &packetGenerator{&generator{rng: rand.New(rand.NewPCG(seed, 1))}}
}

func (g *packetGenerator) script(n int) []command {
	g.text.sent = 0
	script := make([]command, n)
	for i := range script {
		script[i] = g.packet()
		g.text.sent++
	}
	return script
}

func (g *packetGenerator) packet() packet {
	t := g.text
	p := packet{opaque: t.rng.Uint32N(1000)}
	p.key, p.prefixed = pick(t, "a", "b", "c"), true
	if t.chance(2) {
		p.key, p.prefixed = strings.Repeat("y", pick(t, 0, 251)), false
	}
	if t.chance(15) {
		p.cas, p.relative = uint64(max(t.sent-t.rng.IntN(5), 0)), true
	} else if t.chance(3) {
		p.cas = pick[uint64](t, 1, 1<<64-1)
	}
	switch n := t.rng.IntN(100); {
	case n < 22:
		p.op = pick[byte](t, 0x00, 0x09, 0x0c, 0x0d)
	case n < 52:
		p.op = pick[byte](t, 0x01, 0x11, 0x02, 0x12, 0x03, 0x13)
		p.extras = binary.BigEndian.AppendUint32(nil, pick[uint32](t, 0, 7, 1<<32-1))
		p.extras = binary.BigEndian.AppendUint32(p.extras, g.exptime())
		p.value = t.value()
	case n < 60:
		p.op = pick[byte](t, 0x0e, 0x19, 0x0f, 0x1a)
		p.value = t.value()
	case n < 66:
		p.op = pick[byte](t, 0x04, 0x14)
	case n < 82:
		p.op = pick[byte](t, 0x05, 0x15, 0x06, 0x16)
		p.extras = binary.BigEndian.AppendUint64(nil, pick[uint64](t, 1, 5, 0, 1<<64-1))
		p.extras = binary.BigEndian.AppendUint64(p.extras, pick[uint64](t, 0, 10, 1<<64-1))
		p.extras = binary.BigEndian.AppendUint32(p.extras, pick[uint32](t, 0, 100, 1<<32-1))
	case n < 90:
		p.op = pick[byte](t, 0x1c, 0x1d, 0x1e, 0x23, 0x24)
		p.extras = binary.BigEndian.AppendUint32(nil, g.exptime())
	case n < 94:
		p.op = pick[byte](t, 0x0a, 0x0b)
		p.key, p.prefixed = "", false
	case n < 95:
		p.op, p.key, p.prefixed = 0x10, pick(t, "nosuch", "reset", "sizes"), false
	case n < 96:
		// Without key and extras, or the server eats into the packets that follow.
		p.op = pick[byte](t, 0x1b, 0x1f, 0x20, 0x25, 0x30, 0xff)
		p.key, p.prefixed = "", false
		p.value = pick(t, "", "xyz")
	default:
		p.op = pick[byte](t, 0x00, 0x01, 0x04, 0x05, 0x0e, 0x1c)
	}
	// The name of a statistic is read beyond its end, so it must not be cut.
	if t.chance(2) && p.op != 0x10 {
		switch t.rng.IntN(4) {
		case 0:
			p.extraKey = pick(t, -1, 1)
		case 1:
			p.extraBody = pick(t, -1, 1, 3)
		case 2:
			p.extraExtras = pick(t, 1, 4)
		case 3:
			p.vbucket, p.kind = 3, 7
		}
	}
	return p
}

func (g *packetGenerator) exptime() uint32 {
	return pick[uint32](g.text, 0, 0, 0, 100, 1000, 2592000, 2592001, 1<<32-1)
}

// relativePackets rewrites the CAS values that the server's counter gave out, as far
// as the bytes are packets.
func relativePackets(reply []byte, cas uint64) []byte {
	var out []byte
	for len(reply) >= 24 && reply[0] == 0x81 {
		total := 24 + int(binary.BigEndian.Uint32(reply[8:]))
		if total > len(reply) {
			break
		}
		out = append(out, reply[:16]...)
		value := binary.BigEndian.Uint64(reply[16:])
		if value >= cas && value-cas < 1e6 {
			value = value - cas | 1<<63
		}
		out = binary.BigEndian.AppendUint64(out, value)
		out = append(out, reply[24:total]...)
		reply = reply[total:]
	}
	return append(out, reply...)
}
