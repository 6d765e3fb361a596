package memcachetest

// The meta commands: mg ms md ma mn me.

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

const (
	maxMetaTokens = 20 // of a line, the command included; one less on 1.6.18
	maxOpaque     = 32 // with the letter O
)

const (
	errInvalidFlag     = "CLIENT_ERROR invalid flag"
	errDuplicateFlag   = "CLIENT_ERROR duplicate flag"
	errAnyFlag         = "CLIENT_ERROR invalid or duplicate flag"
	errToken           = "CLIENT_ERROR bad token in command line format"
	errBase64          = "CLIENT_ERROR error decoding key"
	errOpaque          = "CLIENT_ERROR opaque token too long"
	errTooManyFlags    = "CLIENT_ERROR options flags are too long"
	errTooManyFlagsOld = "CLIENT_ERROR options flags too long"
	errModeLength      = "CLIENT_ERROR incorrect length for M token"
	errSetMode         = "CLIENT_ERROR invalid mode for ms M token"
	errArithmeticMode  = "CLIENT_ERROR invalid mode for ma M token"
	errDeltaFlag       = "CLIENT_ERROR invalid numeric delta value"
	errInitialFlag     = "CLIENT_ERROR invalid numeric initial value"
)

// metaRequest is a meta command line, parsed.
type metaRequest struct {
	token   []byte   // the key as it was sent
	key     []byte   // the key, base64 undone
	flags   [][]byte // in the order of the request
	binary  bool     // b
	value   bool     // v
	quiet   bool     // q
	noBump  bool     // u
	invalid bool     // I
	drop    bool     // x

	hasT, hasN, hasC bool
	ttl, vivify      int64  // T, N: as sent
	recache          int64  // R: seconds
	cas              uint64 // C
	newCAS           uint64 // E
	delta, initial   uint64 // D, J
	clientFlags      uint32 // F
	mode             byte   // M, 0 when absent
	modeToken        []byte
}

// meta answers the line when it is a meta command.
func (c *conn) meta() bool {
	switch string(c.tokens[0]) {
	case "mg":
		c.metaGet()
	case "ms":
		c.metaSet()
	case "md":
		c.metaDelete()
	case "ma":
		c.metaArithmetic()
	case "me":
		c.metaDebug()
	case "mn":
		c.reply("MN")
	default:
		return false
	}
	return true
}

// errMissing answers a line without what the command cannot do without.
func (c *conn) errMissing() string {
	if c.old {
		return errUnknown
	}
	return errFormat
}

// metaKey takes the key and the flags, which begin at token number first. It
// returns an error line, or "".
func (c *conn) parseMeta(r *metaRequest, first int) string {
	r.token = c.tokens[1]
	r.key = r.token
	r.delta = 1
	r.flags = c.tokens[first:]
	var seen [256]bool
	if !c.old {
		// Whatever is not a letter or digit fails the line before its flags are read.
		for _, f := range r.flags {
			if !(f[0] >= '0' && f[0] <= '9' || f[0] >= 'A' && f[0] <= 'z') {
				return errFormat
			}
		}
	}
	for _, f := range r.flags {
		if seen[f[0]] || c.old && f[0] >= 127 {
			return errDuplicateFlag
		}
		seen[f[0]] = true
		if e := c.parseFlag(r, f[0], f[1:]); e != "" {
			return e
		}
	}
	return ""
}

