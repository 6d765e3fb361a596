// ParseBody: the value behind a VALUE line.

package classic

// ParseBody returns the value of size bytes at the start of b and the number
// of bytes that belong to it, CRLF included. value is part of b, its capacity
// clipped.
//
// n is 0 and err nil when b does not hold all of them yet. The error is
// [ErrBodyTerminator], after which the connection must be closed. It never
// allocates; size must be 0 to MaxValue, as Parse makes sure.
func ParseBody(b []byte, size int) (value []byte, n int, err error) {
	if len(b) < size+2 {
		return nil, 0, nil
	}
	if b[size] != '\r' || b[size+1] != '\n' {
		return nil, 0, ErrBodyTerminator
	}
	return b[:size:size], size + 2, nil
}
