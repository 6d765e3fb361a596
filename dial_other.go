//go:build !unix

package memcache

import "net"

// dialer returns a dialer that leaves buffers and user timeout to the system.
func (s *ConnSettings) dialer() *net.Dialer { return &net.Dialer{KeepAlive: s.KeepAlive} }
