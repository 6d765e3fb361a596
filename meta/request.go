// Requests: one struct and one append-style builder for each command.

package meta

import "strconv"

const (
	// MaxKey is the largest number of key bytes on the wire. A key sent as
	// base64 may therefore have at most 186 bytes of its own.
	MaxKey = 250

	// MaxOpaque is the largest number of bytes in an opaque.
	MaxOpaque = 31

	// MaxValue is the largest value in bytes that any memcached can be told to
	// store (its option -I ends at 1 GiB), in requests and in replies.
	MaxValue = 1 << 30

	// maxTokens is how many tokens 1.6.18 takes in a line, command and key
	// among them; newer servers take one more. Only a request that uses nearly
	// everything, and proxy tags too, can have more.
	maxTokens = 19
)

// Common is what every command with a key may say. The zero value of all but
// Key leaves the flag out.
//
// No builder modifies or keeps what it points to.
type Common struct {
	// Key is the key's own bytes, 1 to MaxKey of them. Sent as text it may
	// hold anything but spaces, control bytes and DEL.
	Key string

	// Base64 sends the key as base64 (b), for keys of any bytes, at most 186.
	//
	// Do not have mg return such a key (FieldKey), nor ask me for it, unless its
	// bytes could be sent as text: an item that append, prepend, ma, N or x has
	// made anew, and one that was stored in another protocol, no longer knows that
	// its key was base64, and every server writes the key's own bytes into the
	// line, line ends too. Use Opaque to tell replies apart.
	Base64 bool

	// Quiet suppresses the reply that the command nearly always has (q): EN of
	// mg, HD of ms, md and ma. All others are sent, NF of md and ma among
	// them, and by 1.6.18 and 1.6.38 also the HD of an ma that creates the item.
	// End a run of quiet requests with AppendNoop.
	Quiet bool

	// Opaque is a tag of at most MaxOpaque bytes that the reply repeats (O);
	// nil leaves it out, an empty slice sends an empty tag. It may not hold
	// spaces, control bytes or DEL. Error lines do not repeat it.
	Opaque []byte

	// ProxyP and ProxyL are tags for a proxy on the way (P and L), which
	// memcached itself ignores. At most MaxOpaque bytes, under the rule for
	// Opaque; empty leaves them out.
	ProxyP, ProxyL string
}

// GetRequest is mg. The reply is VA (with FieldValue) or HD on a hit and EN on
// a miss.
//
// An item made by Vivify and not yet stored is a hit with an empty value for
// everybody: only W or Z in the reply tell it from a stored empty value.
type GetRequest struct {
	Common
	Want Fields // any field that is not for replies only

	// Args may hold ArgTTL, ArgVivify, ArgRecache, ArgCAS and ArgNewCAS.
	Args Args

	TTL     int32  // on a hit; seconds, 0 = never ends, above 30 days = Unix time, negative = now
	Vivify  int32  // as TTL, of the empty item that a miss creates. The reply is then VA or HD with W
	Recache int32  // seconds: with less time left than this the first client gets W. Compared before TTL acts
	CAS     uint64 // leave out the value (HD) when the item has this version. Since 1.6.40, ignored before
	NewCAS  uint64 // version of the item that Vivify creates. Since 1.6.27, an error before

	// TTLLast makes FieldTTL report the time to live after TTL and Vivify have
	// acted. Without it the reply tells what was before: -1 for a vivified item.
	TTLLast bool

	NoBump bool // leave the item's place in the LRU, its hit mark and access time alone (u)
}

// SetMode says when ms stores. The zero value always does.
type SetMode uint8

const (
	Set     SetMode = iota // store always
	Add                    // only if the item does not exist, else NS
	Replace                // only if the item exists, else NS
	Append                 // put the value behind the stored one; NS if there is none
	Prepend                // put the value before the stored one; NS if there is none
)

const setModes = "SERAP"

// SetRequest is ms. The reply is HD when stored, else NS (by mode), EX
// (another version than CAS) or NF (CAS given and no item).
//
// When the server refuses a value as too large it deletes the item that was
// there, in every mode.
type SetRequest struct {
	Common

	// Value is sent as it is, at most MaxValue bytes. The server's own limit is
	// usually 1 MiB.
	Value []byte

	Mode SetMode
	Want Fields // FieldKey, FieldCAS and FieldSize (the latter ignored before 1.6.20)

	// Args may hold ArgVivify, ArgCAS and ArgNewCAS.
	Args Args

	ClientFlags uint32 // stored with the item; Append and Prepend keep the old ones
	TTL         int32  // as GetRequest.TTL; Append and Prepend keep the old one
	Vivify      int32  // Append and Prepend: create a missing item with this TTL. Ignored before 1.6.20
	CAS         uint64 // store only over this version; 0 is compared like any other
	NewCAS      uint64 // version of the new item, 0 = the server makes one. Since 1.6.27, an error before

	// Invalidate changes what CAS does: a version older than the item's stores
	// all the same, marked stale. Newer versions are still EX.
	Invalidate bool
}

