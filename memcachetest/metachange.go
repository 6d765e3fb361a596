package memcachetest

// md and ma.

import (
	"strconv"
	"strings"
)

func (c *conn) metaDelete() {
	var r metaRequest
	e, ofFlags := c.metaLine(&r)
	switch {
	case c.old && ofFlags:
		e = errAnyFlag
	case c.old && e == errTooManyFlags:
		e = errTooManyFlagsOld
	case e == "" && !r.opaqueFits():
		e = errOpaque
	}
	if e != "" {
		c.fail(e)
		return
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	c.st.count.cmdMeta++
	it := c.st.peek(r.key, now)
	switch {
	case it != nil && r.hasC && r.cas != it.cas:
		c.metaStatus("EX", &r)
		return
	case it != nil && (r.invalid || r.drop):
		c.invalidate(it, &r, now)
		c.st.count.deleteHits++
	case c.st.delete(r.key, 0, now) == notFound:
		c.metaStatus("NF", &r)
		return
	}
	if !r.quiet {
		c.metaStatus("HD", &r)
	}
}

// invalidate keeps the item but marks it stale (I), or takes its value (x).
func (c *conn) invalidate(it *item, r *metaRequest, now int64) {
	if r.drop {
		cas := newCAS{it.cas, true}
		if r.newCAS.given {
			cas = r.newCAS
		}
		it = c.st.insert(&write{key: r.key, newCAS: cas}, now)
	}
	if r.invalid {
		it.stale, it.won = true, false
		c.st.setCAS(it, r.newCAS)
	}
	if r.hasT {
		it.expires = c.st.clock.expiry(r.ttl, now)
	}
}

func (c *conn) metaArithmetic() {
	var r metaRequest
	if e := c.arithmeticLine(&r); e != "" {
		c.fail(e)
		return
	}
	down := r.mode == 'D' || r.mode == '-'
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	c.st.count.cmdMeta++
	it, n, result := c.st.delta(&change{key: r.key, down: down, by: r.delta, cas: r.cas, newCAS: r.newCAS}, now)
	created := false
	switch result {
	case deltaMissing:
		switch {
		case r.hasN:
		case !r.opaqueFits():
			c.fail(errOpaque)
			return
		default:
			c.metaStatus("NF", &r)
			return
		}
		n, created = r.initial, true
		it = c.st.insert(&write{
			key: r.key, newCAS: r.newCAS, value: strconv.AppendUint(nil, n, 10),
		}, now)
	case deltaExists:
		if !r.opaqueFits() {
			c.fail(errOpaque)
			return
		}
		c.metaStatus("EX", &r)
		return
	case deltaNotNumeric:
		c.fail(errNotNumeric)
		return
	}
	cas := it.cas
	if r.newCAS.given && !c.st.noCAS {
		cas = r.newCAS.value
	}

	start := len(c.out)
	text := strconv.AppendUint(nil, n, 10)
	if r.value {
		c.out = strconv.AppendInt(append(c.out, "VA "...), int64(len(text)), 10)
	} else {
		c.out = append(c.out, "HD"...)
	}
	for _, f := range r.flags {
		switch f[0] {
		case 'T':
			it.expires = c.st.clock.expiry(r.ttl, now)
		case 'N':
			if created {
				it.expires = c.st.clock.expiry(r.vivify, now)
			}
		case 't':
			c.out = appendTTL(c.out, it, now)
		case 'c':
			c.out = appendNumber(c.out, 'c', cas)
		case 'O':
			// Found only now that the number has changed.
			if len(f) > maxOpaque {
				c.out = c.out[:start]
				c.fail(errOpaque)
				return
			}
			c.out = appendEcho(c.out, &r, f)
		default:
			c.out = appendEcho(c.out, &r, f)
		}
	}
	c.out = append(c.out, "\r\n"...)
	if r.value {
		c.out = append(append(c.out, text...), "\r\n"...)
	}
	// 1.6.18 shows the creation of a counter even to a quiet request.
	if r.quiet && !(c.old && created) {
		c.out = c.out[:start]
	}
}

// arithmeticLine parses the line of ma, which has one error line for most mistakes.
func (c *conn) arithmeticLine(r *metaRequest) string {
	e, ofFlags := c.metaLine(r)
	tooLong := len(c.tokens) >= 2 && len(c.tokens[1]) > maxKey && lettersAlone(c.tokens[2:])
	switch {
	case ofFlags, !c.old && (tooLong || e == errTooManyFlags):
		return errAnyFlag
	case c.old && e == errTooManyFlags:
		return errTooManyFlagsOld
	case e != "":
		return e
	case r.mode != 0 && strings.IndexByte("I+D-", r.mode) < 0:
		return errArithmeticMode
	}
	return ""
}
