// A retrieval put together key by key, and what the builders share.

package classic

import "strconv"

// AppendGetsStart appends the beginning of a gets request. The caller adds one
// key or more with [AppendKey] and closes the line with [AppendEnd]. It is
// [AppendGets] for keys that do not lie in one slice.
func AppendGetsStart(dst []byte) []byte { return append(dst, "gets"...) }

// AppendKey appends one key, with the space before it, to a retrieval that is
// being put together, and returns the longer slice. On a [RequestError] it
// returns dst as it was, and the request is still good without the key. It
// allocates only to grow dst.
func AppendKey(dst []byte, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return dst, err
	}
	return append(append(dst, ' '), key...), nil
}

// AppendEnd appends the line end.
func AppendEnd(dst []byte) []byte { return append(dst, '\r', '\n') }

func appendKeys(dst, line []byte, keys []string) ([]byte, error) {
	if len(keys) == 0 {
		return dst, ErrNoKeys
	}
	for _, key := range keys {
		var err error
		if line, err = AppendKey(line, key); err != nil {
			return dst, err
		}
	}
	return AppendEnd(line), nil
}

func appendTouchKeys(dst []byte, command string, expiration int32, keys []string) ([]byte, error) {
	line := strconv.AppendInt(append(dst, command...), int64(expiration), 10)
	line, err := appendKeys(dst, line, keys)
	if err == nil && len(line)-len(dst) > MaxLine {
		return dst, ErrLineTooLong
	}
	return line, err
}

func appendEnd(dst []byte, noReply bool) []byte {
	if noReply {
		dst = append(dst, " noreply"...)
	}
	return AppendEnd(dst)
}

func checkKey(key string) error {
	if len(key)-1 >= MaxKey {
		return ErrKeyTooLong
	}
	if len(key) == 0 {
		return ErrKeyEmpty
	}
	if !isText(key) {
		return ErrKeyByte
	}
	return nil
}
