// Requests to the server itself rather than to its items, authentication among
// them.

package binary

import "strings"

// AppendNoop appends a noop request to dst and returns the longer slice. Its
// reply comes after those of all earlier requests, so it ends a run of quiet
// ones. It allocates only to grow dst.
func AppendNoop(dst []byte, opaque uint32) []byte {
	return appendHeader(dst, OpNoop, 0, 0, 0, opaque, 0)
}

// AppendVersion appends a version request to dst and returns the longer slice.
// The value of the reply is the version. It allocates only to grow dst.
func AppendVersion(dst []byte, opaque uint32) []byte {
	return appendHeader(dst, OpVersion, 0, 0, 0, opaque, 0)
}

// AppendQuit appends a quit request to dst and returns the longer slice. The
// server answers, unless quiet, and closes the connection. It allocates only
// to grow dst.
func AppendQuit(dst []byte, quiet bool, opaque uint32) []byte {
	op := [...]Opcode{OpQuit, OpQuitQ}[quietIndex(quiet)]
	return appendHeader(dst, op, 0, 0, 0, opaque, 0)
}

// FlushRequest is flush and its quiet form: all items present end.
type FlushRequest struct {
	Delay  uint32 // seconds until it happens, above 30 days = Unix time; 0 = now
	Quiet  bool   // no reply on success
	Opaque uint32 // as GetRequest.Opaque
}

// AppendFlush appends the request to dst and returns the longer slice. It
// allocates only to grow dst.
func AppendFlush(dst []byte, r *FlushRequest) []byte {
	op := [...]Opcode{OpFlush, OpFlushQ}[quietIndex(r.Quiet)]
	if r.Delay == 0 {
		return appendHeader(dst, op, 0, 0, 0, r.Opaque, 0)
	}
	return append32(appendHeader(dst, op, 0, 4, 0, r.Opaque, 0), r.Delay)
}

// AppendStat appends a stat request to dst and returns the longer slice. An
// empty name asks for the general statistics, others are "settings", "items",
// "slabs" and "reset". The answer is one reply for each statistic, its name as
// key and its value as value, and one for which [Header.EndOfStats] is true.
// On a [RequestError] it returns dst as it was. It allocates only to grow dst.
func AppendStat(dst []byte, name string, opaque uint32) ([]byte, error) {
	if len(name) > MaxKey {
		return dst, ErrKeyTooLong
	}
	dst = appendHeader(dst, OpStat, len(name), 0, 0, opaque, 0)
	return append(dst, name...), nil
}

// AppendAuthList appends a request for the names of the SASL mechanisms, which
// are the value of the reply, one space between them. It allocates only to
// grow dst.
func AppendAuthList(dst []byte, opaque uint32) []byte {
	return appendHeader(dst, OpAuthList, 0, 0, 0, opaque, 0)
}

// AppendAuthStart appends a request that begins a SASL exchange by that
// mechanism, and returns the longer slice. The reply is StatusOK, or
// StatusAuthFailure, after which another start is allowed, or
// StatusAuthContinue with a challenge as value. On a [RequestError] it returns
// dst as it was. It allocates only to grow dst.
//
// Before it has succeeded a server with SASL answers only version and the
// requests of authentication; for all others it hangs up.
func AppendAuthStart(dst []byte, mechanism, data string, opaque uint32) ([]byte, error) {
	return appendAuth(dst, OpAuthStart, mechanism, data, opaque)
}

// AppendAuthStep appends a request that answers a challenge, and returns the
// longer slice. The rest is as for [AppendAuthStart].
func AppendAuthStep(dst []byte, mechanism, data string, opaque uint32) ([]byte, error) {
	return appendAuth(dst, OpAuthStep, mechanism, data, opaque)
}

// MaxAuth is the largest number of bytes in a user and a password together.
const MaxAuth = 16 << 10

// PlainAuth returns the data of the mechanism PLAIN. On a [RequestError] it is
// empty.
func PlainAuth(user, password string) (data string, err error) {
	const forbidden = "\x00\r\n" // line ends by us: a name or password that has one was not read as it was meant
	if user == "" || strings.ContainsAny(user, forbidden) || strings.ContainsAny(password, forbidden) ||
		len(user)+len(password) > MaxAuth {
		return "", ErrCredentials
	}
	return "\x00" + user + "\x00" + password, nil
}

func appendAuth(dst []byte, op Opcode, mechanism, data string, opaque uint32) ([]byte, error) {
	if mechanism == "" {
		return dst, ErrMechanism
	}
	if len(mechanism) > MaxKey {
		return dst, ErrKeyTooLong
	}
	if len(data) > MaxValue {
		return dst, ErrValueTooLong
	}
	dst = appendHeader(dst, op, len(mechanism), 0, len(data), opaque, 0)
	return append(append(dst, mechanism...), data...), nil
}
