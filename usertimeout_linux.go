package memcache

import (
	"strings"
	"syscall"
	"time"
)

const tcpUserTimeout = 0x12 // TCP_USER_TIMEOUT of linux/tcp.h

// setUserTimeout sets TCP_USER_TIMEOUT on a TCP socket.
func setUserTimeout(network string, raw syscall.RawConn, timeout time.Duration) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	controlErr := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(timeout.Milliseconds()))
	})
	if controlErr != nil {
		return controlErr
	}
	return err
}
