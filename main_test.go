package memcache_test

// What the tests of the client share: servers of several kinds, and looks at
// them past the client.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/fakeserver"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachServer runs f in each protocol on an embedded server and on a real one of
// each version that this machine has.
func eachServer(t *testing.T, f func(t *testing.T, address string)) {
	eachFleet(t, 1, func(t *testing.T, addresses []string) { f(t, addresses[0]) })
}

// eachFleet is eachServer with n servers of one kind.
func eachFleet(t *testing.T, n int, f func(t *testing.T, addresses []string)) {
	t.Run("embedded", func(t *testing.T) {
		eachProtocol(t, embedded(t, n), f)
	})
	t.Run("memcached", func(t *testing.T) {
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			addresses := make([]string, n)
			for i := range addresses {
				addresses[i] = realserver.Start(t, realserver.Config{Version: b.Version}).Addr()
			}
			eachProtocol(t, addresses, f)
		})
	})
}

// protocol is what newClient sets.
var protocol memcache.Protocol

// eachProtocol runs f in each protocol on the same servers, empty each time.
func eachProtocol(t *testing.T, addresses []string, f func(t *testing.T, addresses []string)) {
	defer func() { protocol = memcache.Auto }()
	for name, p := range map[string]memcache.Protocol{
		"auto": memcache.Auto, "meta": memcache.Meta, "classic": memcache.Classic, "binary": memcache.Binary,
	} {
		for _, address := range addresses {
			require.Equal(t, "OK", raw(t, address, "flush_all"))
		}
		protocol = p
		t.Run(name, func(t *testing.T) { f(t, slices.Clone(addresses)) })
	}
}

// newClient returns a client of servers, closed at the end of the test.
func newClient(t testing.TB, servers ...string) *memcache.Client {
	c := memcache.New(servers...)
	c.Protocol = protocol
	c.Timeout = patience
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// metaClient is newClient that does not ask which protocol is spoken: a
// fakeServer speaks meta, and on a busy machine would say so too late.
func metaClient(t testing.TB, servers ...string) *memcache.Client {
	c := newClient(t, servers...)
	c.Protocol = memcache.Meta
	return c
}

// neverDown lets c try each call, whatever became of those before.
func neverDown(c *memcache.Client) {
	c.Failover.HardFailures, c.Failover.SoftFailures = -1, -1
}

const (
	// patience is longer than any healthy server of a busy machine takes.
	patience = 60 * time.Second

	// fast is how long a call may take that must not wait for that.
	fast = patience / 2
)

// embedded returns the addresses of n embedded servers.
func embedded(t testing.TB, n int) []string {
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = memcachetest.NewServer(t).Addr()
	}
	return addresses
}

// deadAddress returns an address where nobody listens.
func deadAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// fakeServer is fakeserver.Start for a script that reads requests.
func fakeServer(t testing.TB, serve func(c *fakeConn)) (address string) {
	return fakeserver.Start(t, func(nc *net.TCPConn) {
		serve(&fakeConn{Conn: nc, r: bufio.NewReader(nc)})
	})
}

// fakeConn is a connection of a fakeServer.
type fakeConn struct {
	net.Conn
	r     *bufio.Reader
	asked bool // for the version, by next
}

// next reads a request, the value of a store included, and returns its words;
// nil at the end. It answers the questions by which a client finds out that it
// may speak meta.
func (c *fakeConn) next() []string {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return nil
	}
	words := strings.Fields(line)
	switch {
	case words[0] == "version" && !c.asked:
		c.asked = true
		io.WriteString(c, "VERSION 1.6.45\r\n")
		return c.next()
	case words[0] == "mn":
		io.WriteString(c, "MN\r\n")
		return c.next()
	case words[0] == "ms":
		var size int
		fmt.Sscan(words[2], &size)
		if _, err := io.CopyN(io.Discard, c.r, int64(size)+2); err != nil {
			return nil
		}
	}
	return words
}

