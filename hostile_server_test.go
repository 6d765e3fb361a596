package memcache_test

// A server that sends whatever it likes, and an account of what a client may make
// of it: each connection keeps what was asked and what was said, and a reading of
// these by rules of its own tells which outcomes there can be.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is what an operation on a key came to.
type outcome struct {
	kind   string // "value", "miss", "done", "not stored", "exists", "number"
	value  string
	flags  uint32
	cas    uint64
	number uint64
}

// request is one that a villain has read.
type request struct {
	verb   string // "0x01" and so on in the binary protocol
	keys   []string
	opaque string // in a form that compares
}

// tape is all that went over one connection.
type tape struct {
	binary bool
	asked  []request
	said   []byte
}

// villain is a server. It answers well most of the time.
type villain struct {
	seed  uint64
	stall time.Duration

	mu     sync.Mutex
	tapes  []*tape
	serial int // in every value, so that no two are the same
	wg     sync.WaitGroup
}

// serve plays on nc, and closes it in the end.
func (v *villain) serve(nc net.Conn) {
	defer nc.Close()
	v.mu.Lock()
	number := len(v.tapes)
	tp := new(tape)
	v.tapes = append(v.tapes, tp)
	v.mu.Unlock()
	rng := rand.New(rand.NewPCG(v.seed, uint64(number)))
	p := &play{
		villain: v, rng: rng, nc: nc, r: bufio.NewReader(nc), tape: tp,
		evil: []float64{0, 0.005, 0.03, 0.2}[rng.IntN(4)],
	}
	for p.next() {
	}
}

// play is a villain on one connection.
type play struct {
	*villain
	rng  *rand.Rand
	nc   net.Conn
	r    *bufio.Reader
	tape *tape
	evil float64 // how often it misbehaves

	before [][]byte // replies that were made, the latest last
	held   []byte   // a reply that waits for the next one
	out    []byte   // replies that wait to be written
}

// next reads one request and does something about it.
func (p *play) next() (goesOn bool) {
	first, err := p.r.Peek(1)
	if err != nil {
		return false
	}
	var q request
	var reply []byte
	isBinary := first[0] == 0x80
	if isBinary {
		q, reply, err = p.readPacket()
	} else {
		q, reply, err = p.readLine()
	}
	if err != nil {
		return false
	}
	p.mu.Lock()
	p.tape.binary = isBinary
	p.tape.asked = append(p.tape.asked, q)
	p.mu.Unlock()

	goesOn = true
	if p.rng.Float64() < p.evil {
		reply, goesOn = p.spoil(reply)
	}
	p.before = append(p.before, reply)
	if len(p.before) > 8 {
		p.before = p.before[1:]
	}
	p.out = append(append(p.out, reply...), p.held...)
	p.held = nil
	if !goesOn || p.r.Buffered() == 0 || p.rng.IntN(4) == 0 {
		goesOn = p.flush() && goesOn
	}
	return goesOn
}

func (p *play) flush() bool {
	ok := p.say(p.out)
	p.out = nil
	return ok
}

// say writes b, which is on the tape first.
func (p *play) say(b []byte) bool {
	p.mu.Lock()
	p.tape.said = append(p.tape.said, b...)
	p.mu.Unlock()
	_, err := p.nc.Write(b)
	return err == nil
}

// phrases are what a confused server might say.
var phrases = []string{
	"\r\n", "\n", "\r", " ", "END\r\n", "STORED\r\n", "NOT_STORED\r\n", "DELETED\r\n", "TOUCHED\r\n", "OK\r\n", "EN\r\n", "HD\r\n", "MN\r\n",
	"NF\r\n", "EX\r\n", "NS\r\n", "HD O????\r\n", "EN O@???\r\n", "VA 2 f0 c1 O????\r\nxx\r\n", "VA 4294967295 f0 c1 O@???\r\n", "VA -1 f0 c1 OA???\r\n", "VA 1073741824 f0 c1 O????\r\n",
	"VA 18446744073709551617 f0 c1 OB???\r\n", "VALUE key 0 5 1\r\nhello\r\n", "VALUE key 0 4294967295 1\r\n", "ERROR\r\n", "ERROR Too many open connections\r\n",
	"CLIENT_ERROR bad data chunk\r\n", "CLIENT_ERROR bad command line format\r\n", "CLIENT_ERROR unauthenticated\r\n", "SERVER_ERROR out of memory storing object\r\n",
	"SERVER_ERROR object too large for cache\r\n", "STAT name value\r\n", "RESET\r\n", "VERSION 1.6.45\r\n", "VERSION 1.4.0\r\n", "7\r\n", "18446744073709551616\r\n",
	"\x81\x00\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x81\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x81", "\x80",
	"\x00\x00\x00\x00", "\xff", "VA 1 f0 c1 W O????\r\nx\r\n", "VA 0 f0 c1 O???? Z\r\n\r\n",
}

