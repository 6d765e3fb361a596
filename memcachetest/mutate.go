package memcachetest

// Wrong replies made out of right ones.

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

const hugeLength = 1<<31 - 10

// statusInternal is the binary status of a server in trouble.
const statusInternal binaryStatus = 0x84

func isBinaryReply(r []byte) bool { return len(r) >= binaryHead && r[0] == magicReply }

// mutate returns the reply as the action spoils it. r stays as it is.
func (a Action) mutate(r []byte) []byte {
	switch a.kind {
	case actWrongOpaque:
		return wrongOpaque(bytes.Clone(r))
	case actCorrupt:
		r = bytes.Clone(r)
		for i := range r[:min(4, len(r))] {
			r[i] ^= 0x15
		}
		return r
	case actOversize:
		return oversize(r)
	case actAnswer, actNoMemory:
		return a.answer(r)
	}
	return r
}

func (a Action) answer(r []byte) []byte {
	if !isBinaryReply(r) {
		return []byte(a.line + "\r\n")
	}
	status, text := statusInternal, a.line
	if a.kind == actNoMemory {
		status, text = statusNoMemory, statusText[statusNoMemory]
	}
	out := bytes.Clone(r[:binaryHead])
	binary.BigEndian.PutUint16(out[2:], 0)
	out[4] = 0
	binary.BigEndian.PutUint16(out[6:], uint16(status))
	binary.BigEndian.PutUint32(out[8:], uint32(len(text)))
	return append(out, text...)
}

// wrongOpaque changes one byte of the opaque, in place.
func wrongOpaque(r []byte) []byte {
	if isBinaryReply(r) {
		r[15] ^= 1
		return r
	}
	header, _, _ := bytes.Cut(r, []byte("\r\n"))
	if i := bytes.Index(header, []byte(" O")); i >= 0 && i+2 < len(header) && header[i+2] != ' ' {
		r[i+2] ^= 1
	}
	return r
}

// lengthField finds the digits of the first value's length in a text reply.
func lengthField(r []byte) (from, to int, ok bool) {
	header, _, _ := bytes.Cut(r, []byte("\r\n"))
	field := 0
	switch {
	case bytes.HasPrefix(header, []byte("VA ")):
		field = 1
	case bytes.HasPrefix(header, []byte("VALUE ")):
		field = 3
	default:
		return 0, 0, false
	}
	for range field {
		space := bytes.IndexByte(header[from:], ' ')
		if space < 0 {
			return 0, 0, false
		}
		from += space + 1
	}
	to = len(header)
	if space := bytes.IndexByte(header[from:], ' '); space >= 0 {
		to = from + space
	}
	return from, to, true
}

// valueOf finds the first value in a reply.
func valueOf(r []byte) (from, size int, ok bool) {
	if isBinaryReply(r) {
		front := int(binary.BigEndian.Uint16(r[2:])) + int(r[4])
		size := int(binary.BigEndian.Uint32(r[8:])) - front
		from := binaryHead + front
		return from, size, size > 0 && from+size <= len(r)
	}
	first, last, ok := lengthField(r)
	if !ok {
		return 0, 0, false
	}
	size, err := strconv.Atoi(string(r[first:last]))
	from = bytes.IndexByte(r, '\n') + 1
	return from, size, err == nil && size > 0 && from+size <= len(r)
}

func oversize(r []byte) []byte {
	if isBinaryReply(r) {
		r = bytes.Clone(r)
		binary.BigEndian.PutUint32(r[8:], hugeLength)
		return r
	}
	first, last, ok := lengthField(r)
	if !ok {
		return r
	}
	out := strconv.AppendInt(bytes.Clone(r[:first]), hugeLength, 10)
	return append(out, r[last:]...)
}
