//go:build unix && !linux

package memcache

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT.
func setUserTimeout(uintptr, int) error { return nil }