func (c *conn) parseFlag(r *metaRequest, letter byte, arg []byte) string {
	ok := true
	var n int32
	switch letter {
	case 'b':
		key, err := decodeKey(r.token)
		if err != nil {
			return errBase64
		}
		r.key, r.binary = key, true
	case 'v':
		r.value = true
	case 'q':
		r.quiet = true
	case 'u':
		r.noBump = true
	case 'I':
		r.invalid = true
	case 'k', 's', 't', 'c', 'f', 'h', 'l', 'P', 'L':
	case 'O':
		if len(arg)+1 >= maxOpaque+1 {
			return errOpaque
		}
	case 'T':
		n, ok = c.num.i32(arg)
		r.hasT, r.ttl = true, int64(n)
	case 'N':
		n, ok = c.num.i32(arg)
		r.hasN, r.vivify = true, int64(n)
	case 'R':
		n, ok = c.num.i32(arg)
		r.recache = int64(n)
	case 'C':
		r.hasC = true
		r.cas, ok = c.num.u64(arg)
	case 'D':
		if r.delta, ok = c.num.u64(arg); !ok {
			return errDeltaFlag
		}
	case 'J':
		if r.initial, ok = c.num.u64(arg); !ok {
			return errInitialFlag
		}
	case 'F':
		if r.clientFlags, ok = c.num.u32(arg); !ok {
			return errFormat
		}
	case 'M':
		if c.old && len(arg) != 1 {
			return errModeLength
		}
		r.modeToken = arg
	case 'E', 'x':
		if c.old {
			return errInvalidFlag
		}
		if letter == 'x' {
			r.drop = true
			break
		}
		r.newCAS, ok = c.num.u64(arg)
	default:
		return errInvalidFlag
	}
	if !ok {
		return errToken
	}
	return ""
}

// decodeKey undoes base64 as memcached takes it: the standard alphabet, padded.
func decodeKey(token []byte) ([]byte, error) {
	key := make([]byte, base64.StdEncoding.DecodedLen(len(token)))
	n, err := base64.StdEncoding.Strict().Decode(key, token)
	if err == nil && n == 0 {
		err = base64.CorruptInputError(0)
	}
	return key[:n], err
}

// metaLine checks what mg, md and ma have in common and parses the line.
func (c *conn) metaLine(r *metaRequest) string {
	limit := maxMetaTokens
	if c.old {
		limit--
	}
	switch {
	case len(c.tokens) < 2:
		return c.errMissing()
	case len(c.tokens[1]) > maxKey:
		return errFormat
	case len(c.tokens) > limit:
		return errTooManyFlags
	}
	return c.parseMeta(r, 2)
}

