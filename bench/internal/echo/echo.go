// Package echo is a server that sends back what it gets, in a process of its own:
// the least that an exchange over a socket costs.
package echo

import (
	"fmt"
	"net"
	"os"

	"github.com/vaquero-cache/memcache/bench/internal/child"
)

// Role is the part of the server; its line is the address.
var Role = child.Role{Name: "echo", Play: play}

func play([]string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		err := serve(l.(*net.TCPListener))
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}()
	return l.Addr().String(), nil
}

// Start starts a server. The line of the process is its address.
func Start() (*child.Process, error) { return child.Start(Role.Name) }
