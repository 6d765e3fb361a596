package memcachetest

// A server's life: configuration, listener, connections, close.

import (
	"crypto/tls"
	"errors"
	"net"
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
	// Personality limits what the server knows; see also SetPersonality.
	Personality Personality
	// LogSize is the number of requests that Requests returns at most. 0 means
	// DefaultLogSize, negative means none.
	LogSize int
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
	if cfg.LogSize == 0 {
		cfg.LogSize = DefaultLogSize
	}
	return cfg
}

// Server is one embedded memcached. All methods are safe for concurrent use.
type Server struct {
	cfg     Config
	old     bool // answers as 1.6.18
	clock   *clock
	store   *store
	front   front
	traffic traffic
	log     requestLog
	faults  faultSet

	personality atomic.Pointer[Personality]
}

// traffic counts what passes outside the store's lock.
type traffic struct {
	read, written atomic.Int64 // bytes
}

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
		log:   requestLog{size: cfg.LogSize, counts: map[string]int{}},
	}
	s.store = newStore(s.clock, cfg, s.old)
	s.SetPersonality(cfg.Personality)
	s.front.network, s.front.tls, s.front.maxPeers = cfg.Network, cfg.TLS, cfg.MaxConns
	s.front.newPeer = func(nc net.Conn, number int) peer { return newConn(s, nc, number) }
	if err := s.front.open(cfg.Addr); err != nil {
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

// Addr is the address a client dials: host:port, or the path of a unix socket.
// A server without a listener has an address too, by which Servers.Dial knows it.
func (s *Server) Addr() string { return s.front.addr }

// Network is the network of Addr: "tcp", "unix" or NetworkPipe.
func (s *Server) Network() string { return s.front.kind() }

// ServeConn serves one connection, such as the far end of a net.Pipe, and returns
// when it is over. It closes nc. On a server that is closed or stopped it only does
// that.
func (s *Server) ServeConn(nc net.Conn) {
	if p := s.front.admit(nc); p != nil {
		s.front.serve(p)
	}
}

// Close stops the server: it closes the listener and every connection, waits
// until all of its goroutines have returned, and removes the socket it made. A
// second Close does nothing. The error is always nil.
func (s *Server) Close() error {
	s.front.close()
	return nil
}

// portOf is the port of a host:port address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