// appendEcho adds what every reply may carry of the request: k and O.
func appendEcho(out []byte, r *metaRequest, f []byte) []byte {
	switch f[0] {
	case 'O':
		out = append(append(out, ' '), f...)
	case 'k':
		out = append(append(out, " k"...), r.token...)
		if r.binary {
			out = append(out, " b"...)
		}
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

// appendItemKey adds a stored key as its item was stored: base64 if by b.
func appendItemKey(out []byte, it *item) []byte {
	out = append(out, " k"...)
	if !it.binaryKey {
		return append(out, it.key...)
	}
	out = base64.StdEncoding.AppendEncode(out, []byte(it.key))
	return append(out, " b"...)
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
	if e := c.metaLine(&r); e != "" {
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
		it = c.st.insert(&write{key: r.key, binaryKey: r.binary, newCAS: r.newCAS}, now)
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
		case 'T':
			it.expires = c.st.clock.expiry(r.ttl, now)
		case 'N':
			if created {
				it.expires = c.st.clock.expiry(r.vivify, now)
			}
		case 'R':
			if !it.won && !created && it.expires != 0 &&
				wholeSeconds(it.expires-now) < r.recache {
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
	if !r.noBump {
		c.st.touchUse(it, now)
	}
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

// metaSet answers ms. Where the length of the value is known, a refused value is
// read and dropped; otherwise memcached takes it for commands, and so does this.
func (c *conn) metaSet() {
	var r metaRequest
	length, e, drop := c.parseMetaSet(&r)
	if e != "" {
		c.fail(e)
		if drop && !c.swallow(length+2) {
			c.abort()
		}
		return
	}
	w := write{
		mode: setMode(&r), key: r.key, binaryKey: r.binary, flags: r.clientFlags,
		cas: r.cas, newCAS: r.newCAS, markStale: r.invalid,
	}
	if !c.st.fits(len(r.key), length, r.clientFlags) {
		c.refuseTooLarge(r.key, true, length)
		return
	}
	value, framed, whole := c.readBody(length)
	switch {
	case !whole:
		c.abort()
		return
	case !framed:
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
	if !ok {
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
	if r.modeToken == nil {
		return length, "", false
	}
	if len(r.modeToken) == 0 || bytes.IndexByte([]byte("SERAP"), r.modeToken[0]) < 0 {
		return length, errSetMode, true
	}
	r.mode = r.modeToken[0]
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
	if !c.swallow(length + 2) {
		c.abort()
	}
}

func (c *conn) metaDelete() {
	var r metaRequest
	if e := c.metaLine(&r); e != "" {
		if c.old && e != errOpaque && e != errTooManyFlags && e != errFormat && e != errUnknown {
			e = errAnyFlag
		}
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
		it = c.st.insert(&write{key: r.key, binaryKey: it.binaryKey, newCAS: r.newCAS}, now)
	} else {
		c.st.setCAS(it, r.newCAS)
	}
	if r.invalid {
		it.stale, it.won = true, false
		if r.hasT {
			it.expires = c.st.clock.expiry(r.ttl, now)
		}
	}
}

func (c *conn) metaArithmetic() {
	var r metaRequest
	if e := c.metaLine(&r); e != "" {
		c.fail(c.arithmeticError(e))
		return
	}
	down := false
	if r.modeToken != nil {
		mode := byte(0)
		if len(r.modeToken) > 0 {
			mode = r.modeToken[0]
		}
		switch mode {
		case 'I', 'i', '+':
		case 'D', 'd', '-':
			down = true
		default:
			c.fail(errArithmeticMode)
			return
		}
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	c.st.count.cmdMeta++
	it, n, result := c.st.delta(r.key, down, r.delta, r.cas, r.newCAS, now)
	created := false
	switch result {
	case deltaMissing:
		if !r.hasN {
			c.metaStatus("NF", &r)
			return
		}
		n, created = r.initial, true
		it = c.st.insert(&write{
			key: r.key, binaryKey: r.binary, newCAS: r.newCAS,
			value: strconv.AppendUint(nil, n, 10),
		}, now)
	case deltaExists:
		c.metaStatus("EX", &r)
		return
	case deltaNotNumeric:
		c.fail(errNotNumeric)
		return
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
			c.out = appendNumber(c.out, 'c', it.cas)
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

// arithmeticError is the one line ma has for most mistakes.
func (c *conn) arithmeticError(e string) string {
	switch e {
	case errInvalidFlag, errDuplicateFlag, errToken, errBase64, errDeltaFlag,
		errInitialFlag, errModeLength, errTooManyFlags:
		return errAnyFlag
	}
	if len(c.tokens) >= 2 && e == errFormat {
		return errAnyFlag
	}
	return e
}

func (c *conn) metaDebug() {
	if len(c.tokens) < 2 || len(c.tokens[1]) > maxKey {
		c.fail(errFormat)
		return
	}
	key := c.tokens[1]
	// 1.6.45 sees the b flag only when another token stands behind it.
	flagged := len(c.tokens) > 3 || c.old && len(c.tokens) > 2
	if flagged && c.tokens[2][0] == 'b' {
		decoded, err := decodeKey(key)
		if err != nil {
			c.fail(errBase64)
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
	c.out = append(append(c.out, "ME "...), c.tokens[1]...)
	c.out = strconv.AppendInt(append(c.out, " exp="...), left, 10)
	c.out = strconv.AppendInt(append(c.out, " la="...), (now-it.used)/second, 10)
	c.out = strconv.AppendUint(append(c.out, " cas="...), it.cas, 10)
	c.out = append(append(c.out, " fetch="...), fetched...)
	c.out = strconv.AppendInt(append(c.out, " cls="...), int64(slabClass(it.size())), 10)
	c.out = strconv.AppendInt(append(c.out, " size="...), int64(it.size()), 10)
	c.out = append(c.out, "\r\n"...)
}