func (p *play) phrase() []byte { return []byte(phrases[p.rng.IntN(len(phrases))]) }

// spoil makes something worse of a reply, and perhaps the last one.
func (p *play) spoil(reply []byte) (_ []byte, goesOn bool) {
	rng := p.rng
	at := func(b []byte) int { return rng.IntN(len(b) + 1) }
	i := at(reply)
	switch rng.IntN(18) {
	case 0: // a bit falls over
		if len(reply) > 0 {
			reply = slices.Clone(reply)
			reply[rng.IntN(min(len(reply), 40))] ^= 1 << rng.IntN(8)
		}
	case 1: // something is missing
		reply = slices.Delete(slices.Clone(reply), i, min(i+1+rng.IntN(5), len(reply)))
	case 2: // something is there twice
		reply = slices.Insert(slices.Clone(reply), i, reply[:i]...)
	case 3:
		reply = slices.Insert(slices.Clone(reply), i, p.phrase()...)
	case 4:
		reply = p.phrase()
	case 5:
		reply = append(slices.Clone(reply), p.phrase()...)
	case 6:
		reply = append(p.phrase(), reply...)
	case 7:
		reply = append(slices.Clone(reply), reply...)
	case 8: // an old one, as well or instead
		if len(p.before) > 0 {
			old := p.before[rng.IntN(len(p.before))]
			if rng.IntN(2) == 0 {
				return old, true
			}
			reply = append(slices.Clone(old), reply...)
		}
	case 9: // the next one comes first
		p.held = reply
		return nil, true
	case 10: // nothing
		return nil, true
	case 11: // half of it, and the end
		return reply[:i], false
	case 12: // half of it, and on
		return reply[:i], true
	case 13:
		return nil, false
	case 14: // late
		if !p.flush() {
			return nil, false
		}
		time.Sleep(p.stall * time.Duration(1+rng.IntN(8)) / 4)
	case 15: // drop by drop
		if !p.flush() {
			return nil, false
		}
		for len(reply) > 0 && rng.IntN(100) > 0 {
			if !p.say(reply[:1]) {
				return nil, false
			}
			reply = reply[1:]
			time.Sleep(p.stall / 50)
		}
	case 16: // a flood
		flood := bytes.Repeat(append(p.phrase(), reply[:min(i, 50)]...), 200)
		for range 1 + rng.IntN(20) {
			if !p.flush() || !p.say(flood) {
				return nil, false
			}
		}
	case 17: // what nobody asked for, when all is quiet
		p.out = append(p.out, reply...)
		if !p.flush() {
			return nil, false
		}
		time.Sleep(p.stall / 20)
		return p.phrase(), true
	}
	return reply, true
}

// value makes one that there never was before.
func (p *play) value() []byte {
	p.mu.Lock()
	p.serial++
	v := fmt.Appendf(nil, "%x.%d ", p.seed, p.serial)
	p.mu.Unlock()
	switch p.rng.IntN(40) {
	case 0:
		return bytes.Repeat(v, 1+p.rng.IntN(10_000))
	case 1, 2, 3:
		return append(v, p.phrase()...)
	case 4:
		return nil
	}
	return bytes.Repeat(v, 1+p.rng.IntN(4))
}

var errorLines = []string{"SERVER_ERROR out of memory storing object\r\n", "ERROR\r\n", "SERVER_ERROR backend failure\r\n"}