// DeleteRequest is md. The reply is HD when deleted or marked, NF on a miss,
// EX on another version than CAS.
type DeleteRequest struct {
	Common
	Want Fields // FieldKey

	// Args may hold ArgTTL (only with Invalidate), ArgCAS and ArgNewCAS.
	Args Args

	TTL    int32  // of the item marked stale; as GetRequest.TTL
	CAS    uint64 // act only on this version
	NewCAS uint64 // version of the item that is kept. Since 1.6.27, an error before

	Invalidate bool // mark the item stale and give it a new version instead of deleting it (I)
	DropValue  bool // keep the item, but without value and client flags (x). Since 1.6.27, an error before
}

// ArithmeticRequest is ma. The reply is VA (with FieldValue: the new number)
// or HD, NF on a miss, NS if another client created the item in between, EX on
// another version than CAS.
//
// Numbers are unsigned 64 bit: additions wrap around, subtractions stop at 0.
// A stored number that got shorter is padded with spaces at its end, which mg
// shows and ma does not.
type ArithmeticRequest struct {
	Common
	Want Fields // FieldValue, FieldTTL, FieldCAS and FieldKey

	// Args may hold ArgTTL, ArgVivify, ArgCAS, ArgNewCAS, ArgDelta and
	// ArgInitial.
	Args Args

	Decrement bool   // subtract (MD) instead of adding
	Delta     uint64 // 1 when not given
	Initial   uint64 // value of an item created by Vivify, Delta not applied; 0 when not given
	TTL       int32  // as GetRequest.TTL
	Vivify    int32  // create a missing item with this TTL
	CAS       uint64 // act only on this version; 0 does not compare
	NewCAS    uint64 // version of the changed item. Since 1.6.27, an error before

	TTLLast bool // as GetRequest.TTLLast
}

// DebugRequest is me. The reply is ME or EN.
type DebugRequest struct {
	Key    string // as Common.Key
	Base64 bool   // as Common.Base64
}

// AppendGet appends an mg request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendGet(dst []byte, r *GetRequest) ([]byte, error) {
	if err := r.check(r.Want, getFields, r.Args, getArgs); err != nil {
		return dst, err
	}
	// The server acts on t, T, N and R from left to right, and R must see the
	// time to live that was there before T.
	d := r.appendStart(dst, "mg ")
	d = appendFields(d, r.Want&^FieldTTL)
	if r.Want&FieldTTL != 0 && !r.TTLLast {
		d = append(d, " t"...)
	}
	d = r.appendTags(d)
	if r.NoBump {
		d = append(d, " u"...)
	}
	if r.Args != 0 {
		d = appendInt(d, r.Args&ArgRecache, " R", r.Recache)
		d = appendInt(d, r.Args&ArgVivify, " N", r.Vivify)
		d = appendInt(d, r.Args&ArgTTL, " T", r.TTL)
		d = appendUint(d, r.Args&ArgCAS, " C", r.CAS)
		d = appendUint(d, r.Args&ArgNewCAS, " E", r.NewCAS)
	}
	if r.Want&FieldTTL != 0 && r.TTLLast {
		d = append(d, " t"...)
	}
	return r.end(dst, d)
}

// AppendSet appends an ms request with its value to dst and returns the longer
// slice. On a [RequestError] it returns dst as it was. It allocates only to
// grow dst.
func AppendSet(dst []byte, r *SetRequest) ([]byte, error) {
	d, err := AppendSetHeader(dst, r)
	if err != nil {
		return dst, err
	}
	d = append(d, r.Value...)
	return append(d, '\r', '\n'), nil
}

