package memcache_test

// Many callers at once: each gets its own, or an error.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

const callers = 64

func TestConcurrentCallersGetTheirOwn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	eachFleet(t, 4, func(t *testing.T, addresses []string) {
		c := newClient(t, addresses...)
		mustSet(t, c, "counter", "0")
		var wg sync.WaitGroup
		for id := range callers {
			wg.Go(func() { churn(t, c, rand.New(rand.NewPCG(seed, uint64(id))), 100) })
		}
		wg.Wait()
		n, err := strconv.Atoi(string(mustGet(t, c, "counter").Value))
		require.NoError(t, err)
		assert.Equal(t, callers*100/10, n)
	})
}

// churn performs operations in random order, one in ten an increment. Values
// carry their key, so that those of another caller would be noticed.
func churn(t *testing.T, c *memcache.Client, rng *rand.Rand, operations int) {
	key := func() string { return fmt.Sprint("key", rng.IntN(100)) }
	for i := range operations {
		k := key()
		var err error
		switch {
		case i%10 == 0:
			_, err = c.Increment("counter", 1)
		case i%10 < 4:
			err = c.Set(&memcache.Item{Key: k, Value: stamp(k, rng.IntN(3000))})
		case i%10 == 4:
			err = c.Delete(k)
		case i%10 == 5:
			_, err = c.GetAndTouch(k, 100)
		case i%10 == 6:
			keys := []string{k, key(), key(), key(), key()}
			var items map[string]*memcache.Item
			items, err = c.GetMulti(keys)
			for k, item := range items {
				requireOwn(t, k, item)
			}
		default:
			var item *memcache.Item
			item, err = c.Get(k)
			if err == nil {
				requireOwn(t, k, item)
			}
		}
		if err != memcache.ErrCacheMiss {
			assert.NoError(t, err)
		}
	}
}

func requireOwn(t *testing.T, key string, item *memcache.Item) {
	assert.Equal(t, key, item.Key)
	assert.True(t, bytes.HasPrefix(stamp(key, len(item.Value)), item.Value), "value of %s", key)
}

func TestConcurrentCompareAndSwapLosesNothing(t *testing.T) {
	const each = 10
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		mustSet(t, c, "sum", "0")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for done := 0; done < each; {
					item, err := c.Get("sum")
					if !assert.NoError(t, err) {
						return
					}
					n, _ := strconv.Atoi(string(item.Value))
					item.Value = strconv.AppendInt(nil, int64(n+1), 10)
					switch err := c.CompareAndSwap(item); err {
					case nil:
						done++
					case memcache.ErrCASConflict:
					default:
						assert.NoError(t, err)
						return
					}
				}
			})
		}
		wg.Wait()
		assert.Equal(t, strconv.Itoa(8*each), string(mustGet(t, c, "sum").Value))
	})
}
