package link

import "errors"

// This file reads a value into memory of its own. Small ones are copied out of
// the read buffer in one piece; a large one is taken as it comes and, once the
// buffer is empty, read from the socket straight into its destination.

type bodyState uint8

const (
	noBody   bodyState = iota
	inBody             // call.missing bytes of call.value are still to come
	bodyRead           // the value is complete, its terminator is not
)

const (
	// directSize is the size from which a value is not waited for in the read
	// buffer. The buffer must be able to hold a header and a value below it.
	directSize = 16 << 10

	// reserve bounds what is allocated on the server's word alone: a longer
	// value grows as its bytes arrive.
	reserve = 1 << 20
)

// takeValue takes the value of a text reply, size bytes and CRLF, from the
// start of b, behind its header, and gives it to reply, the target of k. ok is
// false when b holds too little; a large value is begun then (k.body says so),
// perhaps with none of its bytes.
func (k *call) takeValue(reply *Reply, b []byte, size int) (n int, ok bool, err error) {
	n = size + len(crlf)
	if len(b) < n {
		if size < directSize {
			return 0, false, nil
		}
		return k.beginBody(size, b), false, nil
	}
	if string(b[size:n]) != crlf {
		return 0, false, errTerminator
	}
	if !k.gone.Load() {
		reply.Value = k.keep(b[:size])
	}
	return n, true, nil
}

// endValue takes the CRLF behind a large value that is complete.
func (k *call) endValue(b []byte) (n int, ok bool, err error) {
	if len(b) < len(crlf) {
		return 0, false, nil
	}
	if string(b[:len(crlf)]) != crlf {
		return 0, false, errTerminator
	}
	k.endBody()
	return len(crlf), true, nil
}

// endBody gives the value that was read to its reply.
func (k *call) endBody() {
	k.target().Value = k.value
	k.body, k.value = noBody, nil
}

const crlf = "\r\n"

var errTerminator = errors.New("value is not followed by CRLF")

// beginBody starts a value of size bytes, and returns how many of them it found
// in have.
func (k *call) beginBody(size int, have []byte) int {
	k.body, k.missing, k.value = inBody, size, nil
	if !k.gone.Load() {
		k.value = make([]byte, 0, min(size, reserve))
	}
	return k.feedBody(have)
}

// feedBody takes what b holds of the value and returns how much that is.
func (k *call) feedBody(b []byte) int {
	n := min(len(b), k.missing)
	if k.value != nil && !k.gone.Load() {
		k.value = append(k.growBody(n), b[:n]...)
	}
	k.took(n)
	return n
}

// growBody makes room for n more bytes, or for some when n is 0.
func (k *call) growBody(n int) []byte {
	if room := cap(k.value) - len(k.value); room > 0 && room >= n {
		return k.value
	}
	size := min(max(2*cap(k.value), len(k.value)+n), len(k.value)+k.missing)
	bigger := make([]byte, len(k.value), size)
	copy(bigger, k.value)
	return bigger
}

// bodyRoom is where the socket may write next; empty when k keeps no value.
func (k *call) bodyRoom() []byte {
	if k.value == nil || k.gone.Load() {
		return nil
	}
	k.value = k.growBody(0)
	room := k.value[len(k.value):cap(k.value)]
	return room[:min(len(room), k.missing)]
}

// tookDirect notes n bytes written to bodyRoom.
func (k *call) tookDirect(n int) {
	k.value = k.value[:len(k.value)+n]
	k.took(n)
}

func (k *call) took(n int) {
	k.missing -= n
	if k.missing == 0 {
		k.body = bodyRead
	}
}
