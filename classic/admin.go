// Requests to the server itself rather than to its items.

package classic

import (
	"math"
	"strconv"
	"strings"
)

// AppendVersion appends a version request to dst and returns the longer slice.
// The reply is VERSION.
func AppendVersion(dst []byte) []byte { return append(dst, "version\r\n"...) }

// AppendQuit appends a quit request to dst and returns the longer slice. The
// server closes the connection without a reply.
func AppendQuit(dst []byte) []byte { return append(dst, "quit\r\n"...) }

// FlushAllRequest is flush_all: all items present end. The reply is OK.
//
// The server's clock has steps of one second: what is stored in the second of
// the flush may survive it.
type FlushAllRequest struct {
	Delay   uint32 // seconds until it happens, above 30 days = Unix time, until 2038 at the latest; 0 = now
	NoReply bool   // as StoreRequest.NoReply
}

// AppendFlushAll appends the request to dst and returns the longer slice. It
// allocates only to grow dst.
func AppendFlushAll(dst []byte, r *FlushAllRequest) []byte {
	dst = append(dst, "flush_all"...)
	if r.Delay != 0 {
		// 1.6.38 and older servers take a larger number for a negative one: now.
		dst = strconv.AppendUint(append(dst, ' '), uint64(min(r.Delay, math.MaxInt32)), 10)
	}
	return appendEnd(dst, r.NoReply)
}

// VerbosityRequest is verbosity: how much the server logs. The reply is OK.
type VerbosityRequest struct {
	Level   uint32
	NoReply bool // as StoreRequest.NoReply
}

// AppendVerbosity appends the request to dst and returns the longer slice. It
// allocates only to grow dst.
func AppendVerbosity(dst []byte, r *VerbosityRequest) []byte {
	dst = strconv.AppendUint(append(dst, "verbosity "...), uint64(r.Level), 10)
	return appendEnd(dst, r.NoReply)
}

// AppendStats appends a stats request to dst and returns the longer slice. An
// empty argument asks for the general statistics, others are "settings",
// "items", "slabs", "sizes", "conns" and "detail dump". The reply is STAT
// lines and END, but RESET alone for "reset" and OK for "detail on" and
// "detail off". On a [RequestError] it returns dst as it was.
func AppendStats(dst []byte, argument string) ([]byte, error) {
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	if strings.ContainsFunc(argument, isControl) {
		return dst, ErrArgument
	}
	line := append(dst, "stats"...)
	if argument != "" {
		line = append(append(line, ' '), argument...)
	}
	if len(line)+len("\r\n")-len(dst) > MaxLine {
		return dst, ErrLineTooLong
	}
	return AppendEnd(line), nil
}

// MaxAuth is the largest number of bytes in a user and a password together.
// Servers refuse more, and older ones wait for ever.
const MaxAuth = 16<<10 - len(" ")

// AppendAuth appends the request that a server with text authentication
// (option -Y) must see first, and returns the longer slice. The reply is
// STORED, or an error line that leaves the connection open for another try.
// Nothing may be sent behind it before its reply is there: the server answers
// several requests of a stranger with one line. On a [RequestError] it returns
// dst as it was.
//
// To a server without authentication this is a set like any other, and the
// reply is STORED too. What it stores has expired: nobody can read it.
func AppendAuth(dst []byte, user, password string) ([]byte, error) {
	if user == "" || strings.ContainsAny(user, " \r\n\x00") || strings.ContainsAny(password, "\r\n\x00") ||
		len(user)+len(password) > MaxAuth {
		return dst, ErrCredentials
	}
	d := append(dst, "set auth 0 -1 "...)
	d = strconv.AppendInt(d, int64(len(user)+1+len(password)), 10)
	d = append(append(d, '\r', '\n'), user...)
	d = append(append(d, ' '), password...)
	return append(d, '\r', '\n'), nil
}
