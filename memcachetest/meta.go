package memcachetest

// The meta commands: mg ms md ma mn me.

import (
	"encoding/base64"
	"strconv"
	"strings"
)

const (
	maxMetaTokens = 20 // of a line, the command included; one less on 1.6.18
	maxOpaque     = 32 // bytes with the letter O
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
	recache          int64  // R: as sent
	cas              uint64 // C
	newCAS           newCAS // E
	delta, initial   uint64 // D, J
	clientFlags      uint32 // F
	mode             byte   // M: its first byte; modeNone for none; 0 when there is no M
}

// modeNone stands for an M flag without an argument.
const modeNone = ' '

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
		c.urgent = true
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

// parseMeta takes the key and the flags, which begin at token number first. It
// returns an error line, or "". A letter that is unknown or comes twice ends the
// reading; of other mistakes the last one is told.
func (c *conn) parseMeta(r *metaRequest, first int) string {
	r.key = c.tokens[1]
	r.delta = 1
	r.flags = c.tokens[first:]
	var seen [256]bool
	wrong, last := false, errFormat
	for _, f := range r.flags {
		letter := f[0]
		switch {
		case seen[letter] || c.old && letter >= 127:
			return errDuplicateFlag
		case !c.knownFlag(letter):
			return errInvalidFlag
		}
		seen[letter] = true
		if e, ok := c.parseFlag(r, letter, f[1:]); !ok {
			wrong = true
			if e != "" {
				last = e
			}
		}
	}
	if wrong {
		return last
	}
	return ""
}

// knownFlag tells whether the letter means something to any meta command.
func (c *conn) knownFlag(letter byte) bool {
	known := "CDEFIJLMNOPRTbcfhklqstuvx"
	if c.old {
		known = "CDFIJLMNOPRTbcfhklqstuv"
	}
	return strings.IndexByte(known, letter) >= 0
}

// lettersAlone tells whether each flag begins with a letter, a digit, or one of the
// signs that ASCII has between the letters.
func lettersAlone(flags [][]byte) bool {
	for _, f := range flags {
		if !(f[0] >= '0' && f[0] <= '9' || f[0] >= 'A' && f[0] <= 'z') {
			return false
		}
	}
	return true
}

// parseFlag takes one flag. When its argument is no good, e is the error line for
// it, or "" for the line that all flags begin with.
func (c *conn) parseFlag(r *metaRequest, letter byte, arg []byte) (e string, ok bool) {
	var n int32
	ok = true
	switch letter {
	case 'b':
		r.binary = true
		r.key, ok = decodeKey(c.tokens[1])
		return errBase64, ok
	case 'v':
		r.value = true
	case 'q':
		r.quiet = true
	case 'u':
		r.noBump = true
	case 'I':
		r.invalid = true
	case 'x':
		r.drop = true
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
	case 'E':
		r.newCAS.given = true
		r.newCAS.value, ok = c.num.u64(arg)
	case 'D':
		r.delta, ok = c.num.u64(arg)
		return errDeltaFlag, ok
	case 'J':
		r.initial, ok = c.num.u64(arg)
		return errInitialFlag, ok
	case 'F':
		r.clientFlags, ok = c.num.u32(arg)
		return "", ok
	case 'M':
		r.mode = modeNone
		if len(arg) > 0 {
			r.mode = arg[0]
		}
		return errModeLength, !c.old || len(arg) == 1
	}
	return errToken, ok
}

// opaqueFits tells whether the O flag, if any, is within its limit.
func (r *metaRequest) opaqueFits() bool {
	for _, f := range r.flags {
		if f[0] == 'O' && len(f) > maxOpaque {
			return false
		}
	}
	return true
}

// decodeKey undoes base64 as memcached does: bytes outside the standard alphabet are
// passed over, the others must make whole groups of four, and a group with padding
// is the last one that counts.
func decodeKey(token []byte) ([]byte, bool) {
	var key []byte
	var group uint32
	n, padding, over := 0, 0, false
	for _, c := range token {
		value, ok := base64Value(c)
		if !ok {
			continue
		}
		n++
		if over {
			continue
		}
		if c == '=' {
			padding++
		}
		group = group<<6 | value
		if n%4 != 0 {
			continue
		}
		if padding > 2 {
			return nil, false
		}
		key = append(key, byte(group>>16), byte(group>>8), byte(group))
		key = key[:len(key)-padding]
		group, over = 0, padding > 0
	}
	return key, n > 0 && n%4 == 0
}

func base64Value(c byte) (uint32, bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return uint32(c - 'A'), true
	case c >= 'a' && c <= 'z':
		return uint32(c-'a') + 26, true
	case c >= '0' && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, c == '='
}

// metaLine checks what mg, md and ma have in common and parses the line. It returns
// an error line or "", and whether that came from the flags.
func (c *conn) metaLine(r *metaRequest) (e string, ofFlags bool) {
	limit := maxMetaTokens
	if c.old {
		limit--
	}
	switch {
	case len(c.tokens) < 2:
		return c.errMissing(), false
	case !c.old && !lettersAlone(c.tokens[2:]):
		return errFormat, false
	case len(c.tokens[1]) > maxKey:
		return errFormat, false
	case len(c.tokens) > limit:
		return errTooManyFlags, false
	}
	e = c.parseMeta(r, 2)
	return e, e != ""
}

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

// storedKey is a key as its item was stored: in base64 if with b.
func storedKey(it *item) string {
	if it.binaryKey {
		return base64.StdEncoding.EncodeToString([]byte(it.key))
	}
	return it.key
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
		cas: r.cas, markStale: r.invalid, noMemory: c.noMemory,
	}
	if !c.st.fits(len(r.key), length, r.clientFlags) {
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
		if !c.swallow(length + 2) {
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
	if !c.swallow(length + 2) {
		c.abort()
	}
}

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
	if r.newCAS.given {
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
	c.out = strconv.AppendInt(append(c.out, " cls="...), int64(slabClass(it.size())), 10)
	c.out = strconv.AppendInt(append(c.out, " size="...), int64(it.size()), 10)
	c.out = append(c.out, "\r\n"...)
}
