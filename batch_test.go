package memcache_test

// Batches that change items, and what they say of each key.

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

// itemsOf returns an Item for each key, with its stamp.
func itemsOf(keys []string, size int) []*memcache.Item {
	items := make([]*memcache.Item, len(keys))
	for i, key := range keys {
		items[i] = &memcache.Item{Key: key, Value: stamp(key, size), Flags: uint32(len(key))}
	}
	return items
}

// byKey returns what err says of each key, and fails the test if it is anything
// but a *MultiError whose failures are in order.
func byKey(t testing.TB, err error) map[string]error {
	t.Helper()
	if err == nil {
		return map[string]error{}
	}
	multi, ok := err.(*memcache.MultiError)
	require.True(t, ok, "%T %v", err, err)
	n := 0
	for _, f := range multi.Failures {
		require.NotEmpty(t, f.Keys)
		require.NotEmpty(t, f.Server)
		require.Contains(t, err.Error(), f.Server)
		require.ErrorIs(t, err, f.Err)
		n += len(f.Keys)
	}
	errs := multi.ByKey()
	require.LessOrEqual(t, len(errs), n)
	return errs
}

func TestBatchesTellTheOutcomeOfEachKey(t *testing.T) {
	eachFleet(t, 3, func(t *testing.T, addresses []string) {
		c := newClient(t, addresses...)
		keys := strings.Split("abcdefghijkl", "")
		some := keys[:5]

		require.NoError(t, c.SetMulti(itemsOf(some, 10)))

		// Add stores the others alone.
		err := c.AddMulti(itemsOf(keys, 20))
		errs := byKey(t, err)
		assert.Len(t, errs, len(some))
		for _, key := range some {
			assert.True(t, errs[key] == memcache.ErrNotStored, "%s: %v", key, errs[key])
		}
		assert.NoError(t, memcache.Ignore(err, memcache.ErrNotStored))
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		requireStamped(t, map[string]*memcache.Item{"a": items["a"]}, keys[:1], 10)
		requireStamped(t, map[string]*memcache.Item{"l": items["l"]}, keys[11:], 20)
		assert.EqualValues(t, 1, items["l"].Flags)

		// Replace needs what is there.
		err = c.ReplaceMulti(itemsOf([]string{"a", "absent", "b"}, 30))
		assert.Equal(t, map[string]error{"absent": memcache.ErrNotStored}, byKey(t, err))
		assert.Equal(t, stamp("b", 30), mustGet(t, c, "b").Value)

		err = c.TouchMulti([]string{"a", "absent", "b"}, 100)
		assert.Equal(t, map[string]error{"absent": memcache.ErrCacheMiss}, byKey(t, err))

		err = c.DeleteMulti(append([]string{"absent"}, keys...))
		assert.Equal(t, map[string]error{"absent": memcache.ErrCacheMiss}, byKey(t, err))
		err = c.DeleteMulti(keys)
		assert.ErrorIs(t, err, memcache.ErrCacheMiss)
		assert.Len(t, byKey(t, err), len(keys))
		assert.NoError(t, memcache.Ignore(err, memcache.ErrCacheMiss))
	})
}

func TestTouchMultiSetsTheExpiration(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		keys := fill(t, c, 10, 10)
		require.NoError(t, c.TouchMulti(keys[:5], -1))
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		requireStamped(t, items, keys[5:], 10)
	})
}

func TestIncrementMultiReturnsTheNumbers(t *testing.T) {
	eachFleet(t, 3, func(t *testing.T, addresses []string) {
		c := newClient(t, addresses...)
		for i, key := range []string{"n0", "n1", "n2", "n3"} {
			mustSet(t, c, key, fmt.Sprint(10*i))
		}
		mustSet(t, c, "word", "x")

		numbers, err := c.IncrementMulti([]string{"n0", "n1", "absent", "n2", "word", "n3", "n1"}, 5)
		assert.Equal(t, map[string]uint64{"n0": 5, "n1": 20, "n2": 25, "n3": 35}, numbers)
		errs := byKey(t, err)
		assert.Len(t, errs, 2)
		assert.True(t, errs["absent"] == memcache.ErrCacheMiss)
		var refused *memcache.ServerError
		require.ErrorAs(t, errs["word"], &refused)
		assert.Equal(t, "CLIENT_ERROR", refused.Kind)
		assert.Contains(t, refused.Error(), "client error")

		numbers, err = c.DecrementMulti([]string{"n0", "n3"}, 10)
		assert.NoError(t, err)
		assert.Equal(t, map[string]uint64{"n0": 0, "n3": 25}, numbers)
	})
}

