// Requests that look at items or change them: one struct and one append-style
// builder for each command.

package binary

const (
	// MaxKey is the largest number of bytes in a key. They may be any bytes.
	MaxKey = 250

	// MaxValue is the largest value in bytes that any memcached can be told to
	// store (its option -I ends at 1 GiB), in requests and in replies.
	MaxValue = 1 << 30
)

// GetRequest is get, getk and their quiet forms. The body of the reply has
// client flags, the value and, if asked for, the key.
//
// An item that a meta client made to announce that it is computing a value
// looks like an empty value with flags 0.
type GetRequest struct {
	Key     string // 1 to MaxKey bytes of any kind
	Opaque  uint32 // repeated by the reply
	WithKey bool   // the reply shall carry the key, on a miss too
	Quiet   bool   // no reply on a miss
}

// AppendGet appends the request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendGet(dst []byte, r *GetRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	op := retrievalOp(r.WithKey, r.Quiet, [...]Opcode{OpGet, OpGetQ, OpGetK, OpGetKQ})
	dst = appendHeader(dst, op, len(r.Key), 0, 0, r.Opaque, 0)
	return append(dst, r.Key...), nil
}

// GetAndTouchRequest is gat, gatk and their quiet forms: a get that gives the
// item a new expiration. The reply is that of GetRequest.
type GetAndTouchRequest struct {
	Key        string // as GetRequest.Key
	Opaque     uint32 // as GetRequest.Opaque
	Expiration int32  // seconds, 0 = never ends, above 30 days = Unix time; negative is refused
	WithKey    bool   // as GetRequest.WithKey
	Quiet      bool   // as GetRequest.Quiet
}

// AppendGetAndTouch appends the request to dst and returns the longer slice.
// On a [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendGetAndTouch(dst []byte, r *GetAndTouchRequest) ([]byte, error) {
	op := retrievalOp(r.WithKey, r.Quiet, [...]Opcode{OpGetAndTouch, OpGetAndTouchQ, OpGetAndTouchK, OpGetAndTouchKQ})
	return appendTouch(dst, op, r.Key, r.Expiration, r.Opaque)
}

// TouchRequest is touch. memcached replies with the client flags.
type TouchRequest struct {
	Key        string // as GetRequest.Key
	Opaque     uint32 // as GetRequest.Opaque
	Expiration int32  // as GetAndTouchRequest.Expiration
}

// AppendTouch appends the request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendTouch(dst []byte, r *TouchRequest) ([]byte, error) {
	return appendTouch(dst, OpTouch, r.Key, r.Expiration, r.Opaque)
}

// StoreMode says which command stores and when it does. The zero value is set.
type StoreMode uint8

const (
	Set     StoreMode = iota // store always
	Add                      // only if the item does not exist, else StatusExists
	Replace                  // only if the item exists, else StatusNotFound
	Append                   // put the value behind the stored one; StatusNotStored if there is none
	Prepend                  // put the value before the stored one; StatusNotStored if there is none
)

var storeOps = [...][2]Opcode{
	Set: {OpSet, OpSetQ}, Add: {OpAdd, OpAddQ}, Replace: {OpReplace, OpReplaceQ},
	Append: {OpAppend, OpAppendQ}, Prepend: {OpPrepend, OpPrependQ},
}

// StoreRequest is set, add, replace, append, prepend and their quiet forms.
// The reply tells the new CAS.
//
// When the server refuses a value as too large it deletes the item that was
// there if the command was set.
type StoreRequest struct {
	Key string // as GetRequest.Key

	// Value is sent as it is, at most MaxValue bytes. The server's own limit is
	// usually 1 MiB. No builder modifies or keeps it.
	Value []byte

	Mode        StoreMode
	Quiet       bool   // no reply on success
	Opaque      uint32 // as GetRequest.Opaque
	ClientFlags uint32 // stored with the item; append and prepend keep the old ones
	Expiration  int32  // as GetAndTouchRequest.Expiration; append and prepend keep the old one

	// CAS stores only over that version, else StatusExists; StatusNotFound if
	// there is no item. 0 does not compare. Not for Add.
	CAS uint64
}

