package memcachetest

// A proxy in front of any server: latency, bandwidth, the faults of a Server, and a
// recording of what passed.

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// ProxyConfig says what a Proxy is. Its zero value passes everything on at once.
type ProxyConfig struct {
	// Network and Addr are where the proxy listens, as in Config; NetworkPipe is not
	// possible.
	Network string
	Addr    string
	// Latency is added to each direction: every piece that arrives is handed on that
	// much later, in order and by itself.
	Latency time.Duration
	// Bandwidth limits each direction of each connection, in bytes a second; 0 means
	// no limit.
	Bandwidth int
	// SocketBuffer sets the kernel's send and receive buffers on both sides, in bytes;
	// 0 leaves them alone. The kernel has a lower bound of its own.
	SocketBuffer int
	// Record keeps every byte that passes; see Proxy.Recordings.
	Record bool
	// Raw is for streams that are not memcached's, such as TLS: no request or reply is
	// told from another, and a fault takes each piece that arrives for a reply.
	Raw bool
	// MaxConns is as in Config.
	MaxConns int
}

// Proxy stands between clients and a server. All methods are safe for concurrent
// use. It works on sockets, and so not in a testing/synctest bubble.
//
// To act on replies the proxy follows the protocol, text or binary, on each
// connection. A reply that suffers a fault is held until it is whole; all others pass
// as they come. A quiet meta request without opaque and key may be blamed for the
// reply to the request behind it, as nothing tells them apart.
type Proxy struct {
	cfg     ProxyConfig
	network string // of the target
	target  string
	front   front
	speed   linkSpeed
	faults  faultSet

	mu       sync.Mutex
	recorded []*Recording // by number of connection
}

// Recording is what passed on one connection.
type Recording struct {
	Conn int
	// Sent is what the client sent, Received what was sent to it, faults included. In
	// a Recording that Proxy.Recordings returned they are the caller's.
	Sent, Received []byte
}

// StartProxy starts a proxy in front of target, which is a host:port or the path of a
// unix socket, and need not be there yet. It takes at most one ProxyConfig. The
// caller must Close it.
func StartProxy(target string, config ...ProxyConfig) (*Proxy, error) {
	if len(config) > 1 {
		return nil, errors.New("memcachetest: more than one ProxyConfig")
	}
	var cfg ProxyConfig
	if len(config) == 1 {
		cfg = config[0]
	}
	switch cfg.Network {
	case "":
		cfg.Network = "tcp"
	case NetworkPipe:
		return nil, errors.New("memcachetest: a proxy needs a socket")
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = DefaultMaxConns
	}
	p := &Proxy{cfg: cfg, network: "tcp", target: target}
	if strings.HasPrefix(target, "/") {
		p.network = "unix"
	}
	p.SetLatency(cfg.Latency)
	p.SetBandwidth(cfg.Bandwidth)
	p.front.network, p.front.maxPeers = cfg.Network, cfg.MaxConns
	p.front.config.Control = bufferControl(cfg.SocketBuffer)
	p.front.newPeer = func(nc net.Conn, number int) peer { return newRelay(p, nc, number) }
	if err := p.front.open(cfg.Addr); err != nil {
		return nil, err
	}
	return p, nil
}

// NewProxy is StartProxy for tests: it fails the test when the proxy cannot start,
// and closes it when the test ends.
func NewProxy(t testing.TB, target string, config ...ProxyConfig) *Proxy {
	t.Helper()
	p, err := StartProxy(target, config...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// Addr is the address a client dials.
func (p *Proxy) Addr() string { return p.front.addr }

// Network is the network of Addr: "tcp" or "unix".
func (p *Proxy) Network() string { return p.front.kind() }

// SetLatency changes ProxyConfig.Latency, for what arrives from now on and for what
// is on its way.
func (p *Proxy) SetLatency(d time.Duration) { p.speed.latency.Store(int64(d)) }

// SetBandwidth changes ProxyConfig.Bandwidth.
func (p *Proxy) SetBandwidth(bytesPerSecond int) { p.speed.bandwidth.Store(int64(bytesPerSecond)) }

// Inject puts a fault into the replies that pass, as Server.Inject does.
func (p *Proxy) Inject(f Fault) (remove func()) { return p.faults.inject(f) }

// Heal removes all faults. It does not undo Stop, Refuse, Pause or LimitConns.
func (p *Proxy) Heal() { p.faults.heal() }

// Stop closes the listener and all connections: the server is gone, for who looks
// from here.
func (p *Proxy) Stop() { p.front.stop() }

// Restart is Stop and a start at the same address. It fails when the address has been
// taken meanwhile, and on a closed proxy with net.ErrClosed.
func (p *Proxy) Restart() error {
	p.Stop()
	return p.front.refuse(false)
}

// Refuse closes the listener alone, or opens it again, for which it may fail as
// Restart does.
func (p *Proxy) Refuse(on bool) error { return p.front.refuse(on) }

// Pause accepts connections and hands nothing on, in either direction, until Resume.
func (p *Proxy) Pause() { p.front.pause() }

// Resume ends a Pause, and hands on what came meanwhile.
func (p *Proxy) Resume() { p.front.resume() }

// LimitConns changes ProxyConfig.MaxConns, as Server.LimitConns does.
func (p *Proxy) LimitConns(n int) { p.front.limit(n) }

// Accepted returns how many connections were accepted since the start.
func (p *Proxy) Accepted() int {
	p.front.mu.Lock()
	defer p.front.mu.Unlock()
	return p.front.last
}

// Close closes the listener and every connection, and waits until all goroutines of
// the proxy have returned. The error is always nil.
func (p *Proxy) Close() error {
	p.front.close()
	return nil
}

// Recordings returns what passed so far, by connection, if ProxyConfig.Record is set.
func (p *Proxy) Recordings() []Recording {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Recording, len(p.recorded))
	for i, r := range p.recorded {
		all[i] = Recording{r.Conn, append([]byte(nil), r.Sent...), append([]byte(nil), r.Received...)}
	}
	return all
}

// tape returns where a connection is recorded, or nil.
func (p *Proxy) tape(conn int) *Recording {
	if !p.cfg.Record {
		return nil
	}
	r := &Recording{Conn: conn}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorded = append(p.recorded, r)
	return r
}
