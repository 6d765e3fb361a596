//go:build unix

package link

import (
	"runtime"
	"syscall"
	"time"
)

// While every processor has goroutines to run, Go asks its network poller only
// about every 10 ms, so whoever parks in a read then waits that long for bytes
// that are there. A reader escapes by not parking at once: when there is
// nothing it yields, and a yield that took long shows that others had the
// processor meanwhile, which is the case where it is worth trying again. In an
// idle process the yield comes back at once and the reader parks as usual. It is
// not lost there: the scheduler looks round before it sleeps, and a lone caller
// had its reply in half the time that way.

const (
	longYield = 10 * time.Microsecond // others had the processor
	maxYields = 64                    // in one read; then the poller's turn comes
)

// readBetweenYields reads into s.in, or returns false to wait in the poller.
func (s *socket) readBetweenYields(fd uintptr) (done bool) {
	for range maxYields {
		n, err := syscall.Read(int(fd), s.in)
		if err == syscall.EINTR {
			continue
		}
		if err != syscall.EAGAIN {
			s.inLen, s.inErr = n, err
			return true
		}
		start := time.Now()
		runtime.Gosched()
		if time.Since(start) < longYield {
			return false
		}
	}
	return false
}
