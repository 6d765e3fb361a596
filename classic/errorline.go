// Error lines: what each of them proves about the stream behind it.

package classic

// ErrorClass is the first token of an error line.
type ErrorClass uint8

const (
	ClassError  ErrorClass = iota + 1 // ERROR: no such command
	ClassClient                       // CLIENT_ERROR: the request is wrong
	ClassServer                       // SERVER_ERROR: the server could not do it
)

var classNames = [...]string{ClassError: "ERROR", ClassClient: "CLIENT_ERROR", ClassServer: "SERVER_ERROR"}

// String returns the token on the wire.
func (c ErrorClass) String() string { return text(classNames[:], int(c), "none") }

// InStep tells whether the next bytes from the server are the reply to the
// next request for certain. body says whether the refused request had a value
// behind its line: some errors leave that value to be executed as commands. It
// is true for all replies that are no error lines.
//
// When it is false the connection must be closed: what comes next may be the
// answer to something that was never asked. The same is true when ERROR or
// "bad command line format" is the next reply behind a SERVER_ERROR that refused
// a value: 1.6.38 and 1.6.45 with extstore may take such a value for commands.
func (r *Reply) InStep(body bool) bool {
	if r.Code != CodeError {
		return r.Code != 0
	}
	message := string(r.Text()) // compared only, so it is not copied
	switch r.Class {
	case ClassServer:
		// One line about one request whose value was read to its end, by proxies
		// too, but for what is said above. The exception is sent by a server that
		// is about to hang up.
		return message != "out of memory reading request"
	case ClassError:
		switch message {
		case "Too many open connections":
			return false // comes unasked, before the server closes
		case "shutdown not enabled":
			return true
		}
		return !body
	}
	switch message {
	case "":
		return false // no server says so little
	case "bad data chunk":
		return false // what was left of the value is a command line now
	case "bad command line format":
		// Behind a value it may have been executed; behind a retrieval servers
		// since 1.6.40 may send an empty line more.
		return false
	case "bad command line termination", "bad authentication token format", "authentication failure":
		return true // authentication is read whole before it is judged
	}
	return !body
}
