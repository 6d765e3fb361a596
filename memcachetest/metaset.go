package memcachetest

// ms.

import (
	"strings"
)

// metaSet answers ms. Where the length of the value is known, a refused value is
// read and dropped; otherwise memcached takes it for commands, and so does this.
func (c *conn) metaSet() {
	var r metaRequest
	length, e, drop := c.parseMetaSet(&r)
	if e != "" {
		c.fail(e)
		if drop && !c.swallowValue(length) {
			c.abort()
		}
		return
	}
	w := write{
		mode: setMode(&r), key: r.key, binaryKey: r.binary, flags: r.clientFlags,
		cas: r.cas, markStale: r.invalid, noMemory: c.noMemory,
	}
	if !c.st.fits(len(r.key), int64(length), r.clientFlags) {
		c.refuseTooLarge(r.key, true, length)
		return
	}
	c.leftCAS = newCAS{}
	switch {
	case r.newCAS.value != 0:
		w.newCAS = r.newCAS
	case !r.newCAS.given && !c.old:
		w.newCAS = c.st.reserveCAS()
	}
	if !r.opaqueFits() {
		c.leftCAS = w.newCAS
		c.fail(errOpaque)
		if !c.swallowValue(length) {
			c.abort()
		}
		return
	}
	value, framed, whole := c.readBody(length)
	switch {
	case !whole:
		c.abort()
		return
	case !framed:
		c.leftCAS = w.newCAS
		c.fail(errDataChunk)
		return
	}
	w.value = value

	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	c.st.count.cmdMeta++
	w.expires = c.st.clock.expiry(r.ttl, now)
	if r.hasN && !c.old {
		w.vivify = c.st.clock.expiry(r.vivify, now)
		switch w.mode {
		case modeAppend:
			w.mode = modeAppendOrCreate
		case modePrepend:
			w.mode = modePrependOrCreate
		}
	}
	it, result := c.st.put(&w, now)
	switch {
	case result == noMemory:
		c.fail(errNoMemory)
		return
	case result == stored && r.quiet:
		return
	}
	cas, size := uint64(0), length
	if it != nil {
		cas, size = it.cas, len(it.value)
	}
	c.out = append(c.out, [...]string{stored: "HD", notStored: "NS", exists: "EX", notFound: "NF"}[result]...)
	for _, f := range r.flags {
		switch f[0] {
		case 'c':
			c.out = appendNumber(c.out, 'c', cas)
		case 's':
			if !c.old {
				c.out = appendNumber(c.out, 's', uint64(size))
			}
		default:
			c.out = appendEcho(c.out, &r, f)
		}
	}
	c.out = append(c.out, "\r\n"...)
}

// parseMetaSet parses the line of ms. With an error line it says whether the
// value is to be dropped.
func (c *conn) parseMetaSet(r *metaRequest) (length int, e string, drop bool) {
	if len(c.tokens) < 2 {
		return 0, c.errMissing(), false
	}
	if c.old && len(c.tokens) >= maxMetaTokens {
		return 0, errTooManyFlagsOld, false
	}
	if len(c.tokens[1]) > maxKey && c.old || len(c.tokens) < 3 {
		return 0, errFormat, false
	}
	length, ok := c.num.length(c.tokens[2])
	if !ok || !c.old && !lettersAlone(c.tokens[3:]) {
		return 0, errFormat, false
	}
	if len(c.tokens[1]) > maxKey {
		return length, errFormat, true
	}
	if len(c.tokens) > maxMetaTokens {
		return length, errTooManyFlags, true
	}
	if e := c.parseMeta(r, 3); e != "" {
		return length, e, true
	}
	if r.mode != 0 && strings.IndexByte("SERAP", r.mode) < 0 {
		return length, errSetMode, true
	}
	return length, "", false
}

// setMode is what the M and C flags of ms make of it: C turns a set and a replace
// into a compare and swap.
func setMode(r *metaRequest) storeMode {
	switch r.mode {
	case 'E':
		return modeAdd
	case 'A':
		return modeAppend
	case 'P':
		return modePrepend
	}
	switch {
	case r.hasC:
		return modeCAS
	case r.mode == 'R':
		return modeReplace
	}
	return modeSet
}

// refuseTooLarge answers a storage command whose value does not fit, and drops the
// value. With forget the old value of the key goes as well.
func (c *conn) refuseTooLarge(key []byte, forget bool, length int) {
	c.st.refuse(key, forget)
	c.reply(errTooLarge)
	if !c.swallowValue(length) {
		c.abort()
	}
}
