//go:build unix

package run

import (
	"syscall"
	"time"
)

// processor reads the processor time and the context switches of the process.
func (u *usage) processor() {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for a bad address only
	u.switches = int64(r.Nvcsw) + int64(r.Nivcsw)
	u.user, u.system = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
}
