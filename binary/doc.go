// Package binary is the codec of memcached's binary protocol: 24-byte headers,
// opcodes and statuses, SASL among them.
//
// It turns values into bytes and bytes into values and does nothing else: no
// I/O, no clock, no locks, no state between calls. Builders append one request
// to a slice of the caller and return it; [ParseHeader] and [ParseBody] read
// one reply where it lies in the caller's buffer. Neither allocates when the
// slice has room.
//
//	buf, err := binary.AppendGet(buf[:0], &binary.GetRequest{Key: "greeting", Opaque: 7})
//	…
//	n, err := binary.ParseHeader(in, &header)
//	switch {
//	case err != nil: // the stream cannot be trusted any more: close
//	case n == 0:     // in holds only part of a header: read more
//	case header.Opaque != 7: // not the answer to this request: close
//	case header.Status == binary.StatusOK:
//		m, ok, err := binary.ParseBody(in[n:], &header, &body)
//		…
//	}
//
// # What keeps requests and replies together
//
// Replies come in the order of the requests, each with the opaque of its
// request. A quiet request may have no answer at all: a quiet get hides its
// miss, every other quiet request hides its success and nothing else. A run of
// quiet requests is ended by a noop.
//
// The protocol speaks of expirations that are not negative, of a CAS of 0 as
// none, and not at all of leases, stale items or conditional reads; what it
// cannot say, the builders refuse or have no field for.
//
// memcached calls the protocol deprecated. Its proxy does not speak it, nor a
// server with text authentication (-Y).
//
// Everything here is safe for concurrent use on distinct arguments.
package binary
