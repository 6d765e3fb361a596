// Package echo is a server that sends back what it gets, in a process of its own:
// the least that an exchange over a socket costs.
//
// The process is this program, started again; so main, and TestMain where it is
// used in tests, begin with ServeIfChild.
package echo

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
)

// childEnv tells a process that it is the server.
const childEnv = "VBENCH_ECHO"

// ServeIfChild returns at once in a process that was not started by Start. In one
// that was, it serves until its standard input ends, as it does when the parent is
// gone, and exits.
func ServeIfChild() {
	if os.Getenv(childEnv) == "" {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		err := serve(l.(*net.TCPListener))
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}()
	io.Copy(io.Discard, os.Stdin) // any end will do
	os.Exit(0)
}

// Server is a running echo process.
type Server struct {
	Addr string

	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts a server.
func Start() (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("echo server: no address: %w", err)
	}
	s.Addr = strings.TrimSpace(line)
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() {
	s.cmd.Process.Kill() // fails only if it is gone already
	s.cmd.Wait()         // how it ended makes no difference
	s.stdin.Close()
}
