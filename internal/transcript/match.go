package transcript

// Matching what came back against the parts that were recorded.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// verdict of a match against the bytes so far.
type verdict uint8

const (
	matched verdict = iota
	unfinished
	differs
)

// bindings are the CAS values that names stand for in one case.
type bindings map[string]uint64

// bind gives a name its value, or compares it with the one it has. Two names never
// share a value.
func (b bindings) bind(name string, value uint64) bool {
	if have, ok := b[name]; ok {
		return have == value
	}
	for _, other := range b {
		if other == value {
			return false
		}
	}
	b[name] = value
	return true
}

// match compares parts with the beginning of got. It returns the number of bytes
// the parts took, and binds CAS names in b. The reason says what differs.
func match(parts []part, got []byte, b bindings) (n int, v verdict, reason string) {
	at := 0
	for i, p := range parts {
		in := got[at:]
		n, v := 0, matched
		switch p.kind {
		case literal:
			n, v = matchLiteral(p.bytes, in)
		case casText:
			var value uint64
			n, v = digits(in, false)
			if v == matched {
				var err error
				if value, err = strconv.ParseUint(string(in[:n]), 10, 64); err != nil || !b.bind(p.name, value) {
					v = differs
				}
			}
		case casBinary:
			n = 8
			if len(in) < n {
				v = unfinished
			} else if !b.bind(p.name, binary.BigEndian.Uint64(in)) {
				v = differs
			}
		case number:
			n, v = digits(in, true)
			if v == matched {
				value, err := strconv.ParseInt(string(in[:n]), 10, 64)
				if err != nil || value < p.lo || value > p.hi {
					v = differs
				}
			}
		case rest:
			n, v = matchRest(parts[i+1:], in)
		case body:
			n, v = matchBody(got[:at], in)
		case stats:
			n, v = matchStats(in)
		case binaryStats:
			n, v = matchBinaryStats(in)
		}
		if v != matched {
			return at, v, fmt.Sprintf("at byte %d, part %d", at, i+1)
		}
		at += n
	}
	return at, matched, ""
}

func matchLiteral(want, in []byte) (int, verdict) {
	if len(in) < len(want) {
		if bytes.HasPrefix(want, in) {
			return 0, unfinished
		}
		return 0, differs
	}
	if !bytes.HasPrefix(in, want) {
		return 0, differs
	}
	return len(want), matched
}

// digits measures a decimal number that something else follows.
func digits(in []byte, signed bool) (int, verdict) {
	n := 0
	if signed && len(in) > 0 && in[0] == '-' {
		n++
	}
	first := n
	for n < len(in) && in[n] >= '0' && in[n] <= '9' {
		n++
	}
	switch {
	case n == len(in):
		return 0, unfinished
	case n == first:
		return 0, differs
	}
	return n, matched
}

// matchRest takes everything up to the literal that comes next.
func matchRest(next []part, in []byte) (int, verdict) {
	if len(next) == 0 || next[0].kind != literal {
		return len(in), matched
	}
	n := bytes.Index(in, next[0].bytes)
	if n < 0 {
		return 0, unfinished
	}
	return n, matched
}

const headerSize = 24

// bodyOf returns the sizes in a binary reply header.
func bodyOf(header []byte) (key, extras, total int) {
	return int(binary.BigEndian.Uint16(header[2:])), int(header[4]), int(binary.BigEndian.Uint32(header[8:]))
}

// matchBody takes the body of the packet whose header came just before.
func matchBody(before, in []byte) (int, verdict) {
	if len(before) < headerSize {
		return 0, differs
	}
	_, _, n := bodyOf(before[len(before)-headerSize:])
	if len(in) < n {
		return 0, unfinished
	}
	return n, matched
}

// matchStats takes one or more lines `STAT name value`.
func matchStats(in []byte) (int, verdict) {
	at := 0
	for {
		line, _, found := bytes.Cut(in[at:], []byte("\r\n"))
		switch {
		case !found:
			return 0, unfinished
		case !bytes.HasPrefix(line, []byte("STAT ")) && at > 0:
			return at, matched
		case bytes.Count(line, []byte(" ")) < 2 || !bytes.HasPrefix(line, []byte("STAT ")):
			return 0, differs
		}
		at += len(line) + 2
	}
}

// matchBinaryStats takes one or more stat packets with a key.
func matchBinaryStats(in []byte) (int, verdict) {
	at := 0
	for {
		packet := in[at:]
		if len(packet) < headerSize {
			return 0, unfinished
		}
		key, _, total := bodyOf(packet)
		status := binary.BigEndian.Uint16(packet[6:])
		if packet[0] != 0x81 || packet[1] != 0x10 || status != 0 {
			return 0, differs
		}
		if key == 0 {
			if at == 0 {
				return 0, differs
			}
			return at, matched
		}
		if len(packet) < headerSize+total {
			return 0, unfinished
		}
		at += headerSize + total
	}
}
