package ring

// The one use of unsafe: strings and byte slices are read as each other without
// a copy, and without the compiler's belief that the hash functions behind
// function pointers (CRC-32, XXH3) might keep them, which would move every
// caller's buffer to the heap. Nothing keeps or writes to a key:
// TestPickBytesLeavesKeyAlone and TestPickAllocatesNothing guard that.

import "unsafe"

// byteView returns the bytes of s, which must be neither written to nor kept.
func byteView(s string) []byte {
	return unsafe.Slice((*byte)(unkept(unsafe.Pointer(unsafe.StringData(s)))), len(s))
}

// stringView returns b as a string, which must not be kept after b may change.
func stringView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// unkept returns p, unseen by the compiler's escape analysis.
//
//go:nosplit
//go:nocheckptr
func unkept(p unsafe.Pointer) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(nil), uintptr(p))
}
