//go:build !linux

package memcache

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT.
func setUserTimeout(string, syscall.RawConn, time.Duration) error { return nil }
