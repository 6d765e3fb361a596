package memcache_test

// The life of a client and of its connections.

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

func TestUnixSocket(t *testing.T) {
	use := func(t *testing.T, address string) {
		c := newClient(t, address)
		keys := fill(t, c, 30, 100_000)
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		requireStamped(t, items, keys, 100_000)
		require.NoError(t, c.Ping())
	}
	t.Run("embedded", func(t *testing.T) {
		use(t, memcachetest.NewServer(t, memcachetest.Config{Network: "unix"}).Addr())
	})
	t.Run("memcached", func(t *testing.T) {
		use(t, realserver.Start(t, realserver.Config{Unix: true}).Addr())
	})
}

func TestZeroClientPanics(t *testing.T) {
	c := new(memcache.Client)
	assert.Panics(t, func() { c.Get("key") })
	assert.Panics(t, func() { c.Ping() })
	assert.NoError(t, c.Close())
}

// A program's check for leaked goroutines passes without Close, before and after
// the first call.
func TestNoGoroutineRunsAtRest(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	servers := make([]*memcachetest.Server, 3)
	addresses := make([]string, 3)
	for i := range servers {
		var err error
		servers[i], err = memcachetest.Start()
		require.NoError(t, err)
		addresses[i] = servers[i].Addr()
	}
	c := memcache.New(addresses...)
	c.Timeout = fast
	keys := fill(t, c, 100, 1000)
	_, err := c.GetMulti(keys)
	require.NoError(t, err)
	require.NoError(t, c.Ping())
	for _, s := range servers {
		s.Close()
	}
	goleak.VerifyNone(t, ignore)
}

func TestNewDoesNothing(t *testing.T) {
	connected := make(chan struct{}, 1)
	address := fakeServer(t, func(*fakeConn) { connected <- struct{}{} })
	ignore := goleak.IgnoreCurrent()
	c := memcache.New(address)
	dials := countDials(c)
	goleak.VerifyNone(t, ignore)
	require.NoError(t, c.Close())
	assert.Empty(t, connected)
	assert.Zero(t, dials.Load())
}

// Whatever an operation comes to, its connection serves the next one.
func TestOutcomesKeepTheConnection(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		dials := countDials(c)
		mustSet(t, c, "word", "word")
		for _, key := range []string{"absent", "word", "not legal", ""} {
			for name, do := range operations {
				do(c, key, []byte("value"))
				require.NoError(t, c.Ping(), "%s of %q", name, key)
			}
		}
		wantDials(t, c, 1, dials)
	})
}

// The reply to a call that was given up goes to nobody.
func TestLateReplyReachesNobody(t *testing.T) {
	release := make(chan struct{})
	address := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			if words[1] == "slow" {
				<-release
			}
			io.WriteString(c, "VA 1 f0 c1 "+opaque(words)+"\r\n"+words[1][:1]+"\r\n")
		}
	})
	c := metaClient(t, address)
	c.Timeout = 200 * time.Millisecond
	_, err := c.Get("slow")
	require.True(t, isTimeout(err), "%v", err)
	c.Timeout = fast
	assert.Equal(t, "a", string(mustGet(t, c, "a").Value))
	close(release)
	for _, key := range []string{"b", "c", "slow", "d"} {
		assert.Equal(t, key[:1], string(mustGet(t, c, key).Value))
	}
}

func TestClosedClientMayBeUsed(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		dials := countDials(c)
		require.NoError(t, c.Close(), "before any use")
		mustSet(t, c, "key", "v")
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		assert.Equal(t, "v", string(mustGet(t, c, "key").Value))
		require.NoError(t, c.Close())
		require.NoError(t, c.FlushAll())
		_, err := c.Get("key")
		assert.Equal(t, memcache.ErrCacheMiss, err)
		wantDials(t, c, 3, dials)
	})
}

func TestCloseEndsTheConnections(t *testing.T) {
	ended := make(chan struct{})
	address := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			io.WriteString(c, "EN "+opaque(words)+"\r\n")
		}
		close(ended)
	})
	c := metaClient(t, address)
	_, err := c.Get("key")
	require.Equal(t, memcache.ErrCacheMiss, err)
	require.NoError(t, c.Close())
	select {
	case <-ended:
	case <-time.After(fast):
		t.Error("the connection is still open")
	}
}

func TestCloseFailsTheCallsUnderWay(t *testing.T) {
	waiting := make(chan struct{}, 2)
	address := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			waiting <- struct{}{}
		}
	})
	c := metaClient(t, address)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			_, err := c.Get("key")
			var failed *memcache.OpError
			if assert.ErrorAs(t, err, &failed) {
				assert.Equal(t, address, failed.Server)
				assert.False(t, failed.Timeout())
			}
		})
	}
	<-waiting
	<-waiting
	start := time.Now()
	require.NoError(t, c.Close())
	wg.Wait()
	assert.Less(t, time.Since(start), fast)
}