// changing are the batches that change items, each as a call for keys.
var changing = map[string]func(c *memcache.Client, keys []string) error{
	"SetMulti":       func(c *memcache.Client, keys []string) error { return c.SetMulti(itemsOf(keys, 10)) },
	"AddMulti":       func(c *memcache.Client, keys []string) error { return c.AddMulti(itemsOf(keys, 10)) },
	"ReplaceMulti":   func(c *memcache.Client, keys []string) error { return c.ReplaceMulti(itemsOf(keys, 10)) },
	"DeleteMulti":    func(c *memcache.Client, keys []string) error { return c.DeleteMulti(keys) },
	"TouchMulti":     func(c *memcache.Client, keys []string) error { return c.TouchMulti(keys, 60) },
	"IncrementMulti": func(c *memcache.Client, keys []string) error { _, err := c.IncrementMulti(keys, 1); return err },
	"DecrementMulti": func(c *memcache.Client, keys []string) error { _, err := c.DecrementMulti(keys, 1); return err },
}

func TestEmptyBatches(t *testing.T) {
	c := newClient(t, deadAddress(t))
	for name, change := range changing {
		assert.NoError(t, change(c, nil), name)
	}
	numbers, err := c.IncrementMulti(nil, 1)
	assert.NoError(t, err)
	assert.NotNil(t, numbers)
}

func TestABatchWithAMistakeSendsNothing(t *testing.T) {
	c := newClient(t, embedded(t, 2)...)
	dials := countDials(c)
	for name, change := range changing {
		err := change(c, []string{"a", "b c", "d"})
		assert.True(t, err == memcache.ErrMalformedKey, "%s: %v", name, err)
	}
	assert.True(t, c.SetMulti([]*memcache.Item{{Key: "a"}, nil}) == memcache.ErrNilItem)
	huge := make([]byte, memcache.MaxValueSize+1)
	assert.True(t, c.SetMulti([]*memcache.Item{{Key: "a"}, {Key: "b", Value: huge}}) == memcache.ErrValueTooLarge)
	numbers, err := c.IncrementMulti([]string{"a", ""}, 1)
	assert.True(t, err == memcache.ErrMalformedKey)
	assert.Nil(t, numbers)
	assert.Zero(t, dials.Load())

	for name, change := range changing {
		assert.True(t, change(memcache.New(), []string{"a"}) == memcache.ErrNoServers, name)
	}
}

func TestChangesWithADeadServer(t *testing.T) {
	keys := strings.Split("abcdefghijklmnop", "")
	for name, change := range changing {
		t.Run(name, func(t *testing.T) {
			addresses := embedded(t, 3)
			for _, key := range keys { // whatever place it may have
				for _, address := range addresses {
					mustSet(t, newClient(t, address), key, "1")
				}
			}
			if name == "AddMulti" {
				for _, address := range addresses {
					require.NoError(t, newClient(t, address).FlushAll())
				}
			}
			addresses[1] = deadAddress(t)
			lost := byServer(t, addresses, keys)[addresses[1]]
			c := newClient(t, addresses...)
			start := time.Now()
			err := change(c, keys)
			assert.Less(t, time.Since(start), fast)
			errs := byKey(t, err)
			assert.Len(t, errs, len(lost))
			for _, key := range lost {
				assert.ErrorIs(t, errs[key], syscall.ECONNREFUSED)
			}
			_, ok := err.(net.Error)
			assert.True(t, ok)
		})
	}
}

