// The two kinds of error of this package: a request that may not be sent, and
// a reply that cannot be understood. Both are small comparable constants, so
// that returning one allocates nothing.

package classic

// RequestError says why a builder refused a request. Nothing was appended.
// Compare it with the Err constants by == or errors.Is.
type RequestError uint8

const (
	ErrKeyEmpty     RequestError = iota + 1 // the key has no bytes
	ErrKeyTooLong                           // the key is longer than MaxKey
	ErrKeyByte                              // the key holds a space, a control byte or DEL
	ErrNoKeys                               // a retrieval without any key
	ErrMode                                 // the mode is none of the constants
	ErrValueTooLong                         // the value is longer than MaxValue
	ErrLineTooLong                          // a gat or gats line is longer than MaxLine
	ErrArgument                             // an argument of stats holds a control byte
	ErrCredentials                          // the user is empty or holds a space, there is a line end or NUL in either, or they are longer than MaxAuth
)

var requestErrors = [...]string{
	ErrKeyEmpty:     "classic: key is empty",
	ErrKeyTooLong:   "classic: key is too long",
	ErrKeyByte:      "classic: key holds a space or a control byte",
	ErrNoKeys:       "classic: no keys",
	ErrMode:         "classic: unknown mode",
	ErrValueTooLong: "classic: value is too long",
	ErrLineTooLong:  "classic: request line is too long",
	ErrArgument:     "classic: argument holds a control byte",
	ErrCredentials:  "classic: user or password cannot be sent",
}

func (e RequestError) Error() string {
	return text(requestErrors[:], int(e), "classic: invalid request")
}

// ProtocolError says why bytes from the server are not a reply. The number of
// bytes that belong to it is unknown, so nothing that follows on the
// connection can be trusted: it must be closed. Compare it with the Err
// constants by == or errors.Is.
type ProtocolError uint8

const (
	ErrUnknownReply    ProtocolError = iota + 1 // the first token is no reply of memcached
	ErrUnexpectedReply                          // a reply of the meta protocol
	ErrBadHeader                                // a carriage return inside the line, or a line of the wrong form
	ErrBadSize                                  // VALUE without a size, or with one that is no 64-bit number
	ErrSizeTooLarge                             // VALUE with a size above MaxValue
	ErrBadFlags                                 // VALUE without client flags, or with ones that are no 32-bit number
	ErrBadCAS                                   // VALUE with a CAS that is no 64-bit number
	ErrBadNumber                                // a number above 64 bits
	ErrEmptyLine                                // a line without any token
	ErrReplyTooLong                             // no line end within MaxLine bytes
	ErrBodyTerminator                           // the value is not followed by CRLF
)

var protocolErrors = [...]string{
	ErrUnknownReply:    "classic: unknown reply",
	ErrUnexpectedReply: "classic: reply belongs to the meta protocol",
	ErrBadHeader:       "classic: malformed reply line",
	ErrBadSize:         "classic: reply has a malformed size",
	ErrSizeTooLarge:    "classic: reply announces too large a value",
	ErrBadFlags:        "classic: reply has malformed client flags",
	ErrBadCAS:          "classic: reply has a malformed CAS",
	ErrBadNumber:       "classic: number is too large",
	ErrEmptyLine:       "classic: empty reply line",
	ErrReplyTooLong:    "classic: reply line is too long",
	ErrBodyTerminator:  "classic: value does not end in CRLF",
}

func (e ProtocolError) Error() string {
	return text(protocolErrors[:], int(e), "classic: invalid reply")
}

func text(texts []string, i int, other string) string {
	if i > 0 && i < len(texts) {
		return texts[i]
	}
	return other
}
