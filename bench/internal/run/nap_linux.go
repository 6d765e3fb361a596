package run

import (
	"syscall"
	"time"
)

// precise makes the naps of this thread end in time: by default the kernel may be
// late by 50 µs.
func precise() {
	const setTimerSlack = 29
	syscall.Syscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0) // if refused, naps are longer
}

// nap sleeps in the kernel: the runtime's own timers are late by up to a
// millisecond in an idle process.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil) // a signal may end it; the caller looks at the clock
}
