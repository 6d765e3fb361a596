package ring

// The one use of unsafe: a string and a byte slice are read as each other
// without a copy. Nothing in this package keeps or writes to a key, which
// TestPickBytesLeavesKeyAlone and the allocation tests guard.

import "unsafe"

// byteView returns the bytes of s. They must not be written to.
func byteView(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// stringView returns b as a string. It must not be kept after b may change.
func stringView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