// opaque returns the tag by which the client knows the reply to a request.
func opaque(words []string) string {
	for _, w := range words[2:] {
		if w[0] == 'O' {
			return w
		}
	}
	return ""
}

// replying is a fakeServer for a metaClient that answers each request by the
// line that reply makes of it.
func replying(t testing.TB, reply func(words []string) string) (address string) {
	return fakeServer(t, func(c *fakeConn) {
		c.asked = true
		for words := c.next(); words != nil; words = c.next() {
			io.WriteString(c, reply(words)+"\r\n")
		}
	})
}

// raw sends request to a server past the client and returns the first line of
// the answer.
func raw(t testing.TB, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, request+"\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\r\n")
}

// countDials lets c count the connections it makes.
func countDials(c *memcache.Client) *atomic.Int64 {
	n := new(atomic.Int64)
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		n.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return n
}

// wantDials expects that c has made n connections. To one of them a server of a
// busy machine may have been too late to say which protocol it speaks: then the
// client made another in its place.
func wantDials(t testing.TB, c *memcache.Client, n int64, dials *atomic.Int64) {
	t.Helper()
	most := n
	if c.Protocol == memcache.Auto {
		most = 2 * n
	}
	assert.GreaterOrEqual(t, dials.Load(), n)
	assert.LessOrEqual(t, dials.Load(), most)
}

// operations are all that take a key, each as a call that returns its error.
var operations = map[string]func(c *memcache.Client, key string, value []byte) error{
	"Get":         func(c *memcache.Client, key string, _ []byte) error { _, err := c.Get(key); return err },
	"GetAndTouch": func(c *memcache.Client, key string, _ []byte) error { _, err := c.GetAndTouch(key, 60); return err },
	"GetMulti":    func(c *memcache.Client, key string, _ []byte) error { _, err := c.GetMulti([]string{key}); return err },
	"Touch":       func(c *memcache.Client, key string, _ []byte) error { return c.Touch(key, 60) },
	"Delete":      func(c *memcache.Client, key string, _ []byte) error { return c.Delete(key) },
	"Increment":   func(c *memcache.Client, key string, _ []byte) error { _, err := c.Increment(key, 1); return err },
	"Decrement":   func(c *memcache.Client, key string, _ []byte) error { _, err := c.Decrement(key, 1); return err },
	"Set":         storing((*memcache.Client).Set),
	"Add":         storing((*memcache.Client).Add),
	"Replace":     storing((*memcache.Client).Replace),
	"Append":      storing((*memcache.Client).Append),
	"Prepend":     storing((*memcache.Client).Prepend),
	"CompareAndSwap": storing(func(c *memcache.Client, item *memcache.Item) error {
		item.CasID = 1
		return c.CompareAndSwap(item)
	}),
}

func storing(store func(*memcache.Client, *memcache.Item) error) func(*memcache.Client, string, []byte) error {
	return func(c *memcache.Client, key string, value []byte) error {
		return store(c, &memcache.Item{Key: key, Value: value})
	}
}

// stores are the operations that take an Item.
var stores = map[string]func(*memcache.Client, *memcache.Item) error{
	"Set":            (*memcache.Client).Set,
	"Add":            (*memcache.Client).Add,
	"Replace":        (*memcache.Client).Replace,
	"Append":         (*memcache.Client).Append,
	"Prepend":        (*memcache.Client).Prepend,
	"CompareAndSwap": (*memcache.Client).CompareAndSwap,
}

func mustSet(t testing.TB, c *memcache.Client, key, value string) {
	t.Helper()
	require.NoError(t, c.Set(&memcache.Item{Key: key, Value: []byte(value)}))
}

func mustGet(t testing.TB, c *memcache.Client, key string) *memcache.Item {
	t.Helper()
	item, err := c.Get(key)
	require.NoError(t, err)
	return item
}

// isTimeout reports whether err is itself a net.Error that says that time ran
// out, as callers ask without errors.As.
func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

var errTest = errors.New("an error of the test")