// AppendSetHeader appends the line of an ms request alone. The caller sends
// r.Value and CRLF behind it, both of them and nothing else. It is AppendSet
// for values that are better not copied.
func AppendSetHeader(dst []byte, r *SetRequest) ([]byte, error) {
	if err := r.check(r.Want, setFields, r.Args, setArgs); err != nil {
		return dst, err
	}
	if int(r.Mode) >= len(setModes) {
		return dst, ErrMode
	}
	if len(r.Value) > MaxValue {
		return dst, ErrValueTooLong
	}
	d := r.appendStartSize(dst, "ms ", len(r.Value))
	d = appendFields(d, r.Want)
	d = r.appendTags(d)
	if r.ClientFlags != 0 {
		d = strconv.AppendUint(append(d, " F"...), uint64(r.ClientFlags), 10)
	}
	if r.TTL != 0 {
		d = strconv.AppendInt(append(d, " T"...), int64(r.TTL), 10)
	}
	if r.Mode != Set {
		d = append(d, ' ', 'M', setModes[r.Mode])
	}
	if r.Args != 0 {
		d = appendInt(d, r.Args&ArgVivify, " N", r.Vivify)
		d = appendUint(d, r.Args&ArgCAS, " C", r.CAS)
		d = appendUint(d, r.Args&ArgNewCAS, " E", r.NewCAS)
	}
	if r.Invalidate {
		d = append(d, " I"...)
	}
	return r.end(dst, d)
}

// AppendDelete appends an md request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendDelete(dst []byte, r *DeleteRequest) ([]byte, error) {
	if err := r.check(r.Want, deleteFields, r.Args, deleteArgs); err != nil {
		return dst, err
	}
	if r.Args&ArgTTL != 0 && !r.Invalidate {
		return dst, ErrArgument // the server would drop T and delete
	}
	d := r.appendStart(dst, "md ")
	d = appendFields(d, r.Want)
	d = r.appendTags(d)
	if r.Args != 0 {
		d = appendUint(d, r.Args&ArgCAS, " C", r.CAS)
		d = appendUint(d, r.Args&ArgNewCAS, " E", r.NewCAS)
	}
	if r.Invalidate {
		d = append(d, " I"...)
		d = appendInt(d, r.Args&ArgTTL, " T", r.TTL)
	}
	if r.DropValue {
		d = append(d, " x"...)
	}
	return r.end(dst, d)
}

// AppendArithmetic appends an ma request to dst and returns the longer slice.
// On a [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendArithmetic(dst []byte, r *ArithmeticRequest) ([]byte, error) {
	if err := r.check(r.Want, mathFields, r.Args, mathArgs); err != nil {
		return dst, err
	}
	if r.Args&(ArgInitial|ArgVivify) == ArgInitial {
		return dst, ErrArgument // the server would drop J and answer NF
	}
	if r.Quiet && r.Want&FieldValue != 0 {
		return dst, ErrQuietValue
	}
	d := r.appendStart(dst, "ma ")
	d = appendFields(d, r.Want&^FieldTTL)
	if r.Want&FieldTTL != 0 && !r.TTLLast {
		d = append(d, " t"...)
	}
	d = r.appendTags(d)
	if r.Decrement {
		d = append(d, " MD"...)
	}
	if r.Args != 0 {
		d = appendUint(d, r.Args&ArgDelta, " D", r.Delta)
		d = appendUint(d, r.Args&ArgInitial, " J", r.Initial)
		d = appendInt(d, r.Args&ArgVivify, " N", r.Vivify)
		d = appendInt(d, r.Args&ArgTTL, " T", r.TTL)
		d = appendUint(d, r.Args&ArgCAS, " C", r.CAS)
		d = appendUint(d, r.Args&ArgNewCAS, " E", r.NewCAS)
	}
	if r.Want&FieldTTL != 0 && r.TTLLast {
		d = append(d, " t"...)
	}
	return r.end(dst, d)
}

// AppendDebug appends an me request to dst and returns the longer slice. On a
// [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendDebug(dst []byte, r *DebugRequest) ([]byte, error) {
	if err := checkKey(r.Key, r.Base64); err != nil {
		return dst, err
	}
	d := append(dst, "me "...)
	if !r.Base64 {
		d = append(d, r.Key...)
	} else {
		// 1.6.45 misses every base64 key unless another token follows b; no
		// server looks at what that token is.
		d = appendBase64(d, r.Key)
		d = append(d, " b v"...)
	}
	return append(d, '\r', '\n'), nil
}

// AppendNoop appends an mn request to dst and returns the longer slice. Its
// reply MN comes after those of all earlier requests, so it ends a run of
// quiet ones. It allocates only to grow dst.
func AppendNoop(dst []byte) []byte { return append(dst, "mn\r\n"...) }