// readLine reads a request of the text protocols and makes a good reply to it.
func (p *play) readLine() (q request, reply []byte, err error) {
	line, err := p.r.ReadString('\n')
	if err != nil {
		return q, nil, err
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return q, []byte("ERROR\r\n"), nil
	}
	q.verb = words[0]
	size, swallow := 0, false
	switch q.verb {
	case "gets":
		q.keys = words[1:]
	case "gats":
		q.keys = words[2:]
	case "version", "mn", "stats", "flush_all":
	case "set", "add", "replace", "append", "prepend", "cas":
		q.keys, swallow = words[1:2], true
		size, _ = strconv.Atoi(words[4])
	default:
		q.keys = words[1:2]
		for _, w := range words[2:] {
			if w[0] == 'O' {
				q.opaque = w
			}
		}
		if q.verb == "ms" {
			size, _ = strconv.Atoi(words[2])
			swallow = true
		}
	}
	if swallow {
		if _, err := io.CopyN(io.Discard, p.r, int64(size)+2); err != nil {
			return q, nil, err
		}
	}
	pick := func(of ...string) []byte { return []byte(of[p.rng.IntN(len(of))] + q.opaque + "\r\n") }
	if len(q.keys) > 0 && p.rng.IntN(50) == 0 {
		return q, []byte(errorLines[p.rng.IntN(len(errorLines))]), nil
	}
	switch q.verb {
	case "version":
		return q, []byte("VERSION 1.6.45\r\n"), nil
	case "mn":
		return q, []byte("MN\r\n"), nil
	case "stats":
		return q, []byte("STAT a 1\r\nSTAT b 2\r\nEND\r\n"), nil
	case "flush_all":
		return q, []byte("OK\r\n"), nil
	case "gets", "gats":
		for _, key := range q.keys {
			if p.rng.IntN(3) > 0 {
				v := p.value()
				reply = fmt.Appendf(reply, "VALUE %s %d %d %d\r\n%s\r\n", key, p.rng.Uint32(), len(v), p.rng.Uint64(), v)
			}
		}
		return q, append(reply, "END\r\n"...), nil
	case "mg":
		if !slices.Contains(words, "v") {
			return q, pick("HD f0 c1 s1 t-1 h0 l0 ", "EN "), nil
		}
		if p.rng.IntN(3) == 0 {
			return q, pick("EN "), nil
		}
		v := p.value()
		return q, fmt.Appendf(nil, "VA %d f%d c%d %s\r\n%s\r\n", len(v), p.rng.Uint32(), p.rng.Uint64(), q.opaque, v), nil
	case "ms":
		return q, pick("HD ", "HD ", "NS ", "EX ", "NF "), nil
	case "md":
		return q, pick("HD ", "NF "), nil
	case "ma":
		if p.rng.IntN(3) == 0 {
			return q, pick("NF "), nil
		}
		n := strconv.FormatUint(p.rng.Uint64(), 10)
		return q, fmt.Appendf(nil, "VA %d %s\r\n%s\r\n", len(n), q.opaque, n), nil
	case "delete":
		return q, pick("DELETED", "NOT_FOUND"), nil
	case "touch":
		return q, pick("TOUCHED", "NOT_FOUND"), nil
	case "incr", "decr":
		return q, pick("NOT_FOUND", strconv.FormatUint(p.rng.Uint64(), 10)), nil
	case "cas":
		return q, pick("STORED", "EXISTS", "NOT_FOUND"), nil
	case "set":
		return q, pick("STORED"), nil
	}
	return q, pick("STORED", "NOT_STORED"), nil
}

const (
	opGet, opSet, opReplace, opDelete = 0x00, 0x01, 0x03, 0x04
	opIncr, opDecr, opGetQ, opNoop    = 0x05, 0x06, 0x09, 0x0a
	opStat, opTouch, opGat            = 0x10, 0x1c, 0x1d
)

