package memcachetest

// A server's life: configuration, listener, connections, close.

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Defaults of Config, which are memcached's own.
const (
	DefaultVersion     = "1.6.45"
	DefaultMaxItemSize = 1 << 20  // bytes, the item header included
	DefaultMemoryLimit = 64 << 20 // bytes
	DefaultMaxConns    = 1024
)

// NetworkPipe is the Config.Network of a server without a listener. Connections
// to it come from Dial and ServeConn and live in memory, so that such a server
// works inside a testing/synctest bubble.
const NetworkPipe = "pipe"

// Config says what a Server is. Its zero value is a memcached 1.6.45 with default
// options on a free TCP port of 127.0.0.1.
type Config struct {
	// Network is "tcp", "tcp4", "tcp6", "unix" or NetworkPipe. Empty means "tcp".
	Network string
	// Addr is the address to listen on. Empty means a free port of the loopback
	// address, or, for "unix", a socket in a fresh temporary directory, which
	// Close removes.
	Addr string
	// TLS, when not nil, is the configuration of a server that speaks TLS only.
	TLS *tls.Config
	// Version is the memcached whose answers are given, DefaultVersion when empty.
	// "1.6.18" gives that version's answers where they differ; any other text
	// changes only what the version command says.
	Version string
	// MaxItemSize is the largest item in bytes, counted as memcached counts: key,
	// value and about 60 bytes more. 0 means DefaultMaxItemSize.
	MaxItemSize int
	// MemoryLimit is the sum of item sizes in bytes above which the least recently
	// used items are evicted. 0 means DefaultMemoryLimit.
	MemoryLimit int64
	// DisableEvictions makes a store fail with SERVER_ERROR out of memory instead
	// of evicting, as memcached -M does.
	DisableEvictions bool
	// DisableCAS makes every CAS 0, as memcached -C does.
	DisableCAS bool
	// MaxConns is the number of connections served at once; the ones above it get
	// "ERROR Too many open connections" and a close. 0 means DefaultMaxConns.
	MaxConns int
	// Users, when not nil, are names and passwords of which a client must send one
	// pair before anything else, by a set command: memcached -Y. The binary protocol
	// is not served then.
	Users map[string]string
	// SASLUsers, when not nil, are names and passwords of which a client must send
	// one pair by SASL PLAIN: memcached -S. Only the binary protocol is served then.
	SASLUsers map[string]string
}

func (cfg Config) withDefaults() Config {
	if cfg.Network == "" {
		cfg.Network = "tcp"
	}
	if cfg.Version == "" {
		cfg.Version = DefaultVersion
	}
	if cfg.MaxItemSize == 0 {
		cfg.MaxItemSize = DefaultMaxItemSize
	}
	if cfg.MemoryLimit == 0 {
		cfg.MemoryLimit = DefaultMemoryLimit
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = DefaultMaxConns
	}
	return cfg
}

// Server is one embedded memcached. All methods are safe for concurrent use.
type Server struct {
	cfg      Config
	old      bool // answers as 1.6.18
	clock    *clock
	store    *store
	listener net.Listener // nil for NetworkPipe
	addr     string
	tempDir  string // removed by Close
	traffic  traffic

	wg sync.WaitGroup // the accept loop and every connection

	mu       sync.Mutex
	conns    map[*conn]struct{}
	lastConn int
	closed   bool
}

// traffic counts what passes outside the store's lock.
type traffic struct {
	accepted, rejected atomic.Int64
	read, written      atomic.Int64 // bytes
}

// pipeAddrs numbers the servers without a listener, so that each has an address
// of its own (in 192.0.2.0/24, which no host on earth has).
var pipeAddrs atomic.Int64

// Start starts a server. It takes at most one Config; without one the server has
// the zero Config. The caller must Close it.
func Start(config ...Config) (*Server, error) {
	if len(config) > 1 {
		return nil, errors.New("memcachetest: more than one Config")
	}
	var cfg Config
	if len(config) == 1 {
		cfg = config[0]
	}
	cfg = cfg.withDefaults()
	s := &Server{
		cfg:   cfg,
		old:   cfg.Version == "1.6.18",
		clock: newClock(),
		conns: map[*conn]struct{}{},
	}
	s.store = newStore(s.clock, cfg, s.old)
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// NewServer is Start for tests: it fails the test when the server cannot start,
// and closes the server when the test ends.
func NewServer(t testing.TB, config ...Config) *Server {
	t.Helper()
	s, err := Start(config...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *Server) listen() error {
	network, addr := s.cfg.Network, s.cfg.Addr
	switch {
	case network == NetworkPipe:
		if addr == "" {
			addr = fmt.Sprintf("192.0.2.%d:11211", pipeAddrs.Add(1)%254+1)
		}
		s.addr = addr
		return nil
	case network == "unix" && addr == "":
		dir, err := os.MkdirTemp("", "memcachetest")
		if err != nil {
			return fmt.Errorf("memcachetest: %w", err)
		}
		s.tempDir = dir
		addr = filepath.Join(dir, "sock")
	case network == "tcp6" && addr == "":
		addr = "[::1]:0"
	case addr == "":
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		s.removeTempDir()
		return fmt.Errorf("memcachetest: %w", err)
	}
	s.listener, s.addr = ln, ln.Addr().String()
	s.wg.Go(s.accept)
	return nil
}

func (s *Server) removeTempDir() {
	if s.tempDir != "" {
		os.RemoveAll(s.tempDir)
	}
}

// Addr is the address a client dials: host:port, or the path of a unix socket.
// A server without a listener has an address too, by which Dial knows it.
func (s *Server) Addr() string { return s.addr }

// Network is the network of Addr: "tcp", "unix" or NetworkPipe.
func (s *Server) Network() string {
	if s.listener == nil {
		return NetworkPipe
	}
	return s.listener.Addr().Network()
}

// accept serves what the listener brings until Close.
func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			return
		}
		if s.cfg.TLS != nil {
			nc = tls.Server(nc, s.cfg.TLS)
		}
		c := s.admit(nc)
		if c != nil {
			s.wg.Go(c.serve)
		}
	}
}

// admit makes nc one of the server's connections, or closes it and returns nil.
func (s *Server) admit(nc net.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return nil
	}
	if len(s.conns) >= s.cfg.MaxConns {
		s.traffic.rejected.Add(1)
		s.wg.Go(func() {
			nc.Write([]byte("ERROR Too many open connections\r\n"))
			nc.Close()
		})
		return nil
	}
	s.traffic.accepted.Add(1)
	s.lastConn++
	c := newConn(s, nc, s.lastConn)
	s.conns[c] = struct{}{}
	return c
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// ServeConn serves one connection, such as the far end of a net.Pipe, and returns
// when it is over. It closes nc. On a closed server it only does that.
func (s *Server) ServeConn(nc net.Conn) {
	c := s.admit(nc)
	if c != nil {
		c.serve()
	}
}

// Close stops the server: it closes the listener and every connection, waits
// until all of its goroutines have returned, and removes the socket it made. A
// second Close does nothing. The error is always nil.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.listener != nil {
		s.listener.Close()
	}
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.removeTempDir()
	return nil
}

// portOf is the port of a host:port address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