// AppendStore appends the request with its value to dst and returns the longer
// slice. On a [RequestError] it returns dst as it was. It allocates only to
// grow dst.
func AppendStore(dst []byte, r *StoreRequest) ([]byte, error) {
	d, err := AppendStoreHeader(dst, r)
	if err != nil {
		return dst, err
	}
	return append(d, r.Value...), nil
}

// AppendStoreHeader appends all of the request but the value. The caller sends
// r.Value behind it and nothing else. It is AppendStore for values that are
// better not copied.
func AppendStoreHeader(dst []byte, r *StoreRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	if int(r.Mode) >= len(storeOps) {
		return dst, ErrMode
	}
	if len(r.Value) > MaxValue {
		return dst, ErrValueTooLong
	}
	if r.Expiration < 0 {
		return dst, ErrExpiration
	}
	if r.Mode == Add && r.CAS != 0 {
		return dst, ErrCAS
	}
	op := storeOps[r.Mode][quietIndex(r.Quiet)]
	if r.Mode == Append || r.Mode == Prepend {
		dst = appendHeader(dst, op, len(r.Key), 0, len(r.Value), r.Opaque, r.CAS)
	} else {
		dst = appendHeader(dst, op, len(r.Key), 8, len(r.Value), r.Opaque, r.CAS)
		dst = append32(dst, r.ClientFlags)
		dst = append32(dst, uint32(r.Expiration))
	}
	return append(dst, r.Key...), nil
}

// DeleteRequest is delete and its quiet form.
type DeleteRequest struct {
	Key    string // as GetRequest.Key
	Quiet  bool   // no reply on success
	Opaque uint32 // as GetRequest.Opaque
	CAS    uint64 // delete only this version, else StatusExists. 0 does not compare
}

// AppendDelete appends the request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendDelete(dst []byte, r *DeleteRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	op := [...]Opcode{OpDelete, OpDeleteQ}[quietIndex(r.Quiet)]
	dst = appendHeader(dst, op, len(r.Key), 0, 0, r.Opaque, r.CAS)
	return append(dst, r.Key...), nil
}

// ArithmeticRequest is incr, decr and their quiet forms. The body of the reply
// has the new number.
//
// Numbers are unsigned 64 bit: additions wrap around, subtractions stop at 0.
// A stored number that got shorter is padded with spaces at its end, which get
// shows and this reply does not.
type ArithmeticRequest struct {
	Key       string // as GetRequest.Key
	Decrement bool   // decr instead of incr
	Quiet     bool   // no reply on success, so that the number stays unknown
	Opaque    uint32 // as GetRequest.Opaque
	Delta     uint64
	CAS       uint64 // change only this version, else StatusExists. 0 does not compare

	// Create makes a missing item with the value Initial, Delta not applied,
	// and with Expiration. Without it a missing item is StatusNotFound.
	Create     bool
	Initial    uint64
	Expiration int32 // as GetAndTouchRequest.Expiration
}

// noCreation is the expiration that keeps incr and decr from creating.
const noCreation = 0xffffffff

// AppendArithmetic appends the request to dst and returns the longer slice. On
// a [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendArithmetic(dst []byte, r *ArithmeticRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	if r.Expiration < 0 {
		return dst, ErrExpiration
	}
	ops := [...]Opcode{OpIncrement, OpIncrementQ}
	if r.Decrement {
		ops = [...]Opcode{OpDecrement, OpDecrementQ}
	}
	initial, expiration := uint64(0), uint32(noCreation)
	if r.Create {
		initial, expiration = r.Initial, uint32(r.Expiration)
	}
	dst = appendHeader(dst, ops[quietIndex(r.Quiet)], len(r.Key), 20, 0, r.Opaque, r.CAS)
	dst = append64(dst, r.Delta)
	dst = append64(dst, initial)
	dst = append32(dst, expiration)
	return append(dst, r.Key...), nil
}
