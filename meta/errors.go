// The two kinds of error of this package: a request that may not be sent, and
// a reply that cannot be understood. Both are small comparable constants, so
// that returning one allocates nothing.

package meta

// RequestError says why a builder refused a request. Nothing was appended.
// Compare it with the Err constants by == or errors.Is.
type RequestError uint8

const (
	ErrKeyEmpty      RequestError = iota + 1 // the key has no bytes
	ErrKeyTooLong                            // the key, after base64, is longer than MaxKey
	ErrKeyByte                               // a key sent as text holds a space, a control byte or DEL
	ErrOpaqueTooLong                         // the opaque is longer than MaxOpaque
	ErrOpaqueByte                            // the opaque holds a space, a control byte or DEL
	ErrField                                 // the command's reply cannot carry a wanted field
	ErrArgument                              // the command does not take a given argument, or not alone
	ErrMode                                  // the mode is none of the constants
	ErrValueTooLong                          // the value is longer than MaxValue
	ErrQuietValue                            // a quiet ma would hide the value it asks for
	ErrTagTooLong                            // a proxy tag is longer than MaxOpaque
	ErrTagByte                               // a proxy tag holds a space, a control byte or DEL
	ErrTooManyFlags                          // more flags than every server since 1.6.18 takes in a line
)

var requestErrors = [...]string{
	ErrKeyEmpty:      "meta: key is empty",
	ErrKeyTooLong:    "meta: key is too long",
	ErrKeyByte:       "meta: key holds a space or a control byte",
	ErrOpaqueTooLong: "meta: opaque is too long",
	ErrOpaqueByte:    "meta: opaque holds a space or a control byte",
	ErrField:         "meta: command cannot return a wanted field",
	ErrArgument:      "meta: command does not take a given argument",
	ErrMode:          "meta: unknown mode",
	ErrValueTooLong:  "meta: value is too long",
	ErrQuietValue:    "meta: quiet arithmetic cannot return the value",
	ErrTagTooLong:    "meta: proxy tag is too long",
	ErrTagByte:       "meta: proxy tag holds a space or a control byte",
	ErrTooManyFlags:  "meta: too many flags",
}

func (e RequestError) Error() string { return text(requestErrors[:], int(e), "meta: invalid request") }

// ProtocolError says why bytes from the server are not a reply. The number of
// bytes that belong to it is unknown, so nothing that follows on the
// connection can be trusted: it must be closed. The one exception is
// [ErrBadDebug]. Compare it with the Err constants by == or errors.Is.
type ProtocolError uint8

const (
	ErrMissingSize     ProtocolError = iota + 1 // VA without a size
	ErrBadSize                                  // VA with a size that is not a decimal number
	ErrSizeTooLarge                             // VA with a size above MaxValue
	ErrUnknownCode                              // the first token is no reply code of memcached
	ErrUnexpectedReply                          // a reply of the classic protocol
	ErrBadHeader                                // a carriage return inside the line
	ErrBadBase64                                // the key is marked as base64 and is not
	ErrEmptyLine                                // a line without any token
	ErrLineTooLong                              // no line end within MaxLine bytes
	ErrBodyTerminator                           // the value is not followed by CRLF

	// ErrBadDebug is an ME line of the wrong form. It is a whole line, so the
	// stream is still in step: Parse returns its length beside the error.
	ErrBadDebug
)

var protocolErrors = [...]string{
	ErrMissingSize:     "meta: reply has no size",
	ErrBadSize:         "meta: reply has a malformed size",
	ErrSizeTooLarge:    "meta: reply announces too large a value",
	ErrUnknownCode:     "meta: unknown reply code",
	ErrUnexpectedReply: "meta: reply belongs to the classic protocol",
	ErrBadHeader:       "meta: carriage return inside a reply line",
	ErrBadBase64:       "meta: reply has a malformed base64 key",
	ErrEmptyLine:       "meta: empty reply line",
	ErrLineTooLong:     "meta: reply line is too long",
	ErrBodyTerminator:  "meta: value does not end in CRLF",
	ErrBadDebug:        "meta: malformed debug line",
}

func (e ProtocolError) Error() string { return text(protocolErrors[:], int(e), "meta: invalid reply") }

func text(texts []string, i int, other string) string {
	if i > 0 && i < len(texts) {
		return texts[i]
	}
	return other
}
