package memcache

import "syscall"

const tcpUserTimeout = 0x12 // TCP_USER_TIMEOUT of linux/tcp.h

// setUserTimeout sets TCP_USER_TIMEOUT on a TCP socket.
func setUserTimeout(fd uintptr, milliseconds int) error {
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, milliseconds)
}
