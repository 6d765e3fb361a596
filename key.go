package memcache

// This file knows what may be sent as a key.

// MaxKeyLength is the longest legal key, in bytes.
const MaxKeyLength = 250

// legalKey reports whether key may be sent: 1 to MaxKeyLength bytes, none of
// them a space, a control byte or DEL. Bytes above 127 are legal, as UTF-8 or
// otherwise. Nothing else in the client knows this rule.
func legalKey(key string) bool {
	if len(key) == 0 || len(key) > MaxKeyLength {
		return false
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] == 0x7f {
			return false
		}
	}
	return true
}
