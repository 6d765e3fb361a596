package realserver

// One memcached process: where it listens, how it starts, how it ends.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// startTimeout bounds a start whose context has no earlier deadline. A loaded
	// machine needs well under a second.
	startTimeout = 15 * time.Second
	// pollInterval is the pause between two looks at a process that starts.
	pollInterval = 2 * time.Millisecond
)

// Config says which server to run and how. The zero value is the preferred
// server on a TCP port of 127.0.0.1.
type Config struct {
	// Version is a number such as "1.6.18", or Oldest, or Newest. Empty means the
	// program that MEMCACHED names, and the newest where that is unset.
	Version string
	// MinVersion, such as "1.6.30", leaves older servers out of the choice.
	MinVersion string
	// Unix listens on a socket file and not on TCP.
	Unix bool
	// Host is the address to listen on; empty means 127.0.0.1.
	Host string
	// Args are added to the command line. The readiness probe follows -Z (TLS)
	// and -S and -B binary (binary protocol).
	Args []string
	// Env is added to the environment, as "NAME=value".
	Env []string
}

// Server is a memcached process that answered at least once. Its methods are
// safe for concurrent use.
type Server struct {
	cfg     Config
	binary  Binary
	dir     string // ours: log, port file, socket
	network string
	addr    string // set by the first start, kept by all later ones

	mu      sync.Mutex // guards all below; held for the length of a start or stop
	proc    *process   // nil when stopped
	pid     int        // of the process that runs, or of the last that did
	version string     // as the running server tells it
}

// Launch starts a server and returns when it answers. Ctx bounds the start, not
// the life of the server: that ends with Stop or Close, or, on Linux, with the
// calling process. Close releases its files.
func Launch(ctx context.Context, cfg Config) (*Server, error) {
	binary, err := find(cfg)
	if err != nil {
		return nil, err
	}
	return launch(ctx, cfg, binary)
}

func launch(ctx context.Context, cfg Config, binary Binary) (*Server, error) {
	dir, err := os.MkdirTemp("", "realserver-") // short: a socket path may have 107 bytes
	if err != nil {
		return nil, fmt.Errorf("realserver: %w", err)
	}
	s := &Server{cfg: cfg, binary: binary, dir: dir, network: "tcp", version: binary.Version}
	if cfg.Unix {
		s.network, s.addr = "unix", filepath.Join(dir, "memcached.sock")
	}
	if err := s.Restart(ctx); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// Network is "tcp" or "unix".
func (s *Server) Network() string { return s.network }

// Addr is host:port, or the path of the socket. It stays the same across Restart.
func (s *Server) Addr() string { return s.addr }

// Version is what the server said to `version`.
func (s *Server) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Pid is the process id of the server, or of the last one after Stop.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// Signal sends sig to the server. A server stopped by SIGSTOP still ends at Stop.
func (s *Server) Signal(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return os.ErrProcessDone
	}
	return s.proc.cmd.Process.Signal(sig)
}

// Stop kills the server and returns when the process is gone: its connections
// break, and its address refuses new ones until Restart.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopLocked()
}

func (s *Server) stopLocked() {
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// Close stops the server and removes its files. It cannot be started again.
func (s *Server) Close() {
	s.Stop()
	os.RemoveAll(s.dir)
}

// Restart stops the server if it runs and starts it again, empty, on the same
// address. Ctx bounds the start.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopLocked()
	var inUse error
	for {
		err := s.startLocked(ctx)
		// Between a stop and a start somebody else may get the port for a moment.
		switch {
		case err != nil && ctx.Err() != nil:
			return cmp.Or(inUse, err)
		case !errors.Is(err, errAddressInUse) || !pause(ctx, 10*pollInterval):
			return err
		}
		inUse = err
	}
}

var errAddressInUse = errors.New("address in use")

func (s *Server) startLocked(ctx context.Context) error {
	portFile, logFile := filepath.Join(s.dir, "port"), filepath.Join(s.dir, "log")
	os.Remove(portFile)
	log, err := os.Create(logFile)
	if err != nil {
		return fmt.Errorf("realserver: %w", err)
	}
	defer log.Close()

	cmd := exec.Command(s.binary.Path, s.args()...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), append([]string{"MEMCACHED_PORT_FILENAME=" + portFile}, s.cfg.Env...)...)
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := spawn(cmd)
	if err != nil {
		return fmt.Errorf("realserver: %w", err)
	}

	addr, version, err := s.awaitAnswer(ctx, proc, portFile)
	if err != nil {
		proc.kill()
		said, _ := os.ReadFile(logFile)
		if strings.Contains(string(said), "Address already in use") {
			err = errAddressInUse
		}
		return fmt.Errorf("realserver: %s %s: %w: %q", s.binary, strings.Join(cmd.Args[1:], " "), err, tail(said, 500))
	}
	if s.addr == "" { // later starts keep it, so that Addr needs no lock
		s.addr = addr
	}
	s.proc, s.pid = proc, cmd.Process.Pid
	if version != "" {
		s.version = version
	}
	return nil
}

// args is the command line. The first start lets the kernel choose the port
// (-p -1), which nobody can take in between; memcached writes it to the port file.
func (s *Server) args() []string {
	var args []string
	if os.Geteuid() == 0 {
		// memcached refuses to run as root without -u. Another user would lose the
		// parent-death signal (the kernel clears it when credentials change) and
		// could not write into dir; in a container it may not even exist.
		args = append(args, "-u", "root")
	}
	switch {
	case s.cfg.Unix:
		args = append(args, "-s", s.addr)
	default:
		port := "-1"
		if s.addr != "" {
			_, port, _ = net.SplitHostPort(s.addr)
		}
		args = append(args, "-l", s.host(), "-p", port, "-U", "0")
	}
	return append(args, s.cfg.Args...)
}

func (s *Server) host() string {
	if s.cfg.Host != "" {
		return s.cfg.Host
	}
	return "127.0.0.1"
}

// awaitAnswer polls until the server answers, ends by itself, or ctx does.
func (s *Server) awaitAnswer(ctx context.Context, proc *process, portFile string) (addr, version string, err error) {
	probe := probeFor(s.cfg.Args)
	err = errors.New("not listening yet")
	for {
		addr = s.addr
		if addr == "" {
			addr = readPort(portFile, s.host())
		}
		if addr != "" {
			if version, err = probe(ctx, s.network, addr); err == nil && proc.running() {
				return addr, version, nil
			}
		}
		if !proc.running() {
			return "", "", fmt.Errorf("it ended by itself (%v)", proc.err)
		}
		if !pause(ctx, pollInterval) {
			return "", "", fmt.Errorf("no answer: %w (%w)", err, context.Cause(ctx))
		}
	}
}

// readPort reads the line "TCP INET: 12345" that memcached leaves once it listens.
func readPort(file, host string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(content), "\n")
	_, port, ok := strings.Cut(line, ": ")
	if !ok {
		return ""
	}
	return net.JoinHostPort(host, strings.TrimSpace(port))
}

// pause waits for d and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func tail(b []byte, n int) string {
	return strings.TrimSpace(string(b[max(0, len(b)-n):]))
}
