// What the builders share: the header and the checks.

package binary

import "encoding/binary"

// HeaderLen is the length of the header of every request and reply.
//
//	 0  magic: 0x80 request, 0x81 reply
//	 1  opcode
//	 2  length of the key              2 bytes, big endian as all that follow
//	 4  length of the extras           1 byte
//	 5  data type                      1 byte
//	 6  vbucket (request), status      2 bytes
//	 8  length of the body             4 bytes: extras, key and value, in this order
//	12  opaque                         4 bytes
//	16  CAS                            8 bytes
const HeaderLen = 24

const (
	magicRequest = 0x80
	magicReply   = 0x81
)

func appendHeader(dst []byte, op Opcode, key, extras, value int, opaque uint32, cas uint64) []byte {
	dst = append(dst, magicRequest, byte(op), byte(key>>8), byte(key), byte(extras), 0, 0, 0)
	dst = append32(dst, uint32(extras+key+value))
	dst = append32(dst, opaque)
	return append64(dst, cas)
}

func append32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
func append64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

func appendTouch(dst []byte, op Opcode, key string, expiration int32, opaque uint32) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return dst, err
	}
	if expiration < 0 {
		return dst, ErrExpiration
	}
	dst = appendHeader(dst, op, len(key), 4, 0, opaque, 0)
	dst = append32(dst, uint32(expiration))
	return append(dst, key...), nil
}

// retrievalOp picks from ops: plain, quiet, with key, with key and quiet.
func retrievalOp(withKey, quiet bool, ops [4]Opcode) Opcode {
	if withKey {
		return ops[2+quietIndex(quiet)]
	}
	return ops[quietIndex(quiet)]
}

func quietIndex(quiet bool) int {
	if quiet {
		return 1
	}
	return 0
}

func checkKey(key string) error {
	if len(key) > MaxKey {
		return ErrKeyTooLong
	}
	if len(key) == 0 {
		return ErrKeyEmpty
	}
	return nil
}
