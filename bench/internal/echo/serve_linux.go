package echo

// One thread that waits for all connections and serves them, as memcached's do.

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// serve answers all connections of l. It makes its system calls without telling
// the scheduler: the process does nothing else, and a hand-over would cost more
// than the call.
func serve(l *net.TCPListener) error {
	poller, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // the thread below keeps one
	go echoAll(poller)
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return err
		}
		f, err := c.File() // a descriptor that the runtime does not poll
		c.Close()
		if err != nil {
			return err
		}
		fd := int(f.Fd())
		keep = append(keep, f)
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
		if err := syscall.EpollCtl(poller, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
			return err
		}
	}
}

// keep holds the files of all connections: one that is collected is closed.
var keep []*os.File

// echoAll sends back whatever comes. What a client has not made room for is lost,
// and so is its connection.
func echoAll(poller int) {
	runtime.LockOSThread()
	var events [64]syscall.EpollEvent
	buf := make([]byte, 64<<10)
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(poller),
			uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), ^uintptr(0), 0, 0)
		if errno != 0 {
			continue // EINTR is all that can be
		}
		for _, event := range events[:n] {
			fd := uintptr(event.Fd)
			got, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
			if errno == 0 && got > 0 {
				var sent uintptr
				sent, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&buf[0])), got)
				if errno == 0 && sent == got {
					continue
				}
			}
			syscall.EpollCtl(poller, syscall.EPOLL_CTL_DEL, int(fd), nil)
			syscall.Shutdown(int(fd), syscall.SHUT_RDWR)
		}
	}
}
