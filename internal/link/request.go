package link

import "errors"

// This file holds the neutral form of an operation: what a codec turns into
// bytes, and what it makes of the bytes that come back.

// Op is an operation on one key, or on a server as a whole.
type Op uint8

const (
	Get Op = iota + 1
	GetAndTouch
	Touch
	Set
	Add
	Replace
	Append
	Prepend
	CompareAndSwap
	Delete
	Increment
	Decrement
	FlushAll
	Version
	Inspect // a get without the value, that leaves the item as it is
	Stats

	OpEnd // behind the last one
)

// stores reports whether a request of op carries a value.
func (op Op) stores() bool { return op >= Set && op <= CompareAndSwap }

// reads reports whether op is answered by the value of an item.
func (op Op) reads() bool { return op == Get || op == GetAndTouch }

// Request is one operation. The connection copies what it needs: nothing in it
// is kept or read after Do has returned, but the key of a change without a reply.
type Request struct {
	Op         Op
	Key        string // of Stats the argument, which may be empty
	Value      []byte // of the storing operations
	Flags      uint32 // client flags, of the storing operations
	Expiration int32  // the wire number: seconds, 0 = never, above 30 days = Unix time, negative = at once
	CAS        uint64 // of CompareAndSwap
	Delta      uint64 // of Increment and Decrement

	// Create makes an item that is missing: Append and Prepend as Set would,
	// Increment and Decrement with the number Initial and Expiration.
	Create  bool
	Initial uint64

	Detail bool // of Get: the reply shall have a Detail
}

// unsigned says "at once" without a negative number, which the binary protocol
// does not have and twemproxy hangs up on: as a Unix time of long ago.
func unsigned(expiration int32) int32 {
	if expiration < 0 {
		return longPast
	}
	return expiration
}

// longPast is an expiration in 1970.
const longPast = 30*24*60*60 + 1

// ErrUnsupported refuses what the protocol of the connection cannot say. Nothing
// was sent.
var ErrUnsupported = errors.New("not supported by this protocol")

// Status is how an operation ended on the server.
type Status uint8

const (
	None      Status = iota // no reply yet
	OK                      // hit, stored, deleted, touched, counted, flushed
	Miss                    // no such item
	NotStored               // the condition of the operation did not hold
	Exists                  // the item has another version than Request.CAS
	Refused                 // by an error line of the server, or in a batch by the protocol: Reply.Err
)

// Reply is the server's answer to one operation.
type Reply struct {
	Status Status
	Flags  uint32 // client flags of a hit
	CAS    uint64 // version of a hit
	Number uint64 // of Increment and Decrement
	Value  []byte // of a hit: memory of its own, never shared; non-nil also when empty
	Err    error  // of Refused: a *ServerError, or why it was not asked in a batch
	Detail *Detail
}

// Detail is what few replies carry: a Get with Request.Detail, Inspect, Stats.
type Detail struct {
	Size       int   // bytes of the value
	TTL        int64 // seconds left to live, -1 = no end
	LastAccess int64 // seconds since the item was last fetched
	Fetched    bool  // since it was stored
	Stale      bool  // marked as stale
	Won        bool  // this caller is the one to recompute it
	Lost       bool  // another caller is

	Stats map[string]string
}

var opNames = [OpEnd]string{
	Get: "get", GetAndTouch: "gat", Touch: "touch", Set: "set", Add: "add", Replace: "replace",
	Append: "append", Prepend: "prepend", CompareAndSwap: "cas", Delete: "delete",
	Increment: "incr", Decrement: "decr", FlushAll: "flush_all", Version: "version",
	Inspect: "metadata", Stats: "stats",
}

// String returns the operation's name in the classic protocol, by which users
// know it.
func (op Op) String() string { return opNames[op] }