// readPacket is readLine for the binary protocol.
func (p *play) readPacket() (q request, reply []byte, err error) {
	h := make([]byte, 24)
	if _, err = io.ReadFull(p.r, h); err != nil {
		return q, nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(h[8:]))
	if _, err = io.ReadFull(p.r, body); err != nil {
		return q, nil, err
	}
	op, key := h[1], string(body[h[4]:][:binary.BigEndian.Uint16(h[2:])])
	q = request{fmt.Sprintf("%#02x", op), nil, string(h[12:16])}
	if key != "" {
		q.keys = []string{key}
	}
	packet := func(status uint16, extras, name, value []byte) []byte {
		r := make([]byte, 24)
		r[0], r[1], r[4] = 0x81, op, byte(len(extras))
		binary.BigEndian.PutUint16(r[2:], uint16(len(name)))
		binary.BigEndian.PutUint16(r[6:], status)
		binary.BigEndian.PutUint32(r[8:], uint32(len(extras)+len(name)+len(value)))
		copy(r[12:], h[12:16])
		if status == 0 {
			binary.BigEndian.PutUint64(r[16:], p.rng.Uint64())
		}
		return slices.Concat(r, extras, name, value)
	}
	if key != "" && p.rng.IntN(50) == 0 {
		return q, packet(0x82, nil, nil, []byte("Out of memory")), nil
	}
	fails := p.rng.IntN(3) == 0
	switch op {
	case opGetQ, opGet, opGat:
		switch {
		case fails && op == opGetQ:
			return q, nil, nil
		case fails:
			return q, packet(1, nil, nil, []byte("Not found")), nil
		}
		return q, packet(0, binary.BigEndian.AppendUint32(nil, p.rng.Uint32()), nil, p.value()), nil
	case opStat:
		return q, append(packet(0, nil, []byte("name"), []byte("value")), packet(0, nil, nil, nil)...), nil
	case opIncr, opDecr:
		if !fails {
			return q, packet(0, nil, nil, binary.BigEndian.AppendUint64(nil, p.rng.Uint64())), nil
		}
	}
	if key != "" && fails {
		return q, packet([]uint16{1, 2, 5}[p.rng.IntN(3)], nil, nil, []byte("no")), nil
	}
	return q, packet(0, nil, nil, nil), nil
}

// outcomes adds what a client may have made of the tape: for each key what was
// said in the place, and under the opaque, of a request for it. It ends where
// what was said makes no sense.
func (tp *tape) outcomes(of map[string][]outcome) {
	r := &reading{said: tp.said, of: of}
	if tp.binary {
		r.packets(tp.asked)
		return
	}
	for _, q := range tp.asked {
		if !r.reply(q) {
			return
		}
	}
}

type reading struct {
	said []byte
	of   map[string][]outcome
}

func (r *reading) add(key string, o outcome) { r.of[key] = append(r.of[key], o) }

func (r *reading) line() (words []string, ok bool) {
	end := bytes.IndexByte(r.said, '\n')
	if end < 0 {
		return nil, false
	}
	line := string(r.said[:end])
	r.said = r.said[end+1:]
	return strings.Fields(line), true
}

// body reads a value and its end.
func (r *reading) body(size string) (value string, ok bool) {
	n, err := strconv.ParseUint(size, 10, 31)
	if err != nil || uint64(len(r.said)) < n+2 || string(r.said[n:n+2]) != "\r\n" {
		return "", false
	}
	value = string(r.said[:n])
	r.said = r.said[n+2:]
	return value, true
}

// reply reads the reply to q; false at the end of sense.
func (r *reading) reply(q request) bool {
	switch q.verb {
	case "gets", "gats":
		return r.values(q)
	case "stats":
		for {
			words, ok := r.line()
			if !ok || len(words) == 0 {
				return false
			}
			if words[0] != "STAT" {
				return true
			}
		}
	}
	words, ok := r.line()
	if !ok || len(words) == 0 {
		return false
	}
	if len(q.keys) == 0 || isErrorLine(words[0]) {
		return true
	}
	if q.opaque != "" && !slices.Contains(words[1:], q.opaque) && words[0] != "EN" {
		return false
	}
	if q.opaque != "" {
		for _, w := range words[1:] {
			if w[0] == 'O' && w != q.opaque {
				return false
			}
		}
	}
	o := outcome{}
	switch words[0] {
	case "VA":
		if len(words) < 2 {
			return false
		}
		if o.value, ok = r.body(words[1]); !ok {
			return false
		}
		o.kind = "value"
		for _, w := range words[2:] {
			switch n, _ := strconv.ParseUint(w[1:], 10, 64); w[0] {
			case 'f':
				o.flags = uint32(n)
			case 'c':
				o.cas = n
			case 'W', 'Z': // a stub counts as a miss
				r.add(q.keys[0], outcome{kind: "miss"})
			}
		}
		if q.verb == "ma" {
			n, err := strconv.ParseUint(o.value, 10, 64)
			if err != nil {
				return false
			}
			o = outcome{kind: "number", number: n}
		}
	case "HD", "STORED", "DELETED", "TOUCHED":
		o.kind = "done"
	case "EN", "NF", "NOT_FOUND":
		o.kind = "miss"
	case "NS", "NOT_STORED":
		o.kind = "not stored"
	case "EX", "EXISTS":
		o.kind = "exists"
	default:
		n, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			return false
		}
		o = outcome{kind: "number", number: n}
	}
	r.add(q.keys[0], o)
	return true
}

