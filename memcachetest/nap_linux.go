package memcachetest

import (
	"syscall"
	"time"
)

// napSlack is how much later than asked the kernel may wake a thread.
const napSlack = 70 * time.Microsecond

// nap sleeps for a little less than d in the kernel, which is finer than the
// runtime's timers. It reports false when d is too short for that.
func nap(d time.Duration) bool {
	if d <= napSlack {
		return false
	}
	ts := syscall.NsecToTimespec(int64(d - napSlack))
	syscall.Nanosleep(&ts, nil) // woken early, the caller looks at the clock again
	return true
}
