// isText: which keys may be sent, eight bytes at a time, since every key of every
// request is looked at.

package classic

// isText reports whether key holds no space, control byte or DEL.
func isText(key string) bool {
	if len(key) < 8 {
		for i := range len(key) {
			if key[i] <= ' ' || key[i] == 0x7f {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(key)-8; i += 8 {
		if !areText(word(key[i:])) {
			return false
		}
	}
	return areText(word(key[len(key)-8:])) // some of them once more
}

// word returns the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// areText reports whether each of the eight bytes of x is text. A byte below
// 0x21 wraps when that is taken from it, and so does DEL, made zero, by one,
// which sets its top bit; a borrow can only come from such a byte.
func areText(x uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	del := x ^ 0x7f*each
	return ((x-0x21*each)&^x|(del-each)&^del)&top == 0
}
