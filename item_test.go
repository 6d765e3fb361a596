package memcache_test

// Items on their way to a server and back.

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

func TestStoresLeaveTheItemAlone(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for name, store := range stores {
			mustSet(t, c, name, "before")
			value := []byte("value")
			item := &memcache.Item{Key: name, Value: value, Flags: 7, Expiration: 60, CasID: 9}
			store(c, item) // whatever comes of it
			assert.Equal(t, &memcache.Item{Key: name, Value: []byte("value"), Flags: 7, Expiration: 60, CasID: 9}, item)
			assert.Same(t, &value[0], &item.Value[0])
		}
	})
}

// A store is over when it returns: what the caller does to the memory then
// reaches nobody.
func TestStoresKeepNoReference(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	value := bytes.Repeat([]byte{'a'}, 100_000)
	item := &memcache.Item{Key: "key", Value: value}
	require.NoError(t, c.Set(item))
	clear(value)
	item.Key = "other"
	assert.Equal(t, bytes.Repeat([]byte{'a'}, 100_000), mustGet(t, c, "key").Value)
}

func TestReadsFillTheItem(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: []byte("value"), Flags: 42, Expiration: 3600}))
		multi := func(key string) (*memcache.Item, error) {
			items, err := c.GetMulti([]string{key})
			return items[key], err
		}
		touch := func(key string) (*memcache.Item, error) { return c.GetAndTouch(key, 3600) }
		for name, get := range map[string]func(string) (*memcache.Item, error){
			"Get": c.Get, "GetMulti": multi, "GetAndTouch": touch,
		} {
			item, err := get("key")
			require.NoError(t, err, name)
			assert.NotZero(t, item.CasID, name)
			item.CasID = 0
			assert.Equal(t, &memcache.Item{Key: "key", Value: []byte("value"), Flags: 42}, item, name)
		}
	})
}

// The version may come from a read of any kind, be copied into another Item, and
// the Item it came with be changed in place. A store does not move it on.
func TestCompareAndSwapByACopiedVersion(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		mustSet(t, c, "key", "one")

		item := mustGet(t, c, "key")
		item.Value, item.Flags = []byte("two"), 2
		version := item.CasID
		require.NoError(t, c.CompareAndSwap(item))
		assert.Equal(t, version, item.CasID)
		assert.Equal(t, memcache.ErrCASConflict, c.CompareAndSwap(item))

		items, err := c.GetMulti([]string{"key"})
		require.NoError(t, err)
		require.NoError(t, c.CompareAndSwap(&memcache.Item{Key: "key", Value: []byte("three"), CasID: items["key"].CasID}))

		item, err = c.GetAndTouch("key", 0)
		require.NoError(t, err)
		assert.Equal(t, "three", string(item.Value))
		require.NoError(t, c.CompareAndSwap(&memcache.Item{Key: "key", Value: []byte("four"), CasID: item.CasID}))
		assert.Equal(t, "four", string(mustGet(t, c, "key").Value))
	})
}

func TestEmptyValues(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for name, value := range map[string][]byte{"nil": nil, "empty": {}} {
			require.NoError(t, c.Set(&memcache.Item{Key: name, Value: value}))
			item := mustGet(t, c, name)
			assert.NotNil(t, item.Value, name)
			assert.Empty(t, item.Value, name)
			items, err := c.GetMulti([]string{name})
			require.NoError(t, err)
			assert.NotNil(t, items[name].Value, name)
			assert.Empty(t, items[name].Value, name)
		}
	})
}

