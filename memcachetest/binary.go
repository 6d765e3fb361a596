package memcachetest

// The binary protocol: packets with a header of 24 bytes, extras, key, value. What
// the commands do is in binarycommands.go.

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	magicRequest = 0x80
	magicReply   = 0x81
	binaryHead   = 24
	maxBody      = 1 << 30 // bytes; 1.6.45 refuses a longer body unread
)

// Opcodes. The quiet form of most stands in quietForm.
const (
	opGet       = 0x00
	opSet       = 0x01
	opAdd       = 0x02
	opReplace   = 0x03
	opDelete    = 0x04
	opIncr      = 0x05
	opDecr      = 0x06
	opQuit      = 0x07
	opFlush     = 0x08
	opNoop      = 0x0a
	opVersion   = 0x0b
	opGetK      = 0x0c
	opAppend    = 0x0e
	opPrepend   = 0x0f
	opStat      = 0x10
	opTouch     = 0x1c
	opGAT       = 0x1d
	opSASLList  = 0x20
	opSASLAuth  = 0x21
	opSASLStep  = 0x22
	opGATK      = 0x23
	neverCreate = math.MaxUint32 // exptime of incr and decr
)

// quietForm maps a quiet opcode to the loud one.
var quietForm = map[byte]byte{
	0x09: opGet, 0x0d: opGetK, 0x11: opSet, 0x12: opAdd, 0x13: opReplace, 0x14: opDelete,
	0x15: opIncr, 0x16: opDecr, 0x17: opQuit, 0x18: opFlush, 0x19: opAppend, 0x1a: opPrepend,
	0x1e: opGAT, 0x24: opGATK,
}

type binaryStatus uint16

const (
	statusOK           binaryStatus = 0x00
	statusNotFound     binaryStatus = 0x01
	statusExists       binaryStatus = 0x02
	statusTooLarge     binaryStatus = 0x03
	statusInvalid      binaryStatus = 0x04
	statusNotStored    binaryStatus = 0x05
	statusNotNumeric   binaryStatus = 0x06
	statusAuth         binaryStatus = 0x20
	statusAuthContinue binaryStatus = 0x21
	statusUnknown      binaryStatus = 0x81
	statusNoMemory     binaryStatus = 0x82
)

var statusText = map[binaryStatus]string{
	statusNotFound:   "Not found",
	statusExists:     "Data exists for key.",
	statusTooLarge:   "Too large.",
	statusInvalid:    "Invalid arguments",
	statusNotStored:  "Not stored.",
	statusNotNumeric: "Non-numeric server-side value for incr or decr",
	statusAuth:       "Auth failure.",
	statusUnknown:    "Unknown command",
	statusNoMemory:   "Out of memory",
}

// binaryHeader is the header of a request.
type binaryHeader struct {
	opcode byte // as sent
	op     byte // its loud form
	quiet  bool
	nkey   int
	nextra int
	nbody  int64
	opaque uint32
	cas    uint64
}

// nvalue is the length of the value: what the body has behind extras and key.
func (h *binaryHeader) nvalue() int64 { return h.nbody - int64(h.nextra+h.nkey) }

// need waits until n bytes of input are there. Replies are written before it waits.
func (c *conn) need(n int) bool {
	for c.wpos-c.rpos < n {
		if !c.flush() || !c.fill() {
			return false
		}
	}
	return true
}

// binaryCommand reads one packet and answers it. It reports false when the
// connection is over.
func (c *conn) binaryCommand() bool {
	if !c.need(binaryHead) {
		return false
	}
	b := c.in[c.rpos:]
	if b[0] != magicRequest {
		c.abort()
		return false
	}
	h := binaryHeader{
		opcode: b[1], op: b[1],
		nkey:   int(binary.BigEndian.Uint16(b[2:])),
		nextra: int(b[4]),
		nbody:  int64(binary.BigEndian.Uint32(b[8:])),
		opaque: binary.BigEndian.Uint32(b[12:]),
		cas:    binary.BigEndian.Uint64(b[16:]),
	}
	if loud, ok := quietForm[h.opcode]; ok {
		h.op, h.quiet = loud, true
	}
	front := h.nextra + h.nkey
	if !c.need(binaryHead + front) {
		return false
	}
	c.line = append(c.line[:0], c.in[c.rpos+binaryHead:c.rpos+binaryHead+front]...)
	c.rpos += binaryHead + front
	extras, key := c.line[:h.nextra], c.line[h.nextra:]

	name := h.name()
	if !c.begin(name, append(append(append(c.log[:0], name...), ' '), key...)) {
		return false
	}
	if known, reaction := c.srv.knows(name); !known {
		return c.refusePersonality(&h, reaction)
	}
	switch {
	case int64(front) > h.nbody:
		c.refuseBinary(&h, statusUnknown)
	case c.srv.cfg.SASLUsers != nil && !c.trusted && !allowedBeforeSASL(h.op):
		c.refuseBinary(&h, statusAuth)
	case !h.wellFormed(), h.nkey > maxKey, !c.old && h.nbody > maxBody:
		c.refuseBinary(&h, statusInvalid)
	case c.noMemory && !storesBinary(h.op):
		c.dropBinary(&h, statusNoMemory, h.nvalue())
	default:
		c.dispatchBinary(&h, extras, key)
	}
	return true
}

