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
// 10 ms, with the bytes in the socket. A park that lasted shows it, or had another
// reason: a slow server, a collection of garbage. Some reads after it yield before
// they park, and how long the yields take tells which: each long one makes for
// another such read, each short one for one less. Where a processor is idle, a
// yield wakes it for nothing and may even move the reader there.

const (
	longPark  = time.Millisecond      // the poller may not have been asked
	waryReads = 8                     // that yield before they park, after that
	mostWary  = 64                    // such reads to come, at any time
	longYield = 10 * time.Microsecond // others had the processor
	maxYields = 64                    // in one read; then the poller's turn comes
)

// tryRead reads into s.in. If there is nothing it returns false, to wait in the
// poller and to be called again, or true with s.again, to be tried in another
// RawConn.Read. That one sees whether the deadline has passed or the connection
// was closed meanwhile: nobody can wake a reader that yields.
func (s *socket) tryRead(fd uintptr) (done bool) {
	if !s.parked.IsZero() {
		if time.Since(s.parked) >= longPark {
			s.wary = max(s.wary, waryReads)
		}
		s.parked = time.Time{}
	}
	long := true
	if s.crowd || s.yields > 0 {
		long = s.yield()
	}
	n, err := syscall.Read(int(fd), s.in)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), s.in)
	}
	if err != syscall.EAGAIN {
		s.inLen, s.inErr, s.again = n, err, false
		return true
	}
	s.again = long && (s.crowd || s.wary > 0) && s.yields < maxYields
	if s.again {
		s.yields++
	} else {
		s.yields, s.parked = 0, time.Now()
	}
	return s.again
}

// yield lets others run and reports whether they did. With other calls on the
// connection these are their callers, which says nothing of the poller.
func (s *socket) yield() (long bool) {
	start := time.Now()
	runtime.Gosched()
	long = time.Since(start) >= longYield
	if !s.crowd && long {
		s.wary = min(s.wary+1, mostWary)
	} else {
		s.wary = max(s.wary-1, 0)
	}
	return long
}
