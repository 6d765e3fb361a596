package memcache_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

func TestMaxConns(t *testing.T) {
	address := embedded(t, 1)[0]
	for _, row := range []struct{ maxConns, maxIdle, want int }{{0, 0, 1}, {3, 0, 3}, {3, 2, 2}, {0, 5, 1}} {
		c := metaClient(t, address)
		c.MaxConns, c.MaxIdleConns = row.maxConns, row.maxIdle
		dials := countDials(c)
		get := func() {
			_, err := c.Get("key")
			require.Equal(t, memcache.ErrCacheMiss, err)
		}
		// All but the first are made beside the calls, which do not wait for them.
		for start := time.Now(); dials.Load() < int64(row.want) && time.Since(start) < fast; {
			get()
		}
		for range 20 {
			get()
		}
		assert.EqualValues(t, row.want, dials.Load(), "%+v", row)
	}
}

func TestSettingsOfSockets(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	c.Conn = memcache.ConnSettings{KeepAlive: time.Second, UserTimeout: time.Second, ReadBuffer: 4096, WriteBuffer: 4096}
	require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: make([]byte, 500_000)}))
	it, err := c.Get("key")
	require.NoError(t, err)
	assert.Len(t, it.Value, 500_000)
}

// The connections to a server that is no longer in the list end once their
// calls have; no call fails by it.
func TestRemovedServersAreLetGo(t *testing.T) {
	addresses := embedded(t, 3)
	server := func(i int) memcache.Server { return memcache.Server{Addr: addresses[i]} }
	continuum, err := memcache.NewContinuum(ring.Default, server(0), server(1))
	require.NoError(t, err)
	var mu sync.Mutex
	open := map[string]int{}
	c := memcache.NewFromSelector(continuum)
	c.Timeout = patience
	t.Cleanup(func() { c.Close() })
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		open[address]++
		mu.Unlock()
		return &closeNoticing{nc, sync.OnceFunc(func() {
			mu.Lock()
			open[address]--
			mu.Unlock()
		})}, nil
	}
	keys := make([]string, 50)
	for i := range keys {
		keys[i] = "key" + string(rune('A'+i))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); wg.Wait() })
	defer end()
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, err := c.GetMulti(keys)
				assert.NoError(t, err)
			}
		})
	}
	for i := range 30 {
		require.NoError(t, continuum.SetServers(server(i%3), server((i+1)%3)))
		_, err := c.GetMulti(keys)
		require.NoError(t, err)
	}
	end()
	require.NoError(t, continuum.SetServers(server(2)))
	_, err = c.GetMulti(keys)
	require.NoError(t, err)
	assert.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return open[addresses[0]] == 0 && open[addresses[1]] == 0 && open[addresses[2]] == 1
	}, fast, time.Millisecond)
}

type closeNoticing struct {
	net.Conn
	closed func()
}

func (c *closeNoticing) Close() error {
	c.closed()
	return c.Conn.Close()
}
