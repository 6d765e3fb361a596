// Reply: what one header line said.

package meta

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// Code is the first token of a reply.
type Code uint8

const (
	CodeValue     Code = iota + 1 // VA: success, a value of Reply.Size bytes and CRLF follow
	CodeDone                      // HD: success without a value
	CodeMiss                      // EN: no item (mg, me)
	CodeNotFound                  // NF: no item (ms, md, ma)
	CodeNotStored                 // NS: the mode of the request did not allow it
	CodeExists                    // EX: the item has another version
	CodeNoop                      // MN: answer to mn
	CodeDebug                     // ME: answer to me
	CodeError                     // an error line, see Reply.Class
)

var codeNames = [...]string{
	CodeValue: "VA", CodeDone: "HD", CodeMiss: "EN", CodeNotFound: "NF", CodeNotStored: "NS",
	CodeExists: "EX", CodeNoop: "MN", CodeDebug: "ME", CodeError: "error line",
}

// String returns the token on the wire.
func (c Code) String() string { return text(codeNames[:], int(c), "none") }

// Reply is one reply header. The zero value is ready for [Parse], which sets
// every field, so one Reply can serve a whole connection.
//
// Opaque, Key, Message and the debug fields lie in the buffer that Parse was
// given: they are valid as long as its bytes stay as they are. All else is the
// Reply's own.
//
// A field is zero unless Has holds its bit.
type Reply struct {
	Code  Code
	Class ErrorClass // of a CodeError reply
	Hit   bool       // the item had been fetched before (h)

	// Has tells which fields the line carried in their proper form.
	Has Fields

	// Malformed tells which fields the line carried with an argument that is
	// no number of the field's range. Framing does not depend on them, so Parse
	// accepts the line; whoever asked for the field decides.
	Malformed Fields

	ClientFlags uint32 // as stored (f). A number above 32 bits is malformed
	Size        int    // VA: bytes of value that follow, before their CRLF, at most MaxValue
	CAS         uint64 // version (c)
	ItemSize    int    // bytes of the item's value (s)
	LastAccess  int64  // seconds since the item was last fetched (l)

	// TTL is the seconds left to live (t), -1 for no end. Servers print the
	// rest of an item that just expired as a number near 2^32.
	TTL int64

	line   []byte // the first bytes that Parse was given; spans count from its start
	opaque span
	key    span
	rest   span // the message of an error line, the name=value fields of ME
}

// A span is a part of Reply.line, which is never longer than MaxLine.
type span struct{ start, end uint16 }

func (r *Reply) slice(s span) []byte { return r.line[s.start:s.end:s.end] }

// Win tells that this client is to recompute the item (W): it alone of all
// who asked got this answer.
func (r *Reply) Win() bool { return r.Has&FieldWin != 0 }

// Stale tells that the item was marked stale (X).
func (r *Reply) Stale() bool { return r.Has&FieldStale != 0 }

// Lost tells that another client was told to recompute the item and has not
// stored it yet (Z). With an empty value and not Stale, there was no item.
func (r *Reply) Lost() bool { return r.Has&FieldLost != 0 }

// Base64 tells that Key is base64 text, because the item was stored under a
// base64 key or, without an item, because the request had one.
func (r *Reply) Base64() bool { return r.Has&FieldBase64 != 0 }

// Opaque returns the tag of the request, nil if the reply has none. It is
// valid as long as the bytes given to Parse are.
func (r *Reply) Opaque() []byte {
	if r.Has&FieldOpaque == 0 {
		return nil
	}
	return r.slice(r.opaque)
}

// Key returns the key as it stands in the reply, nil if the reply has none. It
// is valid as long as the bytes given to Parse are. An ME line tells the key
// but not whether it is base64 text: see Common.Base64.
func (r *Reply) Key() []byte {
	if r.Has&FieldKey == 0 {
		return nil
	}
	return r.slice(r.key)
}

// AppendKey appends the key's own bytes, decoded if need be, to dst and
// returns the longer slice. It allocates only to grow dst.
func (r *Reply) AppendKey(dst []byte) []byte {
	if !r.Base64() {
		return append(dst, r.Key()...)
	}
	// Parse has checked the text, so nothing can be wrong with it.
	dst, _ = base64.StdEncoding.AppendDecode(dst, r.Key())
	return dst
}

// Message returns the text of an error line behind its class, nil for other
// replies. It is valid as long as the bytes given to Parse are.
func (r *Reply) Message() []byte {
	if r.Code != CodeError {
		return nil
	}
	return r.slice(r.rest)
}

// Debug is what an ME line tells of an item.
type Debug struct {
	TTL        int64  // exp: seconds left to live, -1 for no end. Its sign is the wrong way round before 1.6.24
	LastAccess int64  // la: seconds since the item was last fetched
	CAS        uint64 // cas: version
	Fetched    bool   // fetch: whether it was fetched since it was stored
	SlabClass  int    // cls: which slab class holds it
	Size       int    // size: bytes of the whole item, header and key included
}

// Debug reads the fields of an ME line that have a place in Debug; all of them
// can be had by DebugField. Fields that the line lacks, or that are no number,
// are zero.
func (r *Reply) Debug() Debug {
	var d Debug
	d.TTL, _ = strconv.ParseInt(string(r.DebugField("exp")), 10, 64)
	d.LastAccess, _ = strconv.ParseInt(string(r.DebugField("la")), 10, 64)
	d.CAS, _ = strconv.ParseUint(string(r.DebugField("cas")), 10, 64)
	d.Fetched = string(r.DebugField("fetch")) == "yes"
	d.SlabClass, _ = strconv.Atoi(string(r.DebugField("cls")))
	d.Size, _ = strconv.Atoi(string(r.DebugField("size")))
	return d
}

// DebugField returns the value of the first field of that name in an ME line,
// nil if there is none. It is valid as long as the bytes given to Parse are.
func (r *Reply) DebugField(name string) []byte {
	for field, value := range r.DebugFields {
		if string(field) == name {
			return value
		}
	}
	return nil
}

// DebugFields yields the name and the value of each field of an ME line, in
// order. They are valid as long as the bytes given to Parse are. Use it as
// `for name, value := range r.DebugFields`.
func (r *Reply) DebugFields(yield func(name, value []byte) bool) {
	if r.Code != CodeDebug {
		return
	}
	for rest := r.slice(r.rest); ; {
		rest = bytes.TrimLeft(rest, " ")
		field, more, _ := bytes.Cut(rest, []byte{' '})
		name, value, ok := bytes.Cut(field, []byte{'='})
		if !ok || !yield(name[:len(name):len(name)], value[:len(value):len(value)]) {
			return
		}
		rest = more
	}
}
