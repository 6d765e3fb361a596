// Reply: what one line said.

package classic

// Code is the kind of a reply line.
type Code uint8

const (
	CodeValue     Code = iota + 1 // VALUE: a found item, its value of Reply.Size bytes and CRLF follow
	CodeEnd                       // END: no more values or statistics
	CodeStored                    // STORED
	CodeNotStored                 // NOT_STORED: the command did not allow it
	CodeExists                    // EXISTS: the item has another version
	CodeNotFound                  // NOT_FOUND: no such item
	CodeDeleted                   // DELETED
	CodeTouched                   // TOUCHED
	CodeOK                        // OK
	CodeReset                     // RESET: answer to stats reset
	CodeNumber                    // a line of digits: the new number of incr and decr
	CodeVersion                   // VERSION
	CodeStat                      // STAT: one statistic
	CodePrefix                    // PREFIX: one line of stats detail dump
	CodeError                     // an error line, see Reply.Class
)

var codeNames = [...]string{
	CodeValue: "VALUE", CodeEnd: "END", CodeStored: "STORED", CodeNotStored: "NOT_STORED", CodeExists: "EXISTS",
	CodeNotFound: "NOT_FOUND", CodeDeleted: "DELETED", CodeTouched: "TOUCHED", CodeOK: "OK", CodeReset: "RESET",
	CodeNumber: "number", CodeVersion: "VERSION", CodeStat: "STAT", CodePrefix: "PREFIX", CodeError: "error line",
}

// String returns the first token on the wire.
func (c Code) String() string { return text(codeNames[:], int(c), "none") }

// Reply is one reply line. The zero value is ready for [Parse], which sets
// every field, so one Reply can serve a whole connection.
//
// Key and Text lie in the buffer that Parse was given: they are valid as long
// as its bytes stay as they are. All else is the Reply's own. What a line does
// not carry is zero.
type Reply struct {
	Code  Code
	Class ErrorClass // of a CodeError reply

	HasCAS      bool   // VALUE: whether the line has a CAS, as gets and gats ask
	ClientFlags uint32 // VALUE: as stored
	Size        int    // VALUE: bytes of value that follow, before their CRLF, at most MaxValue
	CAS         uint64 // VALUE: version
	Number      uint64 // CodeNumber: the number

	line []byte // with its line end; spans count from its start
	key  span
	text span
}

// A span is a part of Reply.line, which is never longer than MaxLine.
type span struct{ start, end uint16 }

// Key returns the key of a VALUE line, the name of a STAT line, the prefix of
// a PREFIX line, nil for others. It is valid as long as the bytes given to
// Parse are.
func (r *Reply) Key() []byte {
	if r.key.end == 0 {
		return nil
	}
	return r.line[r.key.start:r.key.end:r.key.end]
}

// Text returns what follows the first token of a VERSION line and of an error
// line, and the name of a STAT or PREFIX line, nil for others. It is valid as
// long as the bytes given to Parse are.
func (r *Reply) Text() []byte {
	if r.text.end == 0 {
		return nil
	}
	return r.line[r.text.start:r.text.end:r.text.end]
}
