package memcachetest

// incr, decr, ma and their binary forms: a number kept as text.

import (
	"bytes"
	"strconv"
)

type deltaResult uint8

const (
	deltaDone deltaResult = iota
	deltaMissing
	deltaNotNumeric
	deltaExists
)

// change is one incr, decr or ma.
type change struct {
	key    []byte
	down   bool
	by     uint64
	cas    uint64 // compared when it is not 0
	newCAS newCAS
}

// delta adds to, or takes from, the number that a key holds. Adding wraps at 2^64,
// taking stops at 0. A text that gets shorter keeps its length and is padded with
// spaces.
//
// memcached changes a number in place unless it needs more room or an unsent reply
// holds the item. Otherwise it stores a new item, and the rest of an ma command
// works on the old one, for nothing: this is what delta returns then. Needs st.mu.
func (st *store) delta(ch *change, now int64) (*item, uint64, deltaResult) {
	it := st.peek(ch.key, now)
	if it == nil {
		if ch.down {
			st.count.decrMisses++
		} else {
			st.count.incrMisses++
		}
		return nil, 0, deltaMissing
	}
	if len(it.value) == 0 || st.size(it) > largestChunk {
		return it, 0, deltaNotNumeric // so large an item is kept in pieces, and no number
	}
	if ch.cas != 0 && ch.cas != it.cas {
		return it, 0, deltaExists
	}
	text, _, _ := bytes.Cut(it.value, []byte{0})
	n, ok := number{old: true}.u64(text)
	switch {
	case !ok:
		return it, 0, deltaNotNumeric
	case ch.down:
		n -= min(n, ch.by)
		st.count.decrHits++
	default:
		n += ch.by
		st.count.incrHits++
	}
	text = strconv.AppendUint(nil, n, 10)
	cas := st.takeCAS()
	if len(text) > len(it.value) || it.held.now() {
		st.insert(&write{
			key: ch.key, value: text, flags: it.flags, expires: it.expires,
			newCAS: cas,
		}, now)
	} else {
		for len(text) < len(it.value) {
			text = append(text, ' ')
		}
		it.value = text
	}
	if ch.newCAS.given {
		cas = ch.newCAS
	}
	st.setCAS(it, cas)
	return it, n, deltaDone
}
