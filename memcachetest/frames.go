package memcachetest

// Where requests and replies begin and end in the two streams that pass a Proxy.
// Bytes are looked at as they pass, in pieces of any size; only header lines and
// binary headers are kept.

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// asked is what a Proxy remembers of a request until its reply comes.
type asked struct {
	command string
	key     string
	opaque  string // of meta: with its letter; of binary: four bytes
	binary  bool
	quiet   bool // may get no reply
	noreply bool // gets none
}

// pending are the requests without a reply, oldest first. Safe for concurrent use.
type pending struct {
	mu   sync.Mutex
	list []asked
}

func (p *pending) push(a asked) {
	if a.noreply {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, a)
}

// pop returns the request that a reply with this header answers. Requests that were
// quiet and turn out to have no reply are dropped. A quiet request without opaque
// and key cannot be told from the one behind it; it is taken.
func (p *pending) pop(header []byte) asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.list) > 0 {
		a := p.list[0]
		p.list = p.list[1:]
		if !a.quiet || a.mayOwn(header) {
			return a
		}
	}
	return asked{}
}

// mayOwn tells whether a reply can be that of a quiet request.
func (a asked) mayOwn(header []byte) bool {
	if a.binary {
		return len(header) >= binaryHead && string(header[12:16]) == a.opaque
	}
	words := bytes.Fields(header)
	if len(words) == 0 || string(words[0]) == "MN" {
		return false
	}
	for _, w := range words[1:] {
		switch w[0] {
		case 'O':
			return string(w) == a.opaque
		case 'k':
			if a.opaque == "" && string(w[1:]) != a.key {
				return false
			}
		}
	}
	return a.opaque == "" || bytes.HasSuffix(words[0], []byte("ERROR"))
}

// requestFrames follows the requests of one connection.
type requestFrames struct {
	pending *pending
	started bool
	binary  bool
	head    []byte // of the request so far
	skip    int    // bytes of a value still to come
}

// see looks at the next bytes.
func (f *requestFrames) see(b []byte) {
	for len(b) > 0 {
		if !f.started {
			f.started = true
			f.binary = b[0] == magicRequest
		}
		if f.skip > 0 {
			n := min(f.skip, len(b))
			f.skip -= n
			b = b[n:]
			continue
		}
		if f.binary {
			b = f.seeBinary(b)
		} else {
			b = f.seeText(b)
		}
	}
}

func (f *requestFrames) seeText(b []byte) []byte {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		f.head = append(f.head, b...)
		return nil
	}
	line := append(f.head, b[:end+1]...)
	f.head = f.head[:0]
	a, length := readRequestLine(line)
	f.pending.push(a)
	if length >= 0 {
		f.skip = length + 2
	}
	return b[end+1:]
}

func (f *requestFrames) seeBinary(b []byte) []byte {
	n := min(binaryHead-len(f.head), len(b))
	f.head = append(f.head, b[:n]...)
	if len(f.head) == binaryHead {
		h := binaryHeader{opcode: f.head[1], op: f.head[1]}
		if loud, ok := quietForm[h.opcode]; ok {
			h.op, h.quiet = loud, true
		}
		f.pending.push(asked{
			command: h.name(), opaque: string(f.head[12:16]), binary: true, quiet: h.quiet,
		})
		f.skip = int(binary.BigEndian.Uint32(f.head[8:]))
		f.head = f.head[:0]
	}
	return b[n:]
}

// readRequestLine returns what a line asks for, and the length of the value behind
// it or -1.
func readRequestLine(line []byte) (a asked, length int) {
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return asked{}, -1
	}
	a.command = words[0]
	if len(words) > 1 {
		a.key = words[1]
	}
	flags := 0
	switch a.command {
	case "mg", "md", "ma":
		flags = 2
	case "ms":
		flags = 3
	}
	if flags > 0 {
		for _, w := range words[min(flags, len(words)):] {
			switch w[0] {
			case 'q':
				a.quiet = true
			case 'O':
				a.opaque = w
			}
		}
	} else {
		a.noreply = len(words) > 2 && words[len(words)-1] == "noreply"
	}
	at := 0
	switch a.command {
	case "ms":
		at = 2
	case "set", "add", "replace", "append", "prepend", "cas":
		at = 4
	}
	if at == 0 || len(words) <= at {
		return a, -1
	}
	n, ok := number{}.length([]byte(words[at]))
	if !ok {
		return a, -1
	}
	return a, n
}

// replyFrames follows the replies to the same connection.
type replyFrames struct {
	pending *pending
	head    []byte // of the line or binary packet so far
	skip    int    // bytes of a value still to come
	more    bool   // another part of the same reply comes after that
	inside  bool   // some of the reply has passed
	asked   asked  // what it answers, once its first header is whole
}

// see finds the end of the current reply in b. It returns how many bytes belong to
// the reply, and whether that was its end.
func (f *replyFrames) see(b []byte) (n int, whole bool) {
	for n < len(b) {
		if f.skip > 0 {
			step := min(f.skip, len(b)-n)
			f.skip -= step
			n += step
		} else {
			step := f.seeHeader(b[n:])
			n += step
			if len(f.head) > 0 {
				return n, false // the header is not whole yet
			}
		}
		if f.skip == 0 && !f.more {
			f.inside = false
			return n, true
		}
	}
	return n, false
}

// seeHeader takes bytes of a header, and reads it when it is whole: then head is
// empty again.
func (f *replyFrames) seeHeader(b []byte) int {
	if len(f.head) == 0 && b[0] == magicReply || len(f.head) > 0 && f.head[0] == magicReply {
		n := min(binaryHead-len(f.head), len(b))
		f.head = append(f.head, b[:n]...)
		if len(f.head) == binaryHead {
			f.readBinary()
		}
		return n
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		f.head = append(f.head, b...)
		return len(b)
	}
	f.head = append(f.head, b[:end+1]...)
	f.readLine()
	return end + 1
}

func (f *replyFrames) begin() {
	if !f.inside {
		f.inside = true
		f.asked = f.pending.pop(f.head)
	}
}

func (f *replyFrames) readBinary() {
	f.begin()
	total := int(binary.BigEndian.Uint32(f.head[8:]))
	f.skip = total
	f.more = f.asked.command == "stat" && total > 0 && binary.BigEndian.Uint16(f.head[6:]) == 0
	f.head = f.head[:0]
}

// dumpLines begin the lines of replies that have many.
var dumpLines = []string{"STAT ", "ITEM ", "PREFIX ", "key=", "mg "}

func (f *replyFrames) readLine() {
	f.begin()
	line := string(f.head)
	f.head = f.head[:0]
	f.skip, f.more = 0, false
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	at := 0
	switch words[0] {
	case "VA":
		at = 1
	case "VALUE":
		at, f.more = 3, true
	default:
		f.more = slices.ContainsFunc(dumpLines, func(p string) bool { return strings.HasPrefix(line, p) }) ||
			f.asked.command == "lru_crawler" && words[0] == "OK"
		return
	}
	if len(words) > at {
		if n, ok := (number{}).length([]byte(words[at])); ok {
			f.skip = n + 2
		}
	}
}
