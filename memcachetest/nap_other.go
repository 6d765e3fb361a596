//go:build !linux

package memcachetest

import "time"

// nap would sleep finer than the runtime's timers. Here nothing portable does.
func nap(time.Duration) bool { return false }
