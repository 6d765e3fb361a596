// Package meta is the codec of memcached's meta protocol: the commands mg, ms,
// md, ma, mn and me and their replies.
//
// It turns values into bytes and bytes into values and does nothing else: no
// I/O, no clock, no locks, no state between calls. Builders append one request
// to a slice of the caller and return it; [Parse] reads one reply header where
// it lies in the caller's buffer. Neither allocates when the slice has room.
//
//	buf, err := meta.AppendGet(buf[:0], &meta.GetRequest{
//		Common: meta.Common{Key: "greeting"},
//		Want:   meta.FieldValue | meta.FieldCAS,
//	})
//	…
//	n, err := meta.Parse(in, &reply)
//	switch {
//	case err != nil: // the stream cannot be trusted any more: close
//	case n == 0:     // in holds only part of a line: read more
//	case reply.Code == meta.CodeValue:
//		value, m, err := meta.ParseBody(in[n:], reply.Size)
//		…
//	}
//
// # What keeps requests and replies together
//
// memcached answers a connection's requests in their order and never out of
// it. A quiet request may have no answer at all, so a run of them is ended by
// mn, and each carries an opaque or asks for the key. The package makes sure
// that a request it builds is one line (plus the value of ms) whatever the key
// holds, and that a reply after which the position of the next reply is in
// doubt is an error and not a guess.
//
// Everything here is safe for concurrent use on distinct arguments.
package meta