// values reads the reply to gets.
func (r *reading) values(q request) bool {
	missing := slices.Clone(q.keys)
	for {
		words, ok := r.line()
		switch {
		case !ok || len(words) == 0:
			return false
		case isErrorLine(words[0]):
			return true
		case words[0] == "END":
			for _, key := range missing {
				r.add(key, outcome{kind: "miss"})
			}
			return true
		case words[0] != "VALUE" || len(words) != 5:
			return false
		}
		at := slices.Index(missing, words[1])
		value, ok := r.body(words[3])
		flags, err1 := strconv.ParseUint(words[2], 10, 32)
		cas, err2 := strconv.ParseUint(words[4], 10, 64)
		if at < 0 || !ok || err1 != nil || err2 != nil {
			return false
		}
		missing = slices.Delete(missing, at, at+1)
		r.add(words[1], outcome{kind: "value", value: value, flags: uint32(flags), cas: cas})
	}
}

func isErrorLine(word string) bool {
	return word == "ERROR" || word == "CLIENT_ERROR" || word == "SERVER_ERROR"
}

// packets reads all replies of the binary protocol. Quiet gets may have none.
func (r *reading) packets(asked []request) {
	for len(asked) > 0 && len(r.said) >= 24 {
		h := r.said[:24]
		extras, key, size := int(h[4]), int(binary.BigEndian.Uint16(h[2:])), int64(binary.BigEndian.Uint32(h[8:]))
		if h[0] != 0x81 || size < int64(extras+key) || int64(len(r.said)) < 24+size {
			return
		}
		body := r.said[24 : 24+size]
		r.said = r.said[24+size:]
		for asked[0].opaque != string(h[12:16]) {
			if asked[0].verb != fmt.Sprintf("%#02x", opGetQ) || len(asked) == 1 {
				return
			}
			r.add(asked[0].keys[0], outcome{kind: "miss"})
			asked = asked[1:]
		}
		q := asked[0]
		if q.verb != fmt.Sprintf("%#02x", h[1]) {
			return
		}
		if h[1] == opStat && size > 0 && h[7] == 0 {
			continue
		}
		asked = asked[1:]
		if len(q.keys) == 0 {
			continue
		}
		value := body[extras+key:]
		switch status := binary.BigEndian.Uint16(h[6:]); {
		case status == 0 && (h[1] == opGet || h[1] == opGetQ || h[1] == opGat):
			if extras == 4 {
				r.add(q.keys[0], outcome{
					kind: "value", value: string(value),
					flags: binary.BigEndian.Uint32(body), cas: binary.BigEndian.Uint64(h[16:]),
				})
			}
		case status == 0 && (h[1] == opIncr || h[1] == opDecr):
			if len(value) == 8 {
				r.add(q.keys[0], outcome{kind: "number", number: binary.BigEndian.Uint64(value)})
			}
		case status == 0:
			r.add(q.keys[0], outcome{kind: "done"})
		case status == 1:
			r.add(q.keys[0], outcome{kind: "miss"})
			r.add(q.keys[0], outcome{kind: "not stored"}) // to a replace
		case status == 2:
			r.add(q.keys[0], outcome{kind: "exists"})
			r.add(q.keys[0], outcome{kind: "not stored"}) // to an add
		case status == 5:
			r.add(q.keys[0], outcome{kind: "not stored"})
		}
	}
}
