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
// processor meanwhile, which is the case where it is worth trying again.
//
// In an idle process a yield wakes another processor for nothing. So a reader
// begins to yield only after it has been parked for long, as it is when the
// process is busy (or the server slow), and ends when yields are short again.

const (
	longPark  = time.Millisecond      // the process may be busy: yield in the next reads
	longYield = 10 * time.Microsecond // it is: others had the processor
	maxYields = 64                    // in one read; then the poller's turn comes
	suspicion = 16                    // reads that yield after a sign of a busy process
)

// readBetweenYields reads into s.in, or returns false to wait in the poller.
func (s *socket) readBetweenYields(fd uintptr) (done bool) {
	for range maxYields {
		n, err := syscall.Read(int(fd), s.in)
		if err == syscall.EINTR {
			continue
		}
		if err != syscall.EAGAIN {
			if !s.parked.IsZero() && time.Since(s.parked) >= longPark {
				s.suspect = suspicion
			}
			s.parked = time.Time{}
			s.inLen, s.inErr = n, err
			return true
		}
		start := time.Now()
		if s.suspect == 0 {
			s.parked = start
			return false
		}
		runtime.Gosched()
		if time.Since(start) < longYield {
			s.suspect--
			s.parked = start
			return false
		}
		s.suspect = suspicion
	}
	s.parked = time.Now()
	return false
}
