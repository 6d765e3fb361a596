//go:build !linux

package echo

import (
	"io"
	"net"
)

// serve answers all connections of l.
func serve(l *net.TCPListener) error {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			io.Copy(c, c) // ends with the connection
		}()
	}
}
