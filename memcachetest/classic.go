package memcachetest

// The classic text commands.

import (
	"bytes"
	"strconv"
)

// classicArity is the number of tokens a classic command takes on 1.6.18, which
// answers ERROR to any other; 0 stands for no upper bound. 1.6.45 checks the
// lower bound alone.
var classicArity = map[string]struct{ min, max int }{
	"get": {2, 0}, "gets": {2, 0}, "gat": {3, 0}, "gats": {3, 0},
	"set": {5, 6}, "add": {5, 6}, "replace": {5, 6}, "append": {5, 6}, "prepend": {5, 6},
	"cas": {6, 7}, "delete": {2, 4}, "incr": {3, 4}, "decr": {3, 4},
	"touch": {3, 4}, "flush_all": {1, 3}, "version": {1, 0}, "verbosity": {2, 0},
	"quit": {1, 0},
}

var storageModes = map[string]storeMode{
	"set": modeSet, "add": modeAdd, "replace": modeReplace,
	"append": modeAppend, "prepend": modePrepend, "cas": modeCAS,
}

// classic answers the line when it is a classic command.
func (c *conn) classic() bool {
	name := string(c.tokens[0])
	arity, known := classicArity[name]
	if !known {
		return false
	}
	if len(c.tokens) < arity.min || c.old && arity.max != 0 && len(c.tokens) > arity.max {
		c.classicArity(name)
		return true
	}
	switch name {
	case "get", "gets":
		c.get(name == "gets", c.tokens[1:], false, 0)
		return true
	case "gat", "gats":
		c.getAndTouch(name == "gats")
		return true
	case "quit":
		c.closing = true
		return true
	case "version":
		line, _ := c.srv.versionReply()
		c.reply(line)
		return true
	}
	c.quiet = len(c.tokens) > 1 && string(c.tokens[len(c.tokens)-1]) == "noreply"
	if c.old && name == "delete" && len(c.tokens) == 2 {
		c.quiet = false // that is the key
	}
	switch name {
	case "delete":
		c.delete()
	case "incr", "decr":
		c.incr(name == "decr")
	case "touch":
		c.touch()
	case "flush_all":
		c.flushAll()
	case "verbosity":
		c.verbosity()
	default:
		c.set(storageModes[name])
	}
	return true
}

// classicArity answers a line with too few or too many tokens.
func (c *conn) classicArity(name string) {
	switch {
	case c.old && (name == "gat" || name == "gats") && len(c.tokens) == 2:
		c.getAndTouch(false) // no keys, no values
	case name == "cas" && !c.old && len(c.tokens) == 5:
		// The length is there, so the value can be dropped.
		c.refuseLine(4)
	default:
		c.reply(c.errMissing())
	}
}

// refuseLine refuses a storage command and drops its value if its length, which
// is token number at, can be read. 1.6.45 has not seen a noreply when it cannot.
func (c *conn) refuseLine(at int) {
	length, ok := c.num.length(c.tokens[at])
	if c.old {
		c.reply(errFormat)
		return
	}
	if !ok {
		c.fail(errFormat)
		return
	}
	c.reply(errFormat)
	if !c.swallowValue(length) {
		c.abort()
	}
}

// get answers get, gets, gat and gats: the hits in the order of the keys, then
// END. One key that is too long takes the whole answer away, and with it, as on
// memcached, whatever was answered to earlier commands and is not sent yet.
func (c *conn) get(withCAS bool, keys [][]byte, touch bool, exptime int64) {
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	how := accessGet
	if touch {
		how |= accessTouch
	}
	for _, key := range keys {
		if len(key) > maxKey {
			c.forgetReplies()
			c.reply(errFormat)
			if !c.old {
				c.out = append(c.out, "\r\n"...)
			}
			return
		}
		it := c.st.fetch(key, how, now)
		if it == nil {
			continue
		}
		it.held = c.batch.hold()
		if touch {
			it.expires = c.st.clock.expiry(exptime, now)
		}
		c.out = append(append(c.out, "VALUE "...), key...)
		c.out = strconv.AppendUint(append(c.out, ' '), uint64(it.flags), 10)
		c.out = strconv.AppendInt(append(c.out, ' '), int64(len(it.value)), 10)
		if withCAS {
			c.out = strconv.AppendUint(append(c.out, ' '), it.cas, 10)
		}
		c.out = append(c.out, "\r\n"...)
		c.out = append(append(c.out, it.value...), "\r\n"...)
	}
	c.reply("END")
	c.urgent = c.old
}

