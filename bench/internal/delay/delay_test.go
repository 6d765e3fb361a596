package delay

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/bench/internal/child"
	"github.com/vaquero-cache/memcache/memcachetest"
)

func TestMain(m *testing.M) {
	child.Serve(Role)
	os.Exit(m.Run())
}

func TestARoundTripIsAdded(t *testing.T) {
	const roundTrip = 20 * time.Millisecond
	server := memcachetest.NewServer(t)
	line, err := Start(roundTrip, []string{server.Addr(), server.Addr()})
	require.NoError(t, err)
	t.Cleanup(line.Stop)
	require.Len(t, line.Addrs, 2)
	c := memcache.New(line.Addrs...)
	defer c.Close()
	c.Timeout = 10 * time.Second
	require.NoError(t, c.Ping()) // connects
	start := time.Now()
	assert.ErrorIs(t, func() error { _, err := c.Get("nothing"); return err }(), memcache.ErrCacheMiss)
	assert.GreaterOrEqual(t, time.Since(start), roundTrip)
}