func TestTimeoutDefaultsForUselessValues(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	for _, timeout := range []time.Duration{0, -time.Second} {
		c := newClient(t, silent)
		c.Timeout = timeout
		c.Protocol = memcache.Meta
		start := time.Now()
		_, err := c.Get("key")
		assert.True(t, isTimeout(err), "%v", err)
		assert.GreaterOrEqual(t, time.Since(start), memcache.DefaultTimeout)
		assert.Less(t, time.Since(start), fast)
	}
}

func TestMaxIdleConnsRaisesNothing(t *testing.T) {
	address := embedded(t, 1)[0]
	for _, n := range []int{-1, 0, 1, 2, 100} {
		c := newClient(t, address)
		c.MaxIdleConns = n
		dials := countDials(c)
		fill(t, c, 200, 10)
		wantDials(t, c, 1, dials)
	}
}

func TestClientsMayShareASelector(t *testing.T) {
	l := list(t, embedded(t, 2)...)
	a, b := memcache.NewFromSelector(l), memcache.NewFromSelector(l)
	a.Timeout, b.Timeout = fast, fast
	defer a.Close()
	defer b.Close()
	dialsA, dialsB := countDials(a), countDials(b)
	for i := range 20 {
		key := fmt.Sprint("key", i)
		mustSet(t, a, key, key)
		assert.Equal(t, key, string(mustGet(t, b, key).Value))
	}
	wantDials(t, a, 2, dialsA)
	wantDials(t, b, 2, dialsB)
}

// dialed is what a custom dialer was asked for.
type dialed struct{ network, address string }

func TestDialContextGetsResolvedAddresses(t *testing.T) {
	address := embedded(t, 1)[0]
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	socket := filepath.Join(t.TempDir(), "memcached.sock")
	tests := map[string]struct {
		selector memcache.ServerSelector
		want     dialed
	}{
		"number":  {list(t, address), dialed{"tcp", address}},
		"name":    {list(t, "localhost:"+port), dialed{"tcp", address}},
		"service": {list(t, "127.0.0.1:http"), dialed{"tcp", "127.0.0.1:80"}},
		"IPv6":    {list(t, "[::1]:11211"), dialed{"tcp", "[::1]:11211"}},
		"no host": {list(t, ":11211"), dialed{"tcp", ":11211"}},
		"socket":  {list(t, socket), dialed{"unix", socket}},
		// Such an address may be a name that only the dialer knows.
		"foreign": {&foreignSelector{pick: func(string) (net.Addr, error) { return tcpAddr("cache-1"), nil }}, dialed{"tcp", "cache-1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := memcache.NewFromSelector(tt.selector)
			c.Timeout = fast
			defer c.Close()
			var got []dialed
			c.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
				got = append(got, dialed{network, to})
				deadline, ok := ctx.Deadline()
				assert.True(t, ok)
				assert.LessOrEqual(t, time.Until(deadline), fast)
				return new(net.Dialer).DialContext(ctx, "tcp", address)
			}
			mustSet(t, c, "key", "v")
			assert.Equal(t, []dialed{tt.want}, got)
		})
	}
	t.Run("New", func(t *testing.T) {
		c := newClient(t, "localhost:"+port)
		var got []dialed
		c.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
			got = append(got, dialed{network, to})
			return new(net.Dialer).DialContext(ctx, network, to)
		}
		mustSet(t, c, "key", "v")
		assert.Contains(t, got, dialed{"tcp", address})
	})
}

// In-memory connections have no file descriptor, and a write on them blocks
// until it is read.
func TestDialContextOverPipes(t *testing.T) {
	s := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
	c := newClient(t, s.Addr())
	c.DialContext = s.Dial
	keys := fill(t, c, 500, 1000)
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	requireStamped(t, items, keys, 1000)
}

// A dialer that does not heed its context holds up nobody for longer than
// Timeout.
func TestDialContextThatHangs(t *testing.T) {
	release := make(chan struct{})
	c := memcache.New("192.0.2.1:11211")
	c.Timeout = 50 * time.Millisecond
	c.DialContext = func(context.Context, string, string) (net.Conn, error) {
		<-release
		return nil, errTest
	}
	start := time.Now()
	for range 3 {
		_, err := c.Get("key")
		assert.True(t, isTimeout(err), "%v", err)
	}
	assert.Less(t, time.Since(start), fast)
	close(release)
	require.NoError(t, c.Close())
}
