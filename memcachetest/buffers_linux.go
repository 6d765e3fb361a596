package memcachetest

import "syscall"

// smallSegment is the largest TCP segment on sockets with small buffers. Loopback
// would have segments larger than such a buffer, and a sender then waits for a timer
// before each one.
const smallSegment = 536

// loopbackSegment is the size of those.
const loopbackSegment = 64 << 10

// bufferControl returns what sets the buffers of a socket before it is used, or nil
// when size is 0.
func bufferControl(size int) func(network, addr string, c syscall.RawConn) error {
	if size == 0 {
		return nil
	}
	return func(network, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = setBuffers(int(fd), network, size)
		})
		if err != nil {
			return err
		}
		return failed
	}
}

func setBuffers(fd int, network string, size int) error {
	for _, option := range []int{syscall.SO_RCVBUF, syscall.SO_SNDBUF} {
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, option, size); err != nil {
			return err
		}
	}
	if network == "unix" || size >= loopbackSegment {
		return nil
	}
	return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, smallSegment)
}
