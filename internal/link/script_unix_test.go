//go:build unix

package link

import (
	"errors"
	"syscall"
)

// smallBuffers makes a socket hold about 4 KiB in each direction.
func smallBuffers(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 4<<10),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10))
	})
	return errors.Join(err, failed)
}
