//go:build unix

package link

import (
	"runtime"
	"syscall"
	"time"
)

// When to give up the processor, and to whom, decides what a read costs. A yield
// lets goroutines run that are ready to, and comes back; a park waits for the
// network poller, which Go asks when it has nothing else to run, and otherwise
// about every 10 ms.
//
// With other calls on the connection the reader yields before it reads: their
// callers append requests, replies gather, and one system call brings what would
// have been several. A call that is alone gains nothing by that and parks as soon
// as there is nothing to read.
//
// While every processor has goroutines to run, whoever parks waits for those
// 10 ms, with the bytes in the socket. A park that lasted shows it (or a slow
// server, beside which a yield costs nothing that counts). Some reads after it
// yield before they park, for as long as others have the processor meanwhile.

const (
	longPark  = time.Millisecond      // the poller may not have been asked
	waryReads = 64                    // that yield before they park, after that
	longYield = 10 * time.Microsecond // others had the processor
	maxYields = 64                    // in one read; then the poller's turn comes
)

// readBetweenYields reads into s.in, or returns false to wait in the poller and
// to be called again.
func (s *socket) readBetweenYields(fd uintptr) (done bool) {
	if !s.parked.IsZero() && time.Since(s.parked) >= longPark {
		s.wary = waryReads
	}
	for yields := 0; yields <= maxYields; yields++ {
		long := true
		if s.crowd || yields > 0 {
			long = s.yield()
		}
		n, err := syscall.Read(int(fd), s.in)
		if err == syscall.EINTR {
			continue
		}
		if err != syscall.EAGAIN {
			s.inLen, s.inErr = n, err
			return true
		}
		if !long || !s.crowd && s.wary == 0 {
			break
		}
	}
	s.parked = time.Now()
	return false
}

// yield lets others run and reports whether they did. With other calls on the
// connection these are their callers, which says nothing of the poller.
func (s *socket) yield() (long bool) {
	start := time.Now()
	runtime.Gosched()
	long = time.Since(start) >= longYield
	if !s.crowd && long {
		s.wary = waryReads
	} else {
		s.wary = max(s.wary-1, 0)
	}
	return long
}
