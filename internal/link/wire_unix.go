//go:build unix

package link

import (
	"io"
	"syscall"
	"time"
)

// socket is the state of a wire's non-blocking calls. The functions are bound
// once, so that a call does not allocate.
type socket struct {
	read, write, peek func(fd uintptr) bool

	// Arguments and results of read; the reader's.
	in    []byte
	crowd bool // other calls wait for replies, too
	inLen int
	inErr error

	// See readwait_unix.go; the reader's.
	parked time.Time // when this read began to wait in the poller; zero = it does not
	wary   int       // reads to come that yield before they park
	yields int       // of this read
	again  bool      // it shall be tried again

	out []byte // argument and result of write; the flusher's
	n   int
	err error

	alive bool // result of peek; the connection's lock is held
}

func (s *socket) init() {
	s.read = s.tryRead
	s.write = func(fd uintptr) bool {
		for {
			s.n, s.err = syscall.Write(int(fd), s.out)
			if s.err != syscall.EINTR {
				return true
			}
		}
	}
	s.peek = func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		s.alive = n <= 0 && (err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR)
		return true
	}
}

// tryWrite writes what goes without waiting. Less than all of b is no error.
func (w *wire) tryWrite(b []byte) (n int, err error) {
	s := &w.sock
	s.out, s.n, s.err = b, 0, nil
	err = w.raw.Write(s.write)
	s.out = nil
	n = max(s.n, 0)
	if err == nil && s.err != syscall.EAGAIN {
		err = s.err
	}
	return n, err
}

// read reads as net.Conn's Read does, but between yields before it parks. crowd
// says that other calls wait for replies, too.
func (w *wire) read(b []byte, crowd bool) (n int, err error) {
	if w.raw == nil || len(b) == 0 {
		return w.Read(b)
	}
	s := &w.sock
	s.in, s.crowd, s.parked, s.yields = b, crowd, time.Time{}, 0
	for s.again = true; s.again && err == nil; {
		err = w.raw.Read(s.read)
	}
	s.in = nil
	switch {
	case err != nil:
		return 0, err
	case s.inErr != nil:
		return 0, s.inErr
	case s.inLen == 0:
		return 0, io.EOF
	}
	return s.inLen, nil
}

// quiet reports whether an idle connection has neither been closed by the
// server nor been sent anything unasked. Nobody may be reading from it.
func (w *wire) quiet() bool {
	if w.raw == nil {
		return true
	}
	w.sock.alive = false
	err := w.raw.Read(w.sock.peek)
	return err == nil && w.sock.alive
}
