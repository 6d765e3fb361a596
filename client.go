package memcache

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

const (
	// DefaultTimeout is the bound on time without progress when Client.Timeout
	// is not set.
	DefaultTimeout = 500 * time.Millisecond

	// DefaultMaxIdleConns is there for programs that name it: it is the bound
	// on the connections that gomemcache keeps.
	DefaultMaxIdleConns = 2
)

// Client is a memcached client. It is safe for concurrent use by any number of
// goroutines, and meant to be shared by them. A Client must not be copied, and
// the zero Client is not usable: see New and NewFromSelector.
//
// Its fields are read without a lock: set them before the first call, or while
// there is none.
//
// Each operation has a form with Context in its name, which takes one. A call
// whose context ends returns at once, with an *OpError that wraps the context's
// error, and its reply is thrown away when it comes: others on the connection
// notice nothing. An *OpError with OutcomeUnknown says that the operation may
// have been carried out all the same; nothing is sent for a context that has
// ended before. Whatever the context says, Timeout bounds the time without
// progress.
type Client struct {
	// DialContext connects to a server. The address is an "ip:port" for network
	// "tcp", looked up by the client beforehand, or a path for network "unix";
	// an address from the ServerSelector of another package comes as it is.
	// nil means a net.Dialer.
	//
	// It is called by one goroutine at a time for each server, with a context
	// that ends after Timeout or on Close. It may return a *tls.Conn; since the
	// address has no name, TLS is the simpler way.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Timeout bounds the time in which a connection makes no progress, where a
	// complete reply or 64 KiB of a value is progress, and the time to connect.
	// 0 or less means DefaultTimeout.
	Timeout time.Duration

	// MaxConns is how many connections share the calls to one server. One is
	// best or equal for speed: each further one halves the batches in which
	// requests travel. More keep calls apart from the large values of others:
	// a call goes by a connection that is not in the middle of one, if there is.
	// 0 or less means 1.
	MaxConns int

	// MaxIdleConns bounds how many connections are kept to one server: when
	// set, MaxConns is no more than this. It never raises their number.
	MaxIdleConns int

	// Conn says more about connections.
	Conn ConnSettings

	// TLS, if not nil, is how connections are made private: those of DialContext
	// too, unless they are a *tls.Conn. The Config is never changed, and all in
	// it means what crypto/tls says. Its callbacks are asked at each new
	// connection, which is how certificates are replaced while the client runs.
	//
	// An empty ServerName means that the certificate of each server must be for
	// the host in its address, as it was given and not as it resolves; the path
	// of a unix socket has none, so there ServerName must be set. Sessions are
	// resumed if there is a ClientSessionCache.
	//
	// A handshake that fails is an *OpError that wraps what crypto/tls says, such
	// as a *tls.CertificateVerificationError.
	TLS *tls.Config

	// Auth is who the client says it is. The zero value says nothing.
	Auth Auth

	// Protocol says how servers are spoken to; later changes reach only servers
	// that have not been used. The zero value, Auto, asks each connection when
	// it is made.
	Protocol Protocol

	// Keys says which keys are taken and how they are sent, a namespace among
	// it. It must not change while a call is under way.
	Keys KeySettings

	// Failover says when a server is taken to be down, and what becomes of its
	// calls then.
	Failover FailoverSettings

	// Hooks observe the client; nil costs nothing. They must not change while a
	// call is under way.
	Hooks *Hooks

	selector ServerSelector
	activity link.Activity
	base     time.Time // from which clock counts

	background background

	view atomic.Pointer[view] // of one of our own selectors

	mu      sync.RWMutex
	servers map[serverName]*server // guarded by mu
	healths map[string]*health     // by identity; guarded by mu
	slots   *atomic.Int64          // of all servers there have been, those of spare among them
	spare   *Client                // of the servers of FailoverSettings.Gutter, once used; guarded by mu
}

// New returns a Client that spreads keys over the given servers as gomemcache
// does: CRC-32 modulo the length of the list. A server listed twice gets twice
// the keys. An address is "host:port" or, if it holds a slash, the path of a
// unix socket.
//
// New never fails and resolves nothing. Host names are looked up each time the
// client connects; one that does not resolve, and an address that makes no
// sense, fail the calls for their own keys only. ServerList.SetServers checks
// them all first.
func New(server ...string) *Client {
	addrs := make([]*serverAddr, len(server))
	for i, address := range server {
		addrs[i] = newServerAddr(address)
	}
	list := new(ServerList)
	list.set(addrs) // in whose place any error leaves an empty list: ErrNoServers
	return NewFromSelector(list)
}

// NewFromSelector returns a Client that asks ss for the server of each key: a
// Continuum, a ServerList that is kept at hand to change it, or a selector of
// another package.
func NewFromSelector(ss ServerSelector) *Client {
	return &Client{selector: ss, base: time.Now(), slots: new(atomic.Int64)}
}

// Close closes the connections of the client. Calls under way fail with an
// *OpError, where those of gomemcache go on. Close returns when nothing of the
// client runs any more, not even a dial. It waits for changes that are under way,
// for Timeout at the most, or twice that under TLS. If a server does not answer
// them in that time, their connection stays half open, until the client has been
// used again and found its end, or is garbage: until then deletes of their keys
// fail with ErrInvalidationPending, as before Close. The client may be used
// again, and closed again. The error is nil.
func (c *Client) Close() error {
	c.background.stop()
	defer c.background.allow()
	c.mu.Lock()
	spare := c.spare
	var links []*link.Link
	for _, s := range c.servers {
		links = append(links, s.link)
	}
	for _, h := range c.healths { // some have others, or have left the list
		links = append(links, h.linksLocked()...)
	}
	c.mu.Unlock()
	var closing sync.WaitGroup
	for _, l := range links {
		closing.Go(func() { l.Close() })
	}
	if spare != nil {
		spare.Close()
	}
	closing.Wait()
	return nil
}
