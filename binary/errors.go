// The two kinds of error of this package beside a reply's Status: a request
// that may not be sent, and a reply that cannot be understood. Both are small
// comparable constants, so that returning one allocates nothing.

package binary

// RequestError says why a builder refused a request. Nothing was appended.
// Compare it with the Err constants by == or errors.Is.
type RequestError uint8

const (
	ErrKeyEmpty     RequestError = iota + 1 // the key has no bytes
	ErrKeyTooLong                           // the key is longer than MaxKey
	ErrMode                                 // the mode is none of the constants
	ErrValueTooLong                         // the value is longer than MaxValue
	ErrExpiration                           // a negative expiration, which this protocol cannot say
	ErrCAS                                  // an add with a CAS, which servers take for another command
	ErrMechanism                            // an authentication without mechanism
	ErrCredentials                          // the user is empty, there is a line end or NUL in user or password, or they are longer than MaxAuth
)

var requestErrors = [...]string{
	ErrKeyEmpty:     "binary: key is empty",
	ErrKeyTooLong:   "binary: key is too long",
	ErrMode:         "binary: unknown mode",
	ErrValueTooLong: "binary: value is too long",
	ErrExpiration:   "binary: protocol has no negative expiration",
	ErrCAS:          "binary: add takes no CAS",
	ErrMechanism:    "binary: no authentication mechanism",
	ErrCredentials:  "binary: user or password cannot be sent",
}

func (e RequestError) Error() string {
	return text(requestErrors[:], int(e), "binary: invalid request")
}

// ProtocolError says why bytes from the server are not a reply. Nothing that
// follows on the connection can be trusted: it must be closed. Compare it with
// the Err constants by == or errors.Is.
type ProtocolError uint8

const (
	ErrBadMagic     ProtocolError = iota + 1 // the first byte is not that of a reply
	ErrBadLengths                            // extras and key are longer than the body that holds them
	ErrBodyTooLarge                          // the value is longer than MaxValue
	ErrBadBody                               // extras or value have not the size of that opcode's success
)

var protocolErrors = [...]string{
	ErrBadMagic:     "binary: not a reply",
	ErrBadLengths:   "binary: lengths of the reply contradict each other",
	ErrBodyTooLarge: "binary: reply announces too large a value",
	ErrBadBody:      "binary: reply has an unexpected body",
}

func (e ProtocolError) Error() string {
	return text(protocolErrors[:], int(e), "binary: invalid reply")
}

func text(texts []string, i int, other string) string {
	if i > 0 && i < len(texts) {
		return texts[i]
	}
	return other
}