// The outcome of what a server was sent before it hung up may be unknown.
func TestABatchThatLosesItsServerHalfWay(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) {
		for range 3 {
			io.WriteString(c, "HD "+opaque(c.next())+"\r\n")
		}
		for range 2 {
			c.next()
		}
	})
	c := metaClient(t, address)
	errs := byKey(t, c.AddMulti(itemsOf([]string{"a", "b", "c", "d", "e"}, 10)))
	assert.Len(t, errs, 2)
	for _, key := range []string{"d", "e"} {
		var lost *memcache.OpError
		require.ErrorAs(t, errs[key], &lost)
		assert.Equal(t, "add", lost.Op)
		assert.True(t, lost.OutcomeUnknown)
		assert.ErrorIs(t, lost, io.EOF)
	}
}

func TestLargeBatches(t *testing.T) {
	eachFleet(t, 2, func(t *testing.T, addresses []string) {
		c := newClient(t, addresses...)
		keys := make([]string, 4000)
		for i := range keys {
			keys[i] = fmt.Sprint("key:", i)
		}
		require.NoError(t, c.SetMulti(itemsOf(keys, 1000)))
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		requireStamped(t, items, keys, 1000)
		assert.Len(t, byKey(t, c.AddMulti(itemsOf(keys, 1000))), len(keys))
		require.NoError(t, c.DeleteMulti(keys))
		assert.Len(t, byKey(t, c.DeleteMulti(keys)), len(keys))
	})
}

func TestABatchKeepsTheOrderOfAKey(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		var items []*memcache.Item
		for i := range 3000 {
			items = append(items, &memcache.Item{Key: fmt.Sprint("key", i%7), Value: fmt.Append(nil, i)})
		}
		require.NoError(t, c.SetMulti(items))
		for _, item := range items[len(items)-7:] {
			assert.Equal(t, string(item.Value), string(mustGet(t, c, item.Key).Value))
		}
	})
}

func TestGetMultiAsksForAKeyOnce(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	address := replying(t, func(words []string) string {
		mu.Lock()
		defer mu.Unlock()
		asked[words[1]]++
		return "VA 1 f0 c1 " + opaque(words) + "\r\nv"
	})
	c := metaClient(t, address)
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("key", i*i%17))
	}
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	assert.Len(t, items, len(asked))
	for key, n := range asked {
		assert.Equal(t, 1, n, key)
	}
}

func TestIgnore(t *testing.T) {
	lost := &memcache.OpError{Op: "delete", Server: "a", Err: errTest}
	multi := func(failures ...error) *memcache.MultiError {
		e := new(memcache.MultiError)
		for i, err := range failures {
			e.Failures = append(e.Failures, memcache.Failure{Server: "a", Keys: []string{fmt.Sprint(i)}, Err: err})
		}
		return e
	}
	missed := multi(memcache.ErrCacheMiss, lost, memcache.ErrNotStored)
	wrapped := fmt.Errorf("in the caller's words: %w", multi(lost))
	for name, test := range map[string]struct{ err, want error }{
		"nil":              {},
		"a miss":           {memcache.ErrCacheMiss, nil},
		"not stored":       {memcache.ErrNotStored, memcache.ErrNotStored},
		"another error":    {lost, lost},
		"only misses":      {multi(memcache.ErrCacheMiss, memcache.ErrCacheMiss), nil},
		"misses and more":  {missed, &memcache.MultiError{Failures: missed.Failures[1:]}},
		"a wrapped batch":  {wrapped, wrapped},
		"wrapped and miss": {fmt.Errorf("%w", multi(memcache.ErrCacheMiss)), nil},
	} {
		assert.Equal(t, test.want, memcache.Ignore(test.err, memcache.ErrCacheMiss), name)
	}
	assert.Len(t, missed.Failures, 3, "left as it was")
}

func TestAnEndedContextLeavesABatchUndone(t *testing.T) {
	c := newClient(t, embedded(t, 2)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	keys := strings.Split("abcdef", "")
	items, err := c.GetMultiContext(ctx, keys)
	assert.Empty(t, items)
	assert.Len(t, byKey(t, err), len(keys))
	assert.Len(t, byKey(t, c.SetMultiContext(ctx, itemsOf(keys, 10))), len(keys))
	items, err = c.GetMulti(keys)
	assert.NoError(t, err)
	assert.Empty(t, items)
}
