// Package child runs a part of this program in a process of its own, so that what
// it uses is not counted as a client's.
//
// The process is this program, started again; so main, and TestMain where it is
// used in tests, begin with Serve.
package child

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// roleEnv tells a process which part it plays.
const roleEnv = "VBENCH_ROLE"

// Role is a part that a process can play.
type Role struct {
	Name string

	// Play begins the work and returns what the parent has to know of it, as one
	// line. The work ends with the process.
	Play func(args []string) (string, error)
}

// Serve returns at once in a process that was not started by Start. In one that
// was, it plays its role until its standard input ends, as it does when the parent
// is gone, and exits.
func Serve(roles ...Role) {
	name, ok := os.LookupEnv(roleEnv)
	if !ok {
		return
	}
	for _, role := range roles {
		if role.Name != name {
			continue
		}
		line, err := role.Play(os.Args[1:])
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Println(line)
		io.Copy(io.Discard, os.Stdin) // any end will do
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "no role %q\n", name)
	os.Exit(1)
}

// Process is a running child.
type Process struct {
	Line string // what Play returned

	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts a process for a role and returns when it plays it.
func Start(role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
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
	p := &Process{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("%s: it ended by itself: %w", role, err)
	}
	p.Line = strings.TrimSpace(line)
	return p, nil
}

// Stop ends the process.
func (p *Process) Stop() {
	p.cmd.Process.Kill() // fails only if it is gone already
	p.cmd.Wait()         // how it ended makes no difference
	p.stdin.Close()
}
