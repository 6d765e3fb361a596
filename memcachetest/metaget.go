package memcachetest

// mg and me, and the flags that replies return.

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// appendEcho adds what every reply may carry of the request: k and O.
func appendEcho(out []byte, r *metaRequest, f []byte) []byte {
	switch f[0] {
	case 'O':
		out = append(append(out, ' '), f...)
	case 'k':
		out = append(out, " k"...)
		if !r.binary {
			return append(out, r.key...)
		}
		out = base64.StdEncoding.AppendEncode(out, r.key)
		out = append(out, " b"...)
	}
	return out
}

// metaStatus replies with a code and the echoes alone.
func (c *conn) metaStatus(code string, r *metaRequest) {
	c.out = append(c.out, code...)
	for _, f := range r.flags {
		c.out = appendEcho(c.out, r, f)
	}
	c.out = append(c.out, "\r\n"...)
}

// appendItemKey adds what the k flag returns of an item.
func appendItemKey(out []byte, it *item) []byte {
	out = append(append(out, " k"...), storedKey(it)...)
	if it.binaryKey {
		out = append(out, " b"...)
	}
	return out
}

func appendNumber(out []byte, letter byte, n uint64) []byte {
	return strconv.AppendUint(append(out, ' ', letter), n, 10)
}

// appendTTL adds the seconds an item has left, or -1. memcached prints what is
// over as an unsigned 32 bit number, which wraps.
func appendTTL(out []byte, it *item, now int64) []byte {
	if it.expires == 0 {
		return append(out, " t-1"...)
	}
	return appendNumber(out, 't', uint64(uint32(wholeSeconds(it.expires-now))))
}

func (c *conn) metaGet() {
	var r metaRequest
	if e, _ := c.metaLine(&r); e != "" {
		c.fail(e)
		return
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	c.st.count.cmdMeta++
	how := accessGet | accessQuiet
	if r.hasT {
		how |= accessTouch
	}
	it := c.st.fetch(r.key, how, now)
	created := it == nil && r.hasN
	switch {
	case created:
		it = c.st.insert(&write{key: r.key, newCAS: r.newCAS}, now)
	case it == nil && !r.opaqueFits():
		c.fail(errOpaque)
		return
	case it == nil:
		if !r.quiet {
			c.metaStatus("EN", &r)
		}
		return
	}

	value := r.value && (c.old || !r.hasC || r.cas != it.cas)
	if value {
		c.out = strconv.AppendInt(append(c.out, "VA "...), int64(len(it.value)), 10)
	} else {
		c.out = append(c.out, "HD"...)
	}
	win := created
	for _, f := range r.flags {
		switch f[0] {
		case 'O':
			// Found only here, when the flags before it have done their work.
			if len(f) > maxOpaque {
				c.out = c.out[:c.start]
				c.fail(errOpaque)
				if !r.noBump && !r.lateBump() {
					c.st.touchUse(it, now)
				}
				return
			}
			c.out = appendEcho(c.out, &r, f)
		case 'T':
			it.expires = c.st.clock.expiry(r.ttl, now)
		case 'N':
			if created {
				it.expires = c.st.clock.expiry(r.vivify, now)
			}
		case 'R':
			if !it.won && !created && it.expires != 0 &&
				wholeSeconds(it.expires-now) < wholeSeconds(c.st.clock.expiry(r.recache, now)-now) {
				win = true
			}
		case 'k':
			c.out = appendItemKey(c.out, it)
		default:
			c.out = c.appendItemFlag(c.out, &r, it, f, now)
		}
	}
	if it.won {
		c.out = append(c.out, " Z"...)
	}
	if it.stale {
		c.out = append(c.out, " X"...)
		win = win || !it.won
	}
	if win {
		c.out = append(c.out, " W"...)
		it.won = true
	}
	c.out = append(c.out, "\r\n"...)
	if value {
		c.out = append(append(c.out, it.value...), "\r\n"...)
	}
	it.held = c.batch.hold()
	if !r.noBump {
		c.st.touchUse(it, now)
	}
}

// lateBump tells whether mg notes the use of the item only when it has answered,
// because a flag asks for what was before, or changes the item.
func (r *metaRequest) lateBump() bool {
	for _, f := range r.flags {
		if strings.IndexByte("NTRhl", f[0]) >= 0 {
			return true
		}
	}
	return false
}

// appendItemFlag adds what the flag f of a hit returns, and nothing for a flag
// that returns nothing.
func (c *conn) appendItemFlag(out []byte, r *metaRequest, it *item, f []byte, now int64) []byte {
	switch f[0] {
	case 's':
		return appendNumber(out, 's', uint64(len(it.value)))
	case 't':
		return appendTTL(out, it, now)
	case 'c':
		return appendNumber(out, 'c', it.cas)
	case 'f':
		return appendNumber(out, 'f', uint64(it.flags))
	case 'l':
		return appendNumber(out, 'l', uint64((now-it.used)/second))
	case 'h':
		if it.fetched {
			return append(out, " h1"...)
		}
		return append(out, " h0"...)
	}
	return appendEcho(out, r, f)
}

func (c *conn) metaDebug() {
	if len(c.tokens) < 2 || len(c.tokens[1]) > maxKey {
		c.fail(errFormat)
		return
	}
	key := c.tokens[1]
	if !c.old && !lettersAlone(c.tokens[2:]) {
		c.fail(errFormat)
		return
	}
	// 1.6.45 sees the b flag only when another token stands behind it.
	flagged := len(c.tokens) > 3 || c.old && len(c.tokens) > 2
	if flagged && string(c.tokens[2]) == "b" {
		decoded, ok := decodeKey(key)
		if !ok {
			c.fail(errFormat)
			return
		}
		key = decoded
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	it := c.st.peek(key, now)
	if it == nil {
		c.fail("EN")
		return
	}
	left := int64(-1)
	if it.expires != 0 {
		left = wholeSeconds(it.expires - now)
		if c.old {
			left = -left
		}
	}
	fetched := "no"
	if it.fetched {
		fetched = "yes"
	}
	c.out = append(append(c.out, "ME "...), storedKey(it)...)
	c.out = strconv.AppendInt(append(c.out, " exp="...), left, 10)
	c.out = strconv.AppendInt(append(c.out, " la="...), (now-it.used)/second, 10)
	c.out = strconv.AppendUint(append(c.out, " cas="...), it.cas, 10)
	c.out = append(append(c.out, " fetch="...), fetched...)
	c.out = strconv.AppendInt(append(c.out, " cls="...), int64(slabClass(c.st.size(it))), 10)
	c.out = strconv.AppendInt(append(c.out, " size="...), int64(c.st.size(it)), 10)
	c.out = append(c.out, "\r\n"...)
}