func (c *conn) getAndTouch(withCAS bool) {
	exptime, ok := c.num.i32(c.tokens[1])
	if !ok {
		c.reply(errExptime)
		return
	}
	c.get(withCAS, c.tokens[2:], true, int64(exptime))
}

// set answers the storage commands: name key flags exptime length [cas] [noreply].
func (c *conn) set(mode storeMode) {
	key := c.tokens[1]
	// Both versions read these two as C does; 1.6.45 is strict with the other numbers.
	loose := number{old: true}
	flags, okFlags := loose.u64(c.tokens[2])
	exptime, okTime := loose.i32(c.tokens[3])
	length, okLength := c.num.length(c.tokens[4])
	var cas uint64
	okCAS := true
	if mode == modeCAS {
		cas, okCAS = c.num.u64(c.tokens[5])
	}
	if len(key) > maxKey || !okFlags || !okTime || !okLength || !okCAS {
		c.refuseLine(4)
		return
	}
	w := write{mode: mode, key: key, flags: uint32(flags), cas: cas, noMemory: c.noMemory}
	c.st.noteStore(key)
	if !c.st.fits(len(key), int64(length), w.flags) {
		c.refuseTooLarge(key, mode == modeSet, length)
		return
	}
	value, framed, whole := c.readBody(length)
	switch {
	case !whole:
		c.abort()
		return
	case !framed:
		c.reply(errDataChunk)
		return
	}
	w.value = value

	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	w.expires = c.st.clock.expiry(int64(exptime), now)
	w.newCAS, c.leftCAS = c.leftCAS, newCAS{}
	_, result := c.st.put(&w, now)
	c.reply([...]string{
		stored: "STORED", notStored: "NOT_STORED", exists: "EXISTS", notFound: "NOT_FOUND",
		noMemory: errNoMemory,
	}[result])
}

const errDeleteUsage = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"

func (c *conn) delete() {
	key := c.tokens[1]
	if c.old && len(c.tokens) > 2 {
		zero := string(c.tokens[2]) == "0"
		ok := len(c.tokens) == 3 && (zero || c.quiet) || len(c.tokens) == 4 && zero && c.quiet
		if !ok {
			c.reply(errDeleteUsage)
			return
		}
	}
	if len(key) > maxKey {
		c.reply(errFormat)
		return
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	c.st.detail.delete(key)
	if c.st.delete(key, 0, c.st.clock.now()) == notFound {
		c.reply("NOT_FOUND")
		return
	}
	c.reply("DELETED")
}

func (c *conn) incr(down bool) {
	key := c.tokens[1]
	if len(key) > maxKey {
		c.reply(errFormat)
		return
	}
	by, ok := c.num.u64(c.tokens[2])
	if !ok {
		c.reply(errDelta)
		return
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	_, n, result := c.st.delta(&change{key: key, down: down, by: by}, c.st.clock.now())
	switch result {
	case deltaDone:
		c.reply(strconv.FormatUint(n, 10))
	case deltaMissing:
		c.reply("NOT_FOUND")
	default:
		c.reply(errNotNumeric)
	}
}

func (c *conn) touch() {
	key := c.tokens[1]
	if len(key) > maxKey {
		c.reply(errFormat)
		return
	}
	exptime, ok := c.num.i32(c.tokens[2])
	if !ok {
		c.reply(errExptime)
		return
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	it := c.st.fetch(key, accessTouch, now)
	if it == nil {
		c.reply("NOT_FOUND")
		return
	}
	it.expires = c.st.clock.expiry(int64(exptime), now)
	c.reply("TOUCHED")
}

func (c *conn) flushAll() {
	exptime := int32(0)
	args := c.tokens[1:]
	if c.quiet {
		args = args[:len(args)-1]
	}
	if len(args) > 0 {
		var ok bool
		if exptime, ok = c.num.i32(args[0]); !ok {
			c.reply(errExptime)
			return
		}
	}
	c.st.flushAll(int64(exptime))
	c.reply("OK")
}

// verbosity has no effect: there is no log to make more or less of.
func (c *conn) verbosity() {
	level := c.tokens[1]
	if len(c.tokens) == 2 && c.quiet {
		level = nil
	}
	if len(bytes.TrimLeft(level, "0123456789")) > 0 {
		c.reply(errFormat)
		return
	}
	c.reply("OK")
}
