//go:build unix

package memcache

import (
	"net"
	"strings"
	"syscall"
)

// dialer returns a dialer that sets the options of a socket before it connects:
// a TCP receive buffer that is made smaller afterwards drops what the larger
// window has invited.
func (s *ConnSettings) dialer() *net.Dialer {
	return &net.Dialer{KeepAlive: s.KeepAlive, Control: func(network, _ string, raw syscall.RawConn) error {
		var err error
		controlErr := raw.Control(func(fd uintptr) { err = s.setOptions(network, fd) })
		if controlErr != nil {
			return controlErr
		}
		return err
	}}
}

func (s *ConnSettings) setOptions(network string, fd uintptr) error {
	for option, size := range map[int]int{syscall.SO_RCVBUF: s.ReadBuffer, syscall.SO_SNDBUF: s.WriteBuffer} {
		if size <= 0 {
			continue
		}
		if err := syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, option, size); err != nil {
			return err
		}
	}
	if s.UserTimeout > 0 && strings.HasPrefix(network, "tcp") {
		return setUserTimeout(fd, int(s.UserTimeout.Milliseconds()))
	}
	return nil
}