// refusePersonality reacts to a command that the server's personality does not know.
func (c *conn) refusePersonality(h *binaryHeader, reaction Reaction) bool {
	if reaction == ReactClose || h.nvalue() < 0 || !c.swallow(h.nvalue()) {
		return false
	}
	if reaction == ReactError {
		c.binaryError(h, statusUnknown)
	}
	return true
}

func storesBinary(op byte) bool {
	_, ok := binaryModes[op]
	return ok
}

// binaryNames are the names of the loud opcodes.
var binaryNames = map[byte]string{
	opGet: "get", opSet: "set", opAdd: "add", opReplace: "replace", opDelete: "delete",
	opIncr: "incr", opDecr: "decr", opQuit: "quit", opFlush: "flush", opNoop: "noop",
	opVersion: "version", opGetK: "getk", opAppend: "append", opPrepend: "prepend",
	opStat: "stat", opTouch: "touch", opGAT: "gat", opGATK: "gatk",
	opSASLList: "sasl_list", opSASLAuth: "sasl_auth", opSASLStep: "sasl_step",
}

// name is the name of the opcode, with a q behind it if quiet.
func (h *binaryHeader) name() string {
	name, ok := binaryNames[h.op]
	switch {
	case !ok:
		return fmt.Sprintf("%#02x", h.opcode)
	case h.quiet:
		return name + "q"
	}
	return name
}

func allowedBeforeSASL(op byte) bool {
	return op == opSASLList || op == opSASLAuth || op == opSASLStep || op == opVersion
}

// refuseBinary answers with an error and closes.
func (c *conn) refuseBinary(h *binaryHeader, status binaryStatus) {
	c.binaryError(h, status)
	c.closing = true
}

// wellFormed tells whether the parts of the packet are those of its opcode.
func (h *binaryHeader) wellFormed() bool {
	switch h.op {
	case opVersion, opNoop, opQuit, opSASLList:
		return h.nbody == 0
	case opFlush:
		return h.nkey == 0 && h.nbody == int64(h.nextra) && (h.nextra == 0 || h.nextra == 4)
	case opSet, opAdd, opReplace:
		return h.nextra == 8 && h.nkey > 0
	case opGet, opGetK, opDelete:
		return h.nextra == 0 && h.nkey > 0 && h.nvalue() == 0
	case opIncr, opDecr:
		return h.nextra == 20 && h.nkey > 0 && h.nvalue() == 0
	case opAppend, opPrepend, opSASLAuth, opSASLStep:
		return h.nextra == 0 && h.nkey > 0
	case opStat:
		return h.nextra == 0
	case opTouch, opGAT, opGATK:
		return h.nextra == 4 && h.nkey > 0
	}
	return true
}

func (c *conn) dispatchBinary(h *binaryHeader, extras, key []byte) {
	switch h.op {
	case opGet, opGetK, opTouch, opGAT, opGATK:
		c.binaryGet(h, extras, key)
	case opSet, opAdd, opReplace, opAppend, opPrepend:
		c.binarySet(h, extras, key)
	case opDelete:
		c.binaryDelete(h, key)
	case opIncr, opDecr:
		c.binaryDelta(h, extras, key)
	case opFlush:
		c.binaryFlush(h, extras)
	case opQuit:
		c.closing = true
		c.binaryDone(h, 0)
	case opNoop:
		c.binaryDone(h, 0)
		c.urgent = true
	case opVersion:
		_, version := c.srv.versionReply()
		c.binaryReply(h, statusOK, 0, nil, nil, []byte(version))
	case opStat:
		c.binaryStat(h, string(key))
	case opSASLList, opSASLAuth, opSASLStep:
		c.binarySASL(h, string(key))
	default:
		// memcached drops a whole body here although it has taken the key and the
		// extras already, and so eats into the next packet.
		c.unknownBinary(h, h.nbody)
	}
}

func (c *conn) unknownBinary(h *binaryHeader, drop int64) {
	if c.old {
		drop = max(int64(int32(drop)), 0) // 1.6.18 takes it for negative above 2 GiB
	}
	c.dropBinary(h, statusUnknown, drop)
}

// dropBinary answers with an error, and drops so much of the input first. Only an
// error with nothing to drop is sent at once.
func (c *conn) dropBinary(h *binaryHeader, status binaryStatus, drop int64) {
	if !c.swallow(drop) {
		c.abort()
		return
	}
	c.binaryError(h, status)
	c.urgent = drop == 0
}

// binaryReply adds a packet to the output.
func (c *conn) binaryReply(h *binaryHeader, status binaryStatus, cas uint64, extras, key, value []byte) {
	c.out = append(c.out, magicReply, h.opcode)
	c.out = binary.BigEndian.AppendUint16(c.out, uint16(len(key)))
	c.out = append(c.out, byte(len(extras)), 0)
	c.out = binary.BigEndian.AppendUint16(c.out, uint16(status))
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(len(extras)+len(key)+len(value)))
	c.out = binary.BigEndian.AppendUint32(c.out, h.opaque)
	c.out = binary.BigEndian.AppendUint64(c.out, cas)
	c.out = append(append(append(c.out, extras...), key...), value...)
}

// binaryError adds an error, which is sent at once.
func (c *conn) binaryError(h *binaryHeader, status binaryStatus) {
	c.binaryReply(h, status, 0, nil, nil, []byte(statusText[status]))
	c.urgent = true
}

// binaryDone answers success without a body, which a quiet opcode hides.
func (c *conn) binaryDone(h *binaryHeader, cas uint64) {
	if !h.quiet {
		c.binaryReply(h, statusOK, cas, nil, nil, nil)
	}
}
