package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play runs the demo and returns what it printed.
func play(t *testing.T, realServers bool, addresses string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, realServers, addresses), out.String())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	assert.Regexp(t, regexp.MustCompile(`^demo: 1\d{4} hits, 0 misses, 0 wrong values$`), lines[len(lines)-1])
	return out.String()
}

func TestEmbeddedServers(t *testing.T) {
	out := play(t, false, "")
	assert.Contains(t, out, "4 servers inside this process")
	assert.Contains(t, out, "refused keys live on cache-2")
}

func TestRealServers(t *testing.T) {
	realserver.Each(t, func(t *testing.T, b realserver.Binary) {
		t.Setenv("MEMCACHED", b.Path)
		assert.Contains(t, play(t, true, ""), "4 processes of memcached "+b.Version)
	})
}

func TestGivenServersAreNotStopped(t *testing.T) {
	tcp := memcachetest.NewServer(t)
	unix := memcachetest.NewServer(t, memcachetest.Config{Network: "unix"})
	out := play(t, false, tcp.Addr()+", "+unix.Addr())
	assert.Contains(t, out, unix.Addr()+" is reached through a relay")
	assert.NoError(t, memcache.New(tcp.Addr(), unix.Addr()).Ping())
}

func TestSettingsThatCannotWork(t *testing.T) {
	server := memcachetest.NewServer(t)
	gone := memcachetest.NewServer(t)
	require.NoError(t, gone.Close())
	for _, c := range []struct{ name, addresses, want string }{
		{"one server", server.Addr(), "needs another to go on"},
		{"no port", server.Addr() + ",127.0.0.1", "127.0.0.1"},
		{"a dead server", server.Addr() + "," + gone.Addr(), "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.ErrorContains(t, run(t.Context(), io.Discard, false, c.addresses), c.want)
		})
	}
}

func TestStopsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, run(ctx, io.Discard, false, ""), context.Canceled)
}

// TestTamperingIsFound makes sure that the demo could fail.
func TestTamperingIsFound(t *testing.T) {
	server := memcachetest.NewServer(t)
	continuum, err := memcache.NewContinuum(ring.Default, memcache.Server{Addr: server.Addr(), Weight: 1})
	require.NoError(t, err)
	d := &demo{
		fleet:  &fleet{servers: []memcache.Server{{Addr: server.Addr(), Weight: 1}}},
		client: memcache.NewFromSelector(continuum),
	}
	defer d.client.Close()
	require.NoError(t, d.place())
	require.NoError(t, d.store(t.Context()))
	require.NoError(t, d.read(t.Context(), d.keys).verdict())

	require.NoError(t, d.client.Set(&memcache.Item{Key: d.keys[1], Value: valueFor(d.keys[2])}))
	require.NoError(t, d.client.Delete(d.keys[3]))
	r := d.read(t.Context(), d.keys)
	assert.Equal(t, counts{hits: keyCount - 2, misses: 1, wrong: 1}, r.counts)
	assert.ErrorContains(t, r.verdict(), "1 wrong values")
	assert.ErrorContains(t, r.verdict(), "1 keys missing")

	require.NoError(t, server.Close())
	assert.ErrorContains(t, d.read(t.Context(), d.keys[:batchSize]).verdict(), "connection refused",
		"no server was taken away, so an error explains nothing")
}

func TestValuesProveThemselves(t *testing.T) {
	value := valueFor("key")
	require.True(t, holds("key", value))
	damaged := bytes.Clone(value)
	damaged[len(damaged)/2] ^= 1
	for name, c := range map[string]struct {
		key   string
		value []byte
	}{
		"another key's": {"kez", value},
		"damaged":       {"key", damaged},
		"cut short":     {"key", value[:len(value)-1]},
		"longer":        {"key", append(bytes.Clone(value), 0)},
		"empty":         {"key", nil},
	} {
		assert.False(t, holds(c.key, c.value), name)
	}
}
