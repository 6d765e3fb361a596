// Statuses: the outcome of a request by number.

package binary

// Status is the outcome of a request. All but StatusOK are errors as they
// stand; compare them by == or errors.Is. [Status.Err] turns one into an error
// that is nil on success.
type Status uint16

const (
	StatusOK             Status = 0x00
	StatusNotFound       Status = 0x01 // no such item
	StatusExists         Status = 0x02 // the item exists (add) or has another version
	StatusTooLarge       Status = 0x03 // the value is over the server's limit; a set has deleted the old one
	StatusInvalid        Status = 0x04 // malformed request; the server hangs up
	StatusNotStored      Status = 0x05 // append or prepend without an item
	StatusNonNumeric     Status = 0x06 // what is stored is no number
	StatusAuthFailure    Status = 0x20 // wrong credentials, or none yet
	StatusAuthContinue   Status = 0x21 // the body is a challenge, to be answered by a step
	StatusUnknownCommand Status = 0x81 // the server does not know the opcode
	StatusOutOfMemory    Status = 0x82

	// Statuses that other servers of this protocol send.

	StatusWrongVBucket     Status = 0x07
	StatusAuthError        Status = 0x08
	StatusAuthOtherBucket  Status = 0x09
	StatusNotSupported     Status = 0x83
	StatusInternalError    Status = 0x84
	StatusBusy             Status = 0x85
	StatusTemporaryFailure Status = 0x86
)

// Error returns what the status means. The text that the server sent with it
// is the value of the reply's body.
func (s Status) Error() string {
	switch s {
	case StatusOK:
		return "binary: success"
	case StatusNotFound:
		return "binary: not found"
	case StatusExists:
		return "binary: item exists or has another version"
	case StatusTooLarge:
		return "binary: value is too large for the server"
	case StatusInvalid:
		return "binary: server calls the request invalid"
	case StatusNotStored:
		return "binary: not stored"
	case StatusNonNumeric:
		return "binary: stored value is not a number"
	case StatusWrongVBucket:
		return "binary: vbucket belongs to another server"
	case StatusAuthError:
		return "binary: authentication error"
	case StatusAuthOtherBucket:
		return "binary: authentication for another bucket"
	case StatusAuthFailure:
		return "binary: authentication failed"
	case StatusAuthContinue:
		return "binary: authentication goes on"
	case StatusUnknownCommand:
		return "binary: server does not know the command"
	case StatusOutOfMemory:
		return "binary: server is out of memory"
	case StatusNotSupported:
		return "binary: command is not supported"
	case StatusInternalError:
		return "binary: internal error of the server"
	case StatusBusy:
		return "binary: server is busy"
	case StatusTemporaryFailure:
		return "binary: temporary failure of the server"
	}
	return "binary: unknown status"
}

// Err returns nil for StatusOK and the status itself for all others.
func (s Status) Err() error {
	if s == StatusOK {
		return nil
	}
	return s
}
