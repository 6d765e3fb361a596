// Package peer lets clients that are not written in Go take turns: small programs of
// ours around them, each a process that measures itself.
//
// A program is started with the name of a file and the addresses of servers. The file
// has the number of values and, for each, "key size", the bytes and a newline; then the
// number of batches and, for each, the number of its keys and the keys, a line each. A
// key without a value is on no server. The program says "ready" and what it is. Then it
// gets, line by line, nanoseconds to work for: it makes one call that does not count,
// then calls until the time is over, checks the number of hits and every byte of each,
// and answers with its calls, the time they took, the quartile, median and 99th
// percentile of single calls, user and system time, all in nanoseconds, and the objects
// it allocated or -1; or with "error" and what is wrong.
package peer

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

var (
	//go:embed programs/dalli.rb
	dalli []byte
	//go:embed programs/turns_pylibmc.py
	pylibmc []byte
	//go:embed programs/libmemcached.c
	libmemcached []byte
)

// kind is how a program is run.
type kind struct {
	file    string
	source  []byte
	command func(dir, file string) (*exec.Cmd, error)
}

// Names of the programs.
const (
	Dalli        = "dalli"
	Pylibmc      = "pylibmc"
	Libmemcached = "libmemcached"
)

var kinds = map[string]kind{
	Dalli:   {"dalli.rb", dalli, interpreted("ruby")},
	Pylibmc: {"turns_pylibmc.py", pylibmc, interpreted("/usr/bin/python3", "python3")},
	Libmemcached: {"libmemcached.c", libmemcached, func(dir, file string) (*exec.Cmd, error) {
		program := filepath.Join(dir, "libmemcached")
		out, err := exec.Command("cc", "-O2", "-o", program, file, "-lmemcached").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("not to be built here: %w: %s", err, firstLine(string(out)))
		}
		return exec.Command(program), nil
	}},
}

// interpreted runs a program by the first of these interpreters that is there.
func interpreted(by ...string) func(dir, file string) (*exec.Cmd, error) {
	return func(_, file string) (*exec.Cmd, error) {
		for _, name := range by {
			if path, err := exec.LookPath(name); err == nil {
				return exec.Command(path, file), nil
			}
		}
		return nil, fmt.Errorf("no %s here", by[len(by)-1])
	}
}

// patience is how long a program may take to get ready, and to answer after its turn.
const patience = 20 * time.Second

// Peer is a running program.
type Peer struct {
	What string // the client and its version, as it says itself

	dir   string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it says; closed when it ends
	noise *tail
}

// Start starts the program of that name for batches of set. The error says what is
// missing on this machine.
func Start(name string, addrs []string, set *workload.Set, batches []*workload.Batch) (_ *Peer, err error) {
	k := kinds[name]
	dir, err := os.MkdirTemp("", "vbench-")
	if err != nil {
		return nil, err
	}
	p := &Peer{dir: dir, noise: new(tail), lines: make(chan string)}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	source, data := filepath.Join(dir, k.file), filepath.Join(dir, "data")
	if err := os.WriteFile(source, k.source, 0o600); err != nil {
		return nil, err
	}
	if err := write(data, set, batches); err != nil {
		return nil, err
	}
	cmd, err := k.command(dir, source)
	if err != nil {
		return nil, err
	}
	cmd.Args = append(append(cmd.Args, data), addrs...)
	cmd.Stderr = p.noise
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd = cmd
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	line, err := p.line(patience)
	if err != nil {
		return nil, err
	}
	what, ok := strings.CutPrefix(line, "ready ")
	if !ok {
		return nil, fmt.Errorf("it said %q", line)
	}
	p.What = what
	return p, nil
}

func write(name string, set *workload.Set, batches []*workload.Batch) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, len(set.Keys))
	for i, key := range set.Keys {
		fmt.Fprintf(w, "%s %d\n%s\n", key, len(set.Values[i]), set.Values[i])
	}
	fmt.Fprintln(w, len(batches))
	for _, b := range batches {
		fmt.Fprintln(w, len(b.Keys))
		for _, key := range b.Keys {
			fmt.Fprintln(w, key)
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// line returns the next thing that the program says.
func (p *Peer) line(within time.Duration) (string, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.cmd.Wait() // for all that it has said; how it ended does not matter
			return "", fmt.Errorf("it ended: %s", lastLine(p.noise.String()))
		}
		return line, nil
	case <-timer.C:
		return "", run.ErrHang
	}
}

// Measure gives the program a turn.
func (p *Peer) Measure(length time.Duration) (s run.Slice, err error) {
	if _, err := fmt.Fprintln(p.in, int64(length)); err != nil {
		return s, err
	}
	line, err := p.line(length + patience)
	if err != nil {
		return s, err
	}
	if problem, ok := strings.CutPrefix(line, "error "); ok {
		return s, errors.New(problem)
	}
	_, err = fmt.Sscan(line, &s.Ops, (*int64)(&s.Elapsed), (*int64)(&s.P25), (*int64)(&s.P50), (*int64)(&s.P99),
		(*int64)(&s.User), (*int64)(&s.System), &s.Allocs)
	if err != nil {
		return s, fmt.Errorf("it said %q: %w", line, err)
	}
	s.AllocBytes, s.Reads, s.Writes, s.Switches, s.Goroutines = -1, -1, -1, -1, -1
	return s, nil
}

// Stop ends the program.
func (p *Peer) Stop() {
	if p.cmd != nil {
		p.cmd.Process.Kill() // fails only if it is gone already
		for range p.lines {  // so that its reader ends
		}
		p.cmd.Wait()
	}
	os.RemoveAll(p.dir)
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// lastLine is where interpreters say what is wrong.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
