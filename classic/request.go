// Requests that look at items or change them: an append-style builder for each
// command.

package classic

import "strconv"

const (
	// MaxKey is the largest number of bytes in a key.
	MaxKey = 250

	// MaxValue is the largest value in bytes that any memcached can be told to
	// store (its option -I ends at 1 GiB), in requests and in replies.
	MaxValue = 1 << 30

	// MaxLine is the longest reply line accepted, and the longest request line
	// that a server takes for certain, line end included. get and gets lines
	// alone may be longer.
	MaxLine = 2048
)

// AppendGet appends a get request for the keys, in their order, to dst and
// returns the longer slice. A key given twice is answered twice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
//
// A value that comes back with size 0 and flags 0 may be no value: an item
// that a meta client made to announce that it is computing one looks the same.
//
// memcached as a proxy (1.6.45) takes the key "noreply" for an option: it leaves
// it out, and does not reply at all if it is the only key.
func AppendGet(dst []byte, keys ...string) ([]byte, error) {
	return appendKeys(dst, append(dst, "get"...), keys)
}

// AppendGets is [AppendGet] for gets: the replies tell the CAS too.
func AppendGets(dst []byte, keys ...string) ([]byte, error) {
	return appendKeys(dst, append(dst, "gets"...), keys)
}

// AppendGetAndTouch appends a gat request, which also gives each item found
// the expiration. The rest is as for [AppendGet], but a line longer than
// MaxLine is refused with ErrLineTooLong.
func AppendGetAndTouch(dst []byte, expiration int32, keys ...string) ([]byte, error) {
	return appendTouchKeys(dst, "gat ", expiration, keys)
}

// AppendGetsAndTouch is [AppendGetAndTouch] for gats: the replies tell the CAS
// too.
func AppendGetsAndTouch(dst []byte, expiration int32, keys ...string) ([]byte, error) {
	return appendTouchKeys(dst, "gats ", expiration, keys)
}

// StoreMode says which command stores and when it does. The zero value is set.
type StoreMode uint8

const (
	Set            StoreMode = iota // store always
	Add                             // only if the item does not exist, else NOT_STORED
	Replace                         // only if the item exists, else NOT_STORED
	Append                          // put the value behind the stored one; NOT_STORED if there is none
	Prepend                         // put the value before the stored one; NOT_STORED if there is none
	CompareAndSwap                  // only over version CAS, else EXISTS; NOT_FOUND if there is none
)

var storeCommands = [...]string{
	Set: "set ", Add: "add ", Replace: "replace ", Append: "append ", Prepend: "prepend ", CompareAndSwap: "cas ",
}

// StoreRequest is set, add, replace, append, prepend or cas. The reply is
// STORED or what the mode says.
//
// When the server refuses a value as too large it deletes the item that was
// there if the command was set.
type StoreRequest struct {
	Key string // 1 to MaxKey bytes, no spaces, control bytes or DEL

	// Value is sent as it is, at most MaxValue bytes. The server's own limit is
	// usually 1 MiB. No builder modifies or keeps it.
	Value []byte

	Mode        StoreMode
	ClientFlags uint32 // stored with the item; append and prepend keep the old ones
	Expiration  int32  // seconds, 0 = never ends, above 30 days = Unix time, negative = now (twemproxy hangs up then); append and prepend keep the old one
	CAS         uint64 // used by CompareAndSwap alone

	// NoReply asks for no reply, be it an error: the client never learns
	// whether the value was stored. memcached as a proxy (1.6.45) tells all the
	// same that a value is too large.
	NoReply bool
}

// AppendStore appends the request with its value to dst and returns the longer
// slice. On a [RequestError] it returns dst as it was. It allocates only to
// grow dst.
func AppendStore(dst []byte, r *StoreRequest) ([]byte, error) {
	d, err := AppendStoreHeader(dst, r)
	if err != nil {
		return dst, err
	}
	d = append(d, r.Value...)
	return append(d, '\r', '\n'), nil
}

// AppendStoreHeader appends the line of the request alone. The caller sends
// r.Value and CRLF behind it, both of them and nothing else. It is AppendStore
// for values that are better not copied.
func AppendStoreHeader(dst []byte, r *StoreRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	if int(r.Mode) >= len(storeCommands) {
		return dst, ErrMode
	}
	if len(r.Value) > MaxValue {
		return dst, ErrValueTooLong
	}
	d := append(append(dst, storeCommands[r.Mode]...), r.Key...)
	d = strconv.AppendUint(append(d, ' '), uint64(r.ClientFlags), 10)
	d = strconv.AppendInt(append(d, ' '), int64(r.Expiration), 10)
	d = strconv.AppendUint(append(d, ' '), uint64(len(r.Value)), 10)
	if r.Mode == CompareAndSwap {
		d = strconv.AppendUint(append(d, ' '), r.CAS, 10)
	}
	return appendEnd(d, r.NoReply), nil
}

// DeleteRequest is delete. The reply is DELETED or NOT_FOUND. Behind the key
// "noreply" the line says 0, the only time that was ever legal: 1.6.45 takes a
// last token noreply for the option, the key too, and would not reply. twemproxy
// hangs up on the 0: through it, touch is the way to be rid of such an item.
type DeleteRequest struct {
	Key     string // as StoreRequest.Key
	NoReply bool   // as StoreRequest.NoReply
}

// AppendDelete appends the request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendDelete(dst []byte, r *DeleteRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	d := append(append(dst, "delete "...), r.Key...)
	if r.Key == "noreply" && !r.NoReply {
		d = append(d, " 0"...)
	}
	return appendEnd(d, r.NoReply), nil
}

// ArithmeticRequest is incr or decr. The reply is the new number or NOT_FOUND,
// and an error line if what is stored is no number.
//
// Numbers are unsigned 64 bit: additions wrap around, subtractions stop at 0.
// A stored number that got shorter is padded with spaces at its end, which get
// shows and this reply does not.
type ArithmeticRequest struct {
	Key       string // as StoreRequest.Key
	Delta     uint64
	Decrement bool // decr instead of incr
	NoReply   bool // as StoreRequest.NoReply
}

// AppendArithmetic appends the request to dst and returns the longer slice. On
// a [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendArithmetic(dst []byte, r *ArithmeticRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	command := "incr "
	if r.Decrement {
		command = "decr "
	}
	d := append(append(dst, command...), r.Key...)
	d = strconv.AppendUint(append(d, ' '), r.Delta, 10)
	return appendEnd(d, r.NoReply), nil
}

// TouchRequest is touch. The reply is TOUCHED or NOT_FOUND.
type TouchRequest struct {
	Key        string // as StoreRequest.Key
	Expiration int32  // as StoreRequest.Expiration
	NoReply    bool   // as StoreRequest.NoReply
}

// AppendTouch appends the request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendTouch(dst []byte, r *TouchRequest) ([]byte, error) {
	if err := checkKey(r.Key); err != nil {
		return dst, err
	}
	d := append(append(dst, "touch "...), r.Key...)
	d = strconv.AppendInt(append(d, ' '), int64(r.Expiration), 10)
	return appendEnd(d, r.NoReply), nil
}
