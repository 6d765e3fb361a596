package memcachetest

// The commands of the binary protocol.

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// binaryGet answers the reads, and touch, which returns what gat does but the
// value.
func (c *conn) binaryGet(h *binaryHeader, extras, key []byte) {
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	touch := len(extras) > 0
	withKey := h.op == opGetK || h.op == opGATK
	how := accessGet
	switch h.op {
	case opTouch:
		how = accessTouch
	case opGAT, opGATK:
		how = accessGet | accessTouch
	}
	it := c.st.fetch(key, how, now)
	if it == nil {
		switch {
		case h.quiet:
		case withKey:
			c.binaryReply(h, statusNotFound, 0, nil, key, nil)
		default:
			c.binaryError(h, statusNotFound)
		}
		return
	}
	it.held = c.batch.hold()
	if touch {
		it.expires = c.st.clock.expiry(int64(binary.BigEndian.Uint32(extras)), now)
	}
	var flags [4]byte
	binary.BigEndian.PutUint32(flags[:], it.flags)
	value := it.value
	if h.op == opTouch {
		value = nil
	}
	if !withKey {
		key = nil
	}
	c.binaryReply(h, statusOK, it.cas, flags[:], key, value)
}

var binaryModes = map[byte]storeMode{
	opSet: modeSet, opAdd: modeAdd, opReplace: modeReplace,
	opAppend: modeAppend, opPrepend: modePrepend,
}

func (c *conn) binarySet(h *binaryHeader, extras, key []byte) {
	w := write{mode: binaryModes[h.op], key: key, cas: h.cas, noMemory: c.noMemory}
	var exptime int64
	if len(extras) > 0 {
		w.flags = binary.BigEndian.Uint32(extras)
		exptime = int64(binary.BigEndian.Uint32(extras[4:]))
		if h.cas != 0 && !c.st.noCAS {
			w.mode = modeCAS
		}
	}
	c.st.noteStore(key)
	if !c.st.fits(len(key), h.nvalue(), w.flags) {
		c.st.refuse(key, h.op == opSet)
		c.dropBinary(h, statusTooLarge, h.nvalue())
		return
	}
	value, ok := c.readValue(int(h.nvalue()))
	if !ok {
		c.abort()
		return
	}
	w.value = value

	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	w.expires = c.st.clock.expiry(exptime, now)
	it, result := c.st.put(&w, now)
	switch {
	case result == stored:
		c.binaryDone(h, it.cas)
	case result == noMemory:
		c.binaryError(h, statusNoMemory)
	case result == exists, result == notStored && h.op == opAdd:
		c.binaryError(h, statusExists)
	case result == notFound, result == notStored && h.op == opReplace:
		c.binaryError(h, statusNotFound)
	default:
		c.binaryError(h, statusNotStored)
	}
}

func (c *conn) binaryDelete(h *binaryHeader, key []byte) {
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	c.st.detail.delete(key)
	switch c.st.delete(key, h.cas, c.st.clock.now()) {
	case stored:
		c.binaryDone(h, 0)
	case exists:
		c.binaryError(h, statusExists)
	default:
		c.binaryError(h, statusNotFound)
	}
}

func (c *conn) binaryDelta(h *binaryHeader, extras, key []byte) {
	by := binary.BigEndian.Uint64(extras)
	initial := binary.BigEndian.Uint64(extras[8:])
	exptime := binary.BigEndian.Uint32(extras[16:])

	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	it, n, result := c.st.delta(&change{key: key, down: h.op == opDecr, by: by, cas: h.cas}, now)
	switch result {
	case deltaMissing:
		if exptime == neverCreate {
			c.binaryError(h, statusNotFound)
			return
		}
		n = initial
		it = c.st.insert(&write{
			key: key, value: strconv.AppendUint(nil, n, 10),
			expires: c.st.clock.expiry(int64(exptime), now),
		}, now)
	case deltaExists:
		c.binaryError(h, statusExists)
		return
	case deltaNotNumeric:
		c.binaryError(h, statusNotNumeric)
		return
	}
	if !h.quiet {
		c.binaryReply(h, statusOK, it.cas, nil, nil, binary.BigEndian.AppendUint64(nil, n))
	}
}

func (c *conn) binaryFlush(h *binaryHeader, extras []byte) {
	exptime := int64(0)
	if len(extras) > 0 {
		exptime = int64(binary.BigEndian.Uint32(extras))
	}
	c.st.flushAll(exptime)
	c.binaryDone(h, 0)
}

// binaryStat sends one packet for each statistic and an empty one at the end.
func (c *conn) binaryStat(h *binaryHeader, group string) {
	list, outcome := c.binaryStatGroup(group)
	if outcome == statsUnknown {
		c.binaryError(h, statusNotFound)
		return
	}
	for _, s := range list {
		c.binaryReply(h, statusOK, 0, nil, []byte(s.name), []byte(s.value))
	}
	c.binaryReply(h, statusOK, 0, nil, nil, nil)
}

// binaryStatGroup is statGroup, with details, as the binary protocol knows it: of
// some names it looks at the beginning alone, and some it does not know.
func (c *conn) binaryStatGroup(group string) ([]stat, statsOutcome) {
	for _, name := range []string{"reset", "settings"} {
		if strings.HasPrefix(group, name) {
			return c.statGroup(name)
		}
	}
	switch group {
	case "conns", "extstore", "proxy":
		return nil, statsUnknown
	}
	what, ok := strings.CutPrefix(group, "detail ")
	if !ok {
		return c.statGroup(group)
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	switch {
	case strings.HasPrefix(what, "dump"):
		return []stat{{"detailed", c.st.detail.dump() + "END\r\n"}}, statsList
	case strings.HasPrefix(what, "on"), strings.HasPrefix(what, "off"):
		c.st.detail.on = strings.HasPrefix(what, "on")
		return nil, statsList
	}
	return nil, statsUnknown
}

func (c *conn) binarySASL(h *binaryHeader, mechanism string) {
	if c.srv.cfg.SASLUsers == nil {
		c.unknownBinary(h, h.nvalue())
		return
	}
	if h.op == opSASLList {
		c.binaryReply(h, statusOK, 0, nil, nil, []byte(saslMechanism))
		return
	}
	if h.nvalue() > maxAuthToken {
		c.refuseBinary(h, statusInvalid)
		return
	}
	data, ok := c.readValue(int(h.nvalue()))
	if !ok {
		c.abort()
		return
	}
	c.sasl(h, mechanism, data)
}
