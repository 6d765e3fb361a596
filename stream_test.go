package memcache_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

// stored fills servers with n items of sizes from size(i), and returns all keys
// with as many absent ones between.
func stored(t *testing.T, c *memcache.Client, n int, size func(i int) int) (keys []string, values map[string]string) {
	values = map[string]string{}
	var items []*memcache.Item
	for i := range n {
		key := fmt.Sprintf("stream:%d", i)
		value := make([]byte, size(i))
		for j := range value {
			value[j] = byte(i + j)
		}
		items = append(items, &memcache.Item{Key: key, Value: value, Flags: uint32(i)})
		values[key] = string(value)
		keys = append(keys, key, fmt.Sprintf("absent:%d", i))
	}
	require.NoError(t, c.SetMulti(items))
	return keys, values
}

func continuumOf(t *testing.T, addresses ...string) *memcache.Client {
	var servers []memcache.Server
	for _, a := range addresses {
		servers = append(servers, memcache.Server{Addr: a})
	}
	continuum, err := memcache.NewContinuum(ring.Default, servers...)
	require.NoError(t, err)
	c := memcache.NewFromSelector(continuum)
	c.Timeout = patience
	t.Cleanup(func() { c.Close() })
	return c
}

func TestStreamYieldsEachHitOnce(t *testing.T) {
	sizes := map[string]func(i int) int{
		"small": func(int) int { return 20 },
		"mixed": func(i int) int { return i * i % 3000 },
		"large": func(i int) int { return 40_000 * (i % 7 / 6) },
	}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			c := continuumOf(t, embedded(t, 4)...)
			keys, values := stored(t, c, 3000, size)
			got := map[string]string{}
			err := c.GetMultiFunc(context.Background(), append(keys, keys[0]), func(h memcache.Hit) bool {
				_, again := got[h.Key]
				assert.False(t, again, h.Key)
				got[h.Key] = string(h.Value)
				assert.Equal(t, len(h.Value), cap(h.Value))
				return true
			})
			require.NoError(t, err)
			assert.Equal(t, values, got)

			got = map[string]string{}
			for it, err := range c.GetMultiSeq(context.Background(), keys) {
				require.NoError(t, err)
				got[it.Key] = string(it.Value)
			}
			assert.Equal(t, values, got)
		})
	}
}

func TestStreamBodyMayCallTheClientStopAndPanic(t *testing.T) {
	c := continuumOf(t, embedded(t, 4)...)
	keys, values := stored(t, c, 500, func(int) int { return 50 })
	n := 0
	for it, err := range c.GetMultiSeq(context.Background(), keys) {
		require.NoError(t, err)
		again, err := c.Get(it.Key)
		require.NoError(t, err)
		require.Equal(t, it.Value, again.Value)
		if n++; n == 100 {
			break
		}
	}
	assert.PanicsWithValue(t, "mine", func() {
		c.GetMultiFunc(context.Background(), keys, func(memcache.Hit) bool { panic("mine") })
	})
	for key, want := range values {
		it, err := c.Get(key)
		require.NoError(t, err)
		require.Equal(t, want, string(it.Value))
	}
}

func TestStreamTellsOfFailedServersAfterTheHits(t *testing.T) {
	live := embedded(t, 3)
	c := continuumOf(t, append(live, deadAddress(t))...)
	var keys []string
	for i := range 400 {
		keys = append(keys, fmt.Sprintf("key:%d", i))
	}
	hits := 0
	for _, key := range keys {
		if c.Set(&memcache.Item{Key: key, Value: []byte(key)}) == nil {
			hits++
		}
	}
	var failed *memcache.MultiError
	for it, err := range c.GetMultiSeq(context.Background(), keys) {
		if err != nil {
			require.Nil(t, failed, "one server failed")
			require.ErrorAs(t, err, &failed)
			continue
		}
		require.Nil(t, failed, "hits come first")
		assert.Equal(t, it.Key, string(it.Value))
		hits--
	}
	assert.Zero(t, hits)
	require.NotNil(t, failed)
	assert.Len(t, failed.Failures, 1)
	for _, err := range c.GetMultiSeq(context.Background(), []string{"bad key"}) {
		assert.Equal(t, memcache.ErrMalformedKey, err)
	}
}
