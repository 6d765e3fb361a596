//go:build !linux

package memcachetest

import "syscall"

// bufferControl would set the buffers of a socket before it is used. Here they are
// set when the connection is there.
func bufferControl(int) func(network, addr string, c syscall.RawConn) error { return nil }
