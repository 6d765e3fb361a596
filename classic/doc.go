// Package classic is the codec of memcached's classic text protocol: get,
// gets, gat, gats, the set family, cas, delete, incr, decr, touch, stats,
// version, verbosity, flush_all and their replies.
//
// It turns values into bytes and bytes into values and does nothing else: no
// I/O, no clock, no locks, no state between calls. Builders append one request
// to a slice of the caller and return it; [Parse] reads one reply line where
// it lies in the caller's buffer. Neither allocates when the slice has room.
//
//	buf, err := classic.AppendGets(buf[:0], "a", "b", "c")
//	…
//	n, err := classic.Parse(in, &reply)
//	switch {
//	case err != nil: // the stream cannot be trusted any more: close
//	case n == 0:     // in holds only part of a line: read more
//	case reply.Code == classic.CodeValue:
//		value, m, err := classic.ParseBody(in[n:], reply.Size)
//		…
//	case reply.Code == classic.CodeEnd: // all values of this request are there
//	}
//
// # What keeps requests and replies together
//
// Replies come in the order of the requests. A retrieval is answered by a
// VALUE line with its value for each key that was found, in the order asked
// for, and END; stats by STAT lines and END; everything else by one line. Only
// VALUE lines name the key, so a client that shares a connection checks it
// there and counts everywhere else.
//
// A reply after which the position of the next reply is in doubt is an error
// and not a guess. Servers since 1.6.40 send one empty line too much behind
// the refusal of a retrieval whose key is too long; the builders refuse such
// keys, and Parse takes an empty line for the loss of step that it is.
//
// Everything here is safe for concurrent use on distinct arguments.
package classic
