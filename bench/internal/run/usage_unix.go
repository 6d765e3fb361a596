//go:build unix

package run

import (
	"syscall"
	"time"
)

// processor reads the processor time of the process.
func (u *usage) processor() {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for a bad address only
	u.user, u.system = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
}