// The caller may write to, and append to, what it got.
func TestValuesBelongToTheCaller(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	mustSet(t, c, "a", "aaaa")
	mustSet(t, c, "b", "bbbb")
	spoil := func(items ...*memcache.Item) {
		for _, item := range items {
			_ = append(item.Value, "xxxx"...)
			clear(item.Value)
		}
	}
	first, second := mustGet(t, c, "a"), mustGet(t, c, "a")
	spoil(first)
	assert.Equal(t, "aaaa", string(second.Value))

	items, err := c.GetMulti([]string{"a", "b"})
	require.NoError(t, err)
	spoil(items["a"])
	assert.Equal(t, "bbbb", string(items["b"].Value))
	spoil(second, items["b"])
	assert.Equal(t, "aaaa", string(mustGet(t, c, "a").Value))
}

func TestFlagsRoundTrip(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for _, flags := range []uint32{0, 1, 0xffff, 1 << 31, math.MaxUint32} {
			require.NoError(t, c.Set(&memcache.Item{Key: "key", Flags: flags}))
			assert.Equal(t, flags, mustGet(t, c, "key").Flags)
		}
	})
}

func TestAppendAndPrependKeepFlagsAndExpiration(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: []byte("-"), Flags: 5}))
		require.NoError(t, c.Append(&memcache.Item{Key: "key", Value: []byte(">"), Flags: 6, Expiration: 60}))
		require.NoError(t, c.Prepend(&memcache.Item{Key: "key", Value: []byte("<"), Flags: 7, Expiration: -1}))
		item := mustGet(t, c, "key")
		assert.Equal(t, "<->", string(item.Value))
		assert.EqualValues(t, 5, item.Flags)
		assert.Equal(t, "HD t-1", raw(t, address, "mg key t"))
	})
}

// What is too much for a server is for the server to say.
func TestValueAboveTheServersLimit(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		dials := countDials(c)
		for name, store := range map[string]func(*memcache.Item) error{"Set": c.Set, "Add": c.Add} {
			err := store(&memcache.Item{Key: "key", Value: make([]byte, 2<<20)})
			require.Error(t, err, name)
			assert.ErrorIs(t, err, memcache.ErrServerError, name)
			assert.True(t, strings.HasPrefix(err.Error(), "memcache: unexpected response line"), err)
			assert.Contains(t, err.Error(), "SERVER_ERROR ", name)
			assert.Contains(t, strings.ToLower(err.Error()), "too large", name)
		}
		mustSet(t, c, "key", "small")
		assert.Equal(t, "small", string(mustGet(t, c, "key").Value))
		wantDials(t, c, 1, dials)
	})
}

func TestValuesOfAllSizes(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		rng := rand.New(rand.NewPCG(1, 2))
		var keys []string
		values := map[string][]byte{}
		for size := 1; size < 1<<20; size += size/2 + rng.IntN(size+1) {
			key := strings.Repeat("k", len(keys)+1)
			value := make([]byte, size)
			for i := range value {
				value[i] = byte(rng.Uint32())
			}
			keys, values[key] = append(keys, key), value
			require.NoError(t, c.Set(&memcache.Item{Key: key, Value: value}), size)
			require.True(t, bytes.Equal(value, mustGet(t, c, key).Value), size)
		}
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		require.Len(t, items, len(keys))
		for key, value := range values {
			assert.True(t, bytes.Equal(value, items[key].Value), "%d bytes", len(value))
		}
	})
}

func TestCounters(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		mustSet(t, c, "n", "42")
		n, err := c.Increment("n", 8)
		require.NoError(t, err)
		assert.EqualValues(t, 50, n)
		n, err = c.Decrement("n", 49)
		require.NoError(t, err)
		assert.EqualValues(t, 1, n)
		assert.Equal(t, "1 ", string(mustGet(t, c, "n").Value), "as wide as before")
		n, err = c.Decrement("n", math.MaxUint64)
		require.NoError(t, err)
		assert.Zero(t, n, "and no lower")
		n, err = c.Increment("n", math.MaxUint64)
		require.NoError(t, err)
		assert.EqualValues(t, uint64(math.MaxUint64), n)
		n, err = c.Increment("n", 3)
		require.NoError(t, err)
		assert.EqualValues(t, 2, n, "around the end")
	})
}
