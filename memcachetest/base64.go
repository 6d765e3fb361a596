package memcachetest

// Keys in base64.

import (
	"encoding/base64"
)

// decodeKey undoes base64 as memcached does: bytes outside the standard alphabet are
// passed over, the others must make whole groups of four, and a group with padding
// is the last one that counts.
func decodeKey(token []byte) ([]byte, bool) {
	var key []byte
	var group uint32
	n, padding, over := 0, 0, false
	for _, c := range token {
		value, ok := base64Value(c)
		if !ok {
			continue
		}
		n++
		if over {
			continue
		}
		if c == '=' {
			padding++
		}
		group = group<<6 | value
		if n%4 != 0 {
			continue
		}
		if padding > 2 {
			return nil, false
		}
		key = append(key, byte(group>>16), byte(group>>8), byte(group))
		key = key[:len(key)-padding]
		group, over = 0, padding > 0
	}
	return key, n > 0 && n%4 == 0
}

func base64Value(c byte) (uint32, bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return uint32(c - 'A'), true
	case c >= 'a' && c <= 'z':
		return uint32(c-'a') + 26, true
	case c >= '0' && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, c == '='
}

// storedKey is a key as its item was stored: in base64 if with b.
func storedKey(it *item) string {
	if it.binaryKey {
		return base64.StdEncoding.EncodeToString([]byte(it.key))
	}
	return it.key
}
