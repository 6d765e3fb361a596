package memcache_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// The bound is on time without progress, so a long reply may take longer.
func TestGetMultiOutlastsTheTimeoutWhileItemsArrive(t *testing.T) {
	const pause = 50 * time.Millisecond
	address := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			time.Sleep(pause)
			io.WriteString(c, "VA 1 f0 c1 "+opaque(words)+"\r\n"+words[1]+"\r\n")
		}
	})
	c := metaClient(t, address)
	c.Timeout = 8 * pause
	keys := strings.Split("abcdefghijkl", "")
	start := time.Now()
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	assert.Len(t, items, len(keys))
	assert.Greater(t, time.Since(start), c.Timeout)
}

func TestTimeoutIsReadAtEachUse(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			if words[1] != "silent" {
				io.WriteString(c, "EN "+opaque(words)+"\r\n")
			}
		}
	})
	c := metaClient(t, silent)
	_, err := c.Get("key")
	require.Equal(t, memcache.ErrCacheMiss, err)
	c.Timeout = 20 * time.Millisecond
	start := time.Now()
	_, err = c.Get("silent")
	assert.True(t, isTimeout(err), "%v", err)
	assert.Less(t, time.Since(start), fast)
}

// A dial that Close has ended is no failure of the server: the next call does
// not wait for it to be forgotten.
func TestCloseDuringADialIsNoFailureOfTheServer(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	dialing := make(chan struct{})
	first := true
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if first {
			first = false
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	failed := make(chan error)
	go func() {
		_, err := c.Get("key")
		failed <- err
	}()
	<-dialing
	require.NoError(t, c.Close())
	err := <-failed
	var op *memcache.OpError
	require.ErrorAs(t, err, &op)
	assert.False(t, op.Timeout())
	assert.NotErrorIs(t, err, context.Canceled, "no context of the caller ended")
	assert.NoError(t, c.Ping())
}

// While the client is closed again and again, calls fail or answer right.
func TestCloseUnderLoad(t *testing.T) {
	c := newClient(t, embedded(t, 4)...)
	keys := fill(t, c, 50, 500)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for id := range callers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				key := keys[id%len(keys)]
				item, err := c.Get(key)
				if err == nil {
					requireOwn(t, key, item)
				} else {
					requireClosed(t, err)
				}
				items, err := c.GetMulti(keys)
				for key, item := range items {
					requireOwn(t, key, item)
				}
				if err == nil {
					assert.Len(t, items, len(keys))
				} else {
					requireClosed(t, err)
				}
			}
		})
	}
	for range 50 {
		assert.NoError(t, c.Close())
		time.Sleep(time.Millisecond)
	}
	close(stop)
	wg.Wait()
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	requireStamped(t, items, keys, 500)
}

func requireClosed(t *testing.T, err error) {
	var failed *memcache.OpError
	assert.True(t, errors.As(err, &failed), "%v", err)
	assert.NotErrorIs(t, err, memcache.ErrCacheMiss)
}

// A test of a program may run a client inside a bubble of testing/synctest and
// others outside: nothing of one may show up in the other.
func TestClientInsideAndOutsideABubble(t *testing.T) {
	use := func(t *testing.T) {
		s, err := memcachetest.Start(memcachetest.Config{Network: memcachetest.NetworkPipe})
		require.NoError(t, err)
		defer s.Close()
		c := memcache.New(s.Addr())
		c.DialContext, c.Timeout = s.Dial, time.Minute // of a machine that does other things as well
		defer c.Close()
		keys := fill(t, c, 2000, 100)
		items, err := c.GetMulti(keys)
		assert.NoError(t, err)
		requireStamped(t, items, keys, 100)
	}
	use(t)
	for range 3 {
		synctest.Test(t, use)
		use(t)
	}
}

// With TLS, memcached up to 1.6.38 forgets what OpenSSL has decrypted and it has
// not taken: when a value ends inside a record, the requests behind it in that
// record wait until more bytes arrive.
func TestTLSWithManyStoresAtOnce(t *testing.T) {
	a := newAuthority(t)
	eachTLSServer(t, serverTLS{cert: a.mustSign(t, tlsServerName)}, func(t *testing.T, address string) {
		c := newClient(t, address)
		c.TLS = a.expects(tlsServerName)
		c.Timeout = 2 * time.Second
		for range 20 {
			keys := fill(t, c, 300, 2000)
			if t.Failed() {
				return
			}
			items, err := c.GetMulti(keys)
			require.NoError(t, err)
			requireStamped(t, items, keys, 2000)
		}
	})
}
