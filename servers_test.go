package memcache_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

func TestStatsOfEachServer(t *testing.T) {
	eachFleet(t, 3, func(t *testing.T, addresses []string) {
		c, ctx := newClient(t, append(addresses, addresses[0])...), context.Background()
		for _, argument := range [][]string{nil, {"settings"}, {"items"}, {"slabs"}} {
			mustSet(t, newClient(t, addresses[0]), "key", "v")
			stats, err := c.Stats(ctx, argument...)
			require.NoError(t, err, argument)
			assert.Len(t, stats, 3, "each server once")
			for _, address := range addresses {
				assert.NotNil(t, stats[address], argument)
			}
			assert.NotEmpty(t, stats[addresses[0]], argument)
			if argument == nil {
				assert.NotEmpty(t, stats[addresses[0]]["version"])
			}
		}
		stats, err := c.Stats(ctx, "reset")
		require.NoError(t, err)
		assert.Len(t, stats, 3)
		assert.Empty(t, stats[addresses[0]])
		if protocol != memcache.Binary {
			stats, err = c.Stats(ctx, "detail", "dump")
			require.NoError(t, err)
			assert.Len(t, stats, 3)
		}
		stats, err = c.Stats(ctx, "nonsense")
		assert.Empty(t, stats)
		assert.ErrorIs(t, err, memcache.ErrServerError)
		assert.Len(t, err.(*memcache.MultiError).Failures, 3)
		assert.NotContains(t, err.Error(), "keys")
	})
}

func TestStatsArgumentsAreChecked(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	dials := countDials(c)
	for name, argument := range map[string][]string{
		"empty":         {""},
		"a space":       {"detail dump"},
		"a line":        {"items\r\nflush_all"},
		"a control":     {"items\x01"},
		"not ASCII":     {"ïtems"},
		"too long":      {strings.Repeat("x", 200)},
		"too many":      strings.Split(strings.Repeat("x", 20), ""),
		"cachedump":     {"cachedump", "1", "10"},
		"sizes_enable":  {"sizes_enable"},
		"sizes_disable": {"sizes_disable"},
		"noreply":       {"items", "noreply"},
	} {
		stats, err := c.Stats(context.Background(), argument...)
		assert.True(t, err == memcache.ErrMalformedArgument, name)
		assert.Nil(t, stats, name)
	}
	assert.Zero(t, dials.Load())
}

func TestVersionsOfEachServer(t *testing.T) {
	eachFleet(t, 2, func(t *testing.T, addresses []string) {
		versions, err := newClient(t, addresses...).Versions(context.Background())
		require.NoError(t, err)
		assert.Len(t, versions, 2)
		for _, address := range addresses {
			assert.Regexp(t, `^1\.6\.\d+`, versions[address])
		}
	})
}

func TestFlushServers(t *testing.T) {
	eachFleet(t, 3, func(t *testing.T, addresses []string) {
		c, ctx := newClient(t, addresses...), context.Background()
		holders := func() (n int) {
			for _, address := range addresses {
				if raw(t, address, "mg key") == "HD" {
					n++
				}
			}
			return n
		}
		for _, address := range addresses {
			mustSet(t, newClient(t, address), "key", "v")
		}
		require.NoError(t, c.FlushServers(ctx, addresses[1]))
		assert.Equal(t, 2, holders())
		assert.Equal(t, "EN", raw(t, addresses[1], "mg key"))

		err := c.FlushServers(ctx, addresses[0], "192.0.2.1:11211")
		assert.ErrorIs(t, err, memcache.ErrNoServers)
		assert.EqualError(t, err, "memcache: no servers configured or available on server 192.0.2.1:11211")
		assert.Equal(t, 1, holders())

		require.NoError(t, c.FlushServers(ctx))
		assert.Zero(t, holders())
	})
}

// What the healthy servers say is there beside the errors of the others, and as
// soon as these can be known.
func TestServersThatFail(t *testing.T) {
	live, dead := embedded(t, 2), []string{deadAddress(t), deadAddress(t)}
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	for _, address := range live {
		mustSet(t, newClient(t, address), "key", "v")
	}
	c := newClient(t, dead[0], live[0], silent, live[1], dead[1])
	ctx, cancel := context.WithTimeout(context.Background(), 600*time.Millisecond)
	defer cancel()
	failed := func(err error) (servers []string) {
		t.Helper()
		multi, ok := err.(*memcache.MultiError)
		require.True(t, ok, "%v", err)
		for _, f := range multi.Failures {
			servers = append(servers, f.Server)
			assert.Empty(t, f.Keys)
		}
		_, ok = err.(net.Error)
		assert.True(t, ok)
		return servers
	}
	versions, err := c.Versions(ctx)
	assert.Len(t, versions, 2)
	assert.ElementsMatch(t, []string{dead[0], dead[1], silent}, failed(err))
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	c = newClient(t, dead[0], live[0], live[1], dead[1])
	start := time.Now()
	stats, err := c.Stats(context.Background())
	assert.Len(t, stats, 2)
	assert.ElementsMatch(t, dead, failed(err))
	assert.ElementsMatch(t, dead, failed(c.FlushServers(context.Background())))
	assert.Less(t, time.Since(start), fast)
	for _, address := range live {
		assert.Equal(t, "EN", raw(t, address, "mg key"))
	}
}

func TestNoServersToAsk(t *testing.T) {
	c, ctx := memcache.New(), context.Background()
	stats, err := c.Stats(ctx)
	assert.NoError(t, err)
	assert.NotNil(t, stats)
	assert.NoError(t, c.FlushServers(ctx))

	c = memcache.NewFromSelector(failingSelector{})
	_, err = c.Stats(ctx)
	assert.True(t, err == errTest)
	_, err = c.Versions(ctx)
	assert.True(t, err == errTest)
	assert.True(t, c.FlushServers(ctx) == errTest)
}

// failingSelector knows no servers.
type failingSelector struct{}

func (failingSelector) PickServer(string) (net.Addr, error) { return nil, errTest }
func (failingSelector) Each(func(net.Addr) error) error     { return errTest }
