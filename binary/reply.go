// Replies: the header, read in place, and the body behind it.

package binary

import "encoding/binary"

// Header is the header of a reply. The zero value is ready for [ParseHeader],
// which sets every field, so one Header can serve a whole connection.
type Header struct {
	Opcode    Opcode
	ExtrasLen uint8
	DataType  uint8 // 0 from memcached
	KeyLen    uint16
	Status    Status
	BodyLen   uint32 // extras, key and value together
	Opaque    uint32 // of the request
	CAS       uint64 // version of the item; 0 where there is none
}

// ParseHeader reads the reply header at the start of b into h and returns how
// many bytes it is long: HeaderLen. It keeps no state and allocates nothing.
//
// n is 0 and err nil when b holds only the first part of a header: call again
// with more bytes behind the same ones. How the bytes came in pieces never
// changes the answer. h means nothing then, nor beside an error.
//
// The error is a [ProtocolError], and the connection must be closed: b is no
// reply, its lengths contradict each other, or its value is larger than
// MaxValue. A caller who wants less compares h.ValueLen before it reserves
// memory. [ParseBody] takes it from there.
func ParseHeader(b []byte, h *Header) (n int, err error) {
	if len(b) > 0 && b[0] != magicReply {
		return 0, ErrBadMagic
	}
	if len(b) < HeaderLen {
		return 0, nil
	}
	h.Opcode = Opcode(b[1])
	h.KeyLen = binary.BigEndian.Uint16(b[2:])
	h.ExtrasLen = b[4]
	h.DataType = b[5]
	h.Status = Status(binary.BigEndian.Uint16(b[6:]))
	h.BodyLen = binary.BigEndian.Uint32(b[8:])
	h.Opaque = binary.BigEndian.Uint32(b[12:])
	h.CAS = binary.BigEndian.Uint64(b[16:])
	prefix := uint32(h.ExtrasLen) + uint32(h.KeyLen)
	if h.BodyLen-prefix > MaxValue { // a body shorter than prefix wraps around
		return 0, h.lengthError(prefix)
	}
	return HeaderLen, nil
}

func (h *Header) lengthError(prefix uint32) error {
	if h.BodyLen < prefix {
		return ErrBadLengths
	}
	return ErrBodyTooLarge
}

// ValueLen returns how many bytes of the body are value.
func (h *Header) ValueLen() int { return int(h.BodyLen) - int(h.ExtrasLen) - int(h.KeyLen) }

// EndOfStats tells whether the reply is the last one to a stat request.
func (h *Header) EndOfStats() bool {
	return h.Opcode == OpStat && h.KeyLen == 0 && h.BodyLen == 0
}

// InStep tells whether the next bytes behind this reply are the reply to the
// next request for certain. keyed says whether the request had extras or a
// key: a server that does not know an opcode skips the wrong number of bytes
// behind those.
//
// When it is false the connection must be closed. After StatusInvalid, and
// after StatusAuthFailure to anything but authentication, the server closes it
// itself.
func (h *Header) InStep(keyed bool) bool {
	switch h.Status {
	case StatusInvalid:
		return false
	case StatusUnknownCommand:
		return !keyed
	case StatusAuthFailure:
		return h.Opcode == OpAuthStart || h.Opcode == OpAuthStep || h.Opcode == OpAuthList
	}
	return true
}

// Body is the body of a reply. The slices lie in the buffer that it was parsed
// from: they are valid as long as its bytes stay as they are.
type Body struct {
	Key []byte // of getk, gatk and stat, on a miss of the former two as well

	// Value is the item's value, a statistic, a version, a challenge of SASL,
	// or the server's text behind a status that is not StatusOK.
	Value []byte

	ClientFlags uint32 // get and gat: as stored; touch too, if the server tells
	Number      uint64 // incr and decr: the new number
}

// ParseBody reads the body of the reply with the header h from the start of b,
// which begins behind the header, and returns how many bytes it is long:
// h.BodyLen. It sets every field of body, keeps no state and allocates nothing.
//
// ok is false and err nil when b does not hold all of the body yet. The error
// is [ErrBadBody], after which the connection must be closed.
func ParseBody(b []byte, h *Header, body *Body) (n int, ok bool, err error) {
	if n, ok, err = ParsePrefix(b, h, body); !ok || len(b) < int(h.BodyLen) {
		return 0, false, err
	}
	body.Value = b[n:h.BodyLen:h.BodyLen]
	if h.Status == StatusOK && h.Opcode.arithmetic() {
		body.Number = binary.BigEndian.Uint64(body.Value)
	}
	return int(h.BodyLen), true, nil
}

// ParsePrefix is ParseBody for values that are better not collected in one
// buffer: it reads extras and key alone and returns how many bytes those are
// long. h.ValueLen() bytes of value follow, which the caller reads to where
// they shall be. body.Value is nil and body.Number 0.
func ParsePrefix(b []byte, h *Header, body *Body) (n int, ok bool, err error) {
	extras := int(h.ExtrasLen)
	n = extras + int(h.KeyLen)
	if h.Status == StatusOK {
		switch {
		case h.Opcode.retrieval():
			if extras != 4 {
				return 0, false, ErrBadBody
			}
		case h.Opcode.arithmetic():
			if h.ValueLen() != 8 {
				return 0, false, ErrBadBody
			}
		}
	}
	if len(b) < n {
		return 0, false, nil
	}
	*body = Body{Key: b[extras:n:n]}
	if extras == 4 {
		body.ClientFlags = binary.BigEndian.Uint32(b)
	}
	return n, true, nil
}
