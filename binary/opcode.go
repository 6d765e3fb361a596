// Opcodes: the commands by number.

package binary

// Opcode is a command. A reply has the opcode of its request.
type Opcode uint8

// The opcodes of memcached. A Q at the end means quiet: get, getk, gat and
// gatk leave out the reply on a miss, all others on success.
const (
	OpGet          Opcode = 0x00
	OpSet          Opcode = 0x01
	OpAdd          Opcode = 0x02
	OpReplace      Opcode = 0x03
	OpDelete       Opcode = 0x04
	OpIncrement    Opcode = 0x05
	OpDecrement    Opcode = 0x06
	OpQuit         Opcode = 0x07
	OpFlush        Opcode = 0x08
	OpGetQ         Opcode = 0x09
	OpNoop         Opcode = 0x0a
	OpVersion      Opcode = 0x0b
	OpGetK         Opcode = 0x0c
	OpGetKQ        Opcode = 0x0d
	OpAppend       Opcode = 0x0e
	OpPrepend      Opcode = 0x0f
	OpStat         Opcode = 0x10
	OpSetQ         Opcode = 0x11
	OpAddQ         Opcode = 0x12
	OpReplaceQ     Opcode = 0x13
	OpDeleteQ      Opcode = 0x14
	OpIncrementQ   Opcode = 0x15
	OpDecrementQ   Opcode = 0x16
	OpQuitQ        Opcode = 0x17
	OpFlushQ       Opcode = 0x18
	OpAppendQ      Opcode = 0x19
	OpPrependQ     Opcode = 0x1a
	OpTouch        Opcode = 0x1c
	OpGetAndTouch  Opcode = 0x1d // gat
	OpGetAndTouchQ Opcode = 0x1e
	OpAuthList     Opcode = 0x20 // the SASL mechanisms
	OpAuthStart    Opcode = 0x21
	OpAuthStep     Opcode = 0x22

	OpGetAndTouchK  Opcode = 0x23
	OpGetAndTouchKQ Opcode = 0x24
)

// retrieval tells whether a success carries client flags and a value.
func (o Opcode) retrieval() bool {
	switch o {
	case OpGet, OpGetQ, OpGetK, OpGetKQ, OpGetAndTouch, OpGetAndTouchQ, OpGetAndTouchK, OpGetAndTouchKQ:
		return true
	}
	return false
}

// arithmetic tells whether a success carries a number.
func (o Opcode) arithmetic() bool {
	switch o {
	case OpIncrement, OpIncrementQ, OpDecrement, OpDecrementQ:
		return true
	}
	return false
}
