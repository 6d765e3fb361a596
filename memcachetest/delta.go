package memcachetest

// incr, decr, ma and their binary forms: a number kept as text.

import "strconv"

type deltaResult uint8

const (
	deltaDone deltaResult = iota
	deltaMissing
	deltaNotNumeric
	deltaExists
)

// delta adds to, or takes from, the number that key holds. Adding wraps at 2^64,
// taking stops at 0. A text that gets shorter keeps its length and is padded with
// spaces. cas 0 is not compared; newCAS 0 means the next one. Needs st.mu.
func (st *store) delta(key []byte, down bool, by, cas, newCAS uint64, now int64) (*item, uint64, deltaResult) {
	it := st.peek(key, now)
	if it == nil {
		if down {
			st.count.decrMisses++
		} else {
			st.count.incrMisses++
		}
		return nil, 0, deltaMissing
	}
	if len(it.value) == 0 {
		return it, 0, deltaNotNumeric
	}
	if cas != 0 && cas != it.cas {
		return it, 0, deltaExists
	}
	n, ok := number{old: true}.u64(it.value)
	if !ok {
		return it, 0, deltaNotNumeric
	}
	switch {
	case !down:
		n += by
		st.count.incrHits++
	default:
		n -= min(n, by)
		st.count.decrHits++
	}
	text := strconv.AppendUint(nil, n, 10)
	if len(text) > len(it.value) {
		it = st.insert(&write{
			key: []byte(it.key), binaryKey: it.binaryKey, value: text,
			flags: it.flags, expires: it.expires, newCAS: newCAS,
		}, now)
		return it, n, deltaDone
	}
	for len(text) < len(it.value) {
		text = append(text, ' ')
	}
	st.replaceValue(it, text, newCAS)
	return it, n, deltaDone
}
