package integration

// The client through the proxies that people put before memcached: it must find
// out by itself what each of them speaks.

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

func TestClientThroughTwemproxy(t *testing.T) {
	program := nutcracker(t)
	dir := t.TempDir()
	socket := filepath.Join(dir, "pool")
	config := fmt.Appendf(nil, "pool:\n  listen: %s\n  timeout: 5000\n  servers:\n", socket)
	for _, s := range fourServers(t) {
		config = fmt.Appendf(config, "   - %s:1\n", s.Addr)
	}
	startNutcracker(t, program, dir, config, []string{socket})
	useThroughProxy(t, socket)
}

func TestClientThroughMemcachedProxy(t *testing.T) {
	proxy := startMemcachedProxy(t, realserver.Newest)
	useThroughProxy(t, proxy.Addr())
}

// Words of the protocol are keys like any other, alone and in batches of both
// forms.
func TestWordsAsKeysThroughMemcachedProxy(t *testing.T) {
	words := []string{"noreply", "0", "-1", "q", "k", "O1", "b", "S1", "T0", "me", "mn", "get", "END", "VALUE", "HD", "EN", "ERROR", "[", "=", "YQ==", "\xff"}
	proxy := startMemcachedProxy(t, realserver.Newest)
	c := memcache.New(proxy.Addr())
	defer c.Close()
	for _, word := range words {
		require.NoError(t, c.Set(&memcache.Item{Key: word, Value: []byte(word)}))
	}
	many := append([]string(nil), words...)
	for i := range 100 {
		many = append(many, fmt.Sprintf("absent:%d", i))
	}
	for _, keys := range [][]string{words[:5], words, many} {
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		for _, word := range keys[:min(len(keys), len(words))] {
			if assert.Contains(t, items, word, "among %d", len(keys)) {
				assert.Equal(t, word, string(items[word].Value))
			}
		}
	}
	for _, word := range words {
		item, err := c.Get(word)
		require.NoError(t, err, word)
		assert.Equal(t, word, string(item.Value))
		require.NoError(t, c.Touch(word, 100), word)
		require.NoError(t, c.Delete(word), word)
	}
}

// useThroughProxy runs the main operations in Auto against a proxy.
func useThroughProxy(t *testing.T, address string) {
	c := memcache.New(address)
	defer c.Close()
	const n = 300
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("proxied:%d", i)
		require.NoError(t, c.Set(&memcache.Item{Key: keys[i], Value: []byte(keys[i]), Flags: uint32(i)}))
	}
	for _, batch := range [][]string{keys[:10], keys, append([]string{"absent"}, keys[:50]...)} {
		items, err := c.GetMulti(batch)
		require.NoError(t, err)
		for i, key := range batch {
			if key == "absent" {
				assert.NotContains(t, items, key)
				continue
			}
			require.Contains(t, items, key, i)
			assert.Equal(t, key, string(items[key].Value))
		}
	}
	_, err := c.Get("absent")
	assert.Equal(t, memcache.ErrCacheMiss, err)
	it, err := c.Get(keys[7])
	require.NoError(t, err)
	it.Value = []byte("41")
	require.NoError(t, c.CompareAndSwap(it))
	assert.Equal(t, memcache.ErrCASConflict, c.CompareAndSwap(it))
	number, err := c.Increment(keys[7], 1)
	require.NoError(t, err)
	assert.EqualValues(t, 42, number)
	assert.Equal(t, memcache.ErrNotStored, c.Add(&memcache.Item{Key: keys[7]}))
	require.NoError(t, c.Touch(keys[7], 100))
	require.NoError(t, c.Touch(keys[6], -1))
	require.NoError(t, c.Set(&memcache.Item{Key: keys[8], Expiration: -1}))
	for _, key := range []string{keys[6], keys[8]} {
		_, err = c.Get(key)
		assert.Equal(t, memcache.ErrCacheMiss, err)
	}
	require.NoError(t, c.Set(&memcache.Item{Key: "noreply"}))
	require.NoError(t, c.Delete("noreply"))
	assert.Equal(t, memcache.ErrCacheMiss, c.Delete("noreply"))
	require.NoError(t, c.Delete(keys[7]))
	assert.Equal(t, memcache.ErrCacheMiss, c.Delete(keys[7]))
	large := make([]byte, 500_000)
	require.NoError(t, c.Set(&memcache.Item{Key: "large", Value: large}))
	it, err = c.Get("large")
	require.NoError(t, err)
	assert.Equal(t, large, it.Value)
}
