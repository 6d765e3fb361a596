package memcache_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// witness is what hooks saw.
type witness struct {
	mu      sync.Mutex
	started []memcache.OpInfo
	ended   []ending
	opened  []memcache.ConnInfo
	closed  []memcache.ConnInfo
	text    strings.Builder
}

type ending struct {
	memcache.OpInfo
	memcache.OpResult
}

type spanKey struct{}

// watch lets a witness observe c.
func watch(t testing.TB, c *memcache.Client) *witness {
	w := new(witness)
	c.Hooks = &memcache.Hooks{
		OpStarted: func(ctx context.Context, op memcache.OpInfo) context.Context {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.started = append(w.started, op)
			fmt.Fprintln(&w.text, op)
			return context.WithValue(ctx, spanKey{}, op)
		},
		OpEnded: func(ctx context.Context, op memcache.OpInfo, result memcache.OpResult) {
			w.mu.Lock()
			defer w.mu.Unlock()
			assert.Equal(t, op, ctx.Value(spanKey{}))
			assert.Positive(t, result.Duration)
			result.Duration = 0
			w.ended = append(w.ended, ending{op, result})
			fmt.Fprintln(&w.text, op, result)
		},
		ConnOpened: func(c memcache.ConnInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			assert.Positive(t, c.Duration)
			w.opened = append(w.opened, c)
			fmt.Fprintln(&w.text, c)
		},
		ConnClosed: func(c memcache.ConnInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.closed = append(w.closed, c)
			fmt.Fprintln(&w.text, c)
		},
	}
	return w
}

// take returns the operations that ended since the last take, by server.
func (w *witness) take(t testing.TB) []ending {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.started, len(w.ended), "each that starts ends")
	ended := w.ended
	w.started, w.ended = nil, nil
	slices.SortStableFunc(ended, func(a, b ending) int { return strings.Compare(a.Server, b.Server) })
	return ended
}

func TestHooksSeeEachOperation(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		w := watch(t, c)
		value := []byte("12345")
		op := func(name string, sent int) memcache.OpInfo {
			return memcache.OpInfo{Op: name, Server: address, Keys: 1, Bytes: sent}
		}
		require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: value}))
		assert.Equal(t, []ending{{op("set", 5), memcache.OpResult{Hits: 1}}}, w.take(t))
		mustGet(t, c, "key")
		assert.Equal(t, []ending{{op("get", 0), memcache.OpResult{Hits: 1, Bytes: 5}}}, w.take(t))
		c.Get("absent")
		assert.Equal(t, []ending{{op("get", 0), memcache.OpResult{Err: memcache.ErrCacheMiss}}}, w.take(t))
		c.Add(&memcache.Item{Key: "key", Value: value})
		assert.Equal(t, []ending{{op("add", 5), memcache.OpResult{Err: memcache.ErrNotStored}}}, w.take(t))
		require.NoError(t, c.Ping())
		pinged := w.take(t)
		assert.Len(t, pinged, 1)
		assert.Equal(t, "version", pinged[0].Op)
		assert.Zero(t, pinged[0].Keys)

		c.Get("not legal")
		c.GetMulti([]string{"not legal"})
		assert.Empty(t, w.take(t), "no server was asked")
	})
}

func TestHooksSeeEachServerOfABatch(t *testing.T) {
	addresses := embedded(t, 3)
	slices.Sort(addresses)
	addresses[1] = deadAddress(t)
	keys := strings.Split("abcdefghijkl", "")
	groups := byServer(t, addresses, keys)
	c, ctx := newClient(t, addresses...), context.Background()
	w := watch(t, c)
	check := func(op string, sent, received int, ended []ending) {
		t.Helper()
		require.Len(t, ended, len(addresses))
		for _, e := range ended {
			n := len(groups[e.Server])
			assert.Equal(t, memcache.OpInfo{Op: op, Server: e.Server, Keys: n, Bytes: n * sent}, e.OpInfo)
			if e.Server == addresses[1] {
				assert.Zero(t, e.Hits)
				var failed *memcache.OpError
				require.ErrorAs(t, e.Err, &failed)
				assert.Equal(t, e.Server, failed.Server)
				continue
			}
			assert.NoError(t, e.Err)
			assert.Equal(t, n, e.Hits)
			assert.Equal(t, n*received, e.OpResult.Bytes)
		}
	}
	size := len(stamp("a", 10))
	c.SetMulti(itemsOf(keys, 10))
	check("set", size, 0, w.take(t))
	c.GetMulti(append(keys, keys...))
	check("get", 0, size, w.take(t))
	c.GetMultiFunc(ctx, keys, func(memcache.Hit) bool { return true })
	check("get", 0, size, w.take(t))
	c.DeleteMulti(keys)
	check("delete", 0, 0, w.take(t))
	c.AddMulti(itemsOf(keys, 10))
	check("add", size, 0, w.take(t))

	p := c.Pipeline()
	for _, key := range keys {
		p.Get(key)
	}
	p.Do(ctx)
	check("pipeline", 0, size, w.take(t))

	c.Stats(ctx)
	for _, e := range w.take(t) {
		assert.Equal(t, "stats", e.Op)
		assert.Zero(t, e.Keys)
		assert.Equal(t, e.Server == addresses[1], e.Err != nil)
	}

	c.DeleteMulti(keys)
	w.take(t)
	c.DeleteMulti(keys)
	for _, e := range w.take(t) {
		assert.Zero(t, e.Hits)
		assert.Equal(t, e.Server == addresses[1], e.Err != nil, "a miss is an answer")
	}

	ended, cancel := context.WithCancel(ctx)
	cancel()
	c.GetMultiContext(ended, keys)
	for _, e := range w.take(t) {
		assert.ErrorIs(t, e.Err, context.Canceled)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		assert.NotContains(t, strings.Fields(w.text.String()), key)
	}
	assert.NotContains(t, w.text.String(), string(stamp("a", 10)))
}

// Each server of a batch has its own duration, though its caller has but one.
func TestHooksSeeTheDurationOfEachServer(t *testing.T) {
	slow := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			time.Sleep(time.Second)
			io.WriteString(c, "EN "+opaque(words)+"\r\n")
		}
	})
	addresses := []string{embedded(t, 1)[0], slow}
	keys := strings.Split("abcdefgh", "")
	groups := byServer(t, addresses, keys)
	c := metaClient(t, addresses...)
	durations := map[string]time.Duration{}
	c.Hooks = &memcache.Hooks{OpEnded: func(_ context.Context, op memcache.OpInfo, result memcache.OpResult) {
		durations[op.Server] = result.Duration
	}}
	_, err := c.GetMulti([]string{groups[addresses[0]][0], groups[slow][0]})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, durations[slow], time.Second)
	assert.Less(t, durations[addresses[0]], durations[slow]-100*time.Millisecond)
}

// A stream that its consumer leaves has ended, too.
func TestHooksSeeTheEndOfAStream(t *testing.T) {
	c, ctx := newClient(t, embedded(t, 1)...), context.Background()
	keys := fill(t, c, 100, 10)
	w := watch(t, c)
	for _, err := range c.GetMultiSeq(ctx, keys) {
		require.NoError(t, err)
		break
	}
	ended := w.take(t)
	require.Len(t, ended, 1)
	assert.Equal(t, 100, ended[0].Keys)
	assert.Equal(t, 1, ended[0].Hits)
	assert.NoError(t, ended[0].Err)
	assert.Panics(t, func() {
		c.GetMultiFunc(ctx, keys, func(memcache.Hit) bool { panic("the consumer's") })
	})
	assert.Len(t, w.take(t), 1)
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	requireStamped(t, items, keys, 10)
}

func TestHooksSeeConnections(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			switch words[1] {
			case "hangup":
				return
			case "nonsense":
				io.WriteString(c, "what?\r\n")
			default:
				io.WriteString(c, "EN "+opaque(words)+"\r\n")
			}
		}
	})
	dead := deadAddress(t)
	c := metaClient(t, address)
	w := watch(t, c)
	seen := func(opened, closed int) (lastOpened, lastClosed memcache.ConnInfo) {
		t.Helper()
		require.Eventually(t, func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.opened) == opened && len(w.closed) == closed
		}, fast, time.Millisecond)
		w.mu.Lock()
		defer w.mu.Unlock()
		if closed > 0 {
			lastClosed = w.closed[closed-1]
		}
		return w.opened[opened-1], lastClosed
	}
	c.Get("key")
	c.Get("key")
	opened, _ := seen(1, 0)
	assert.Equal(t, address, opened.Server)
	assert.NoError(t, opened.Err)

	c.Get("hangup")
	_, closed := seen(2, 2) // it is repeated once
	assert.Equal(t, address, closed.Server)
	assert.ErrorIs(t, closed.Err, io.EOF)

	c.Get("nonsense")
	_, closed = seen(3, 3)
	var nonsense *memcache.ProtocolError
	require.ErrorAs(t, closed.Err, &nonsense)
	assert.Equal(t, address, nonsense.Server)

	c.Get("key")
	c.Close()
	_, closed = seen(4, 4)
	assert.NoError(t, closed.Err)

	c = metaClient(t, dead)
	w = watch(t, c)
	c.Get("key")
	opened, _ = seen(1, 0)
	assert.Equal(t, dead, opened.Server)
	assert.Error(t, opened.Err)
}

func TestHooksMayCallTheClient(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	var inside bool
	calls := 0
	c.Hooks = &memcache.Hooks{OpEnded: func(ctx context.Context, op memcache.OpInfo, _ memcache.OpResult) {
		if calls++; !inside {
			inside = true
			defer func() { inside = false }()
			_, err := c.IncrementContext(ctx, "calls", 1)
			assert.NoError(t, err)
		}
	}}
	mustSet(t, c, "calls", "0")
	mustGet(t, c, "calls")
	assert.Equal(t, 4, calls)
	inside = true
	assert.Equal(t, "2", string(mustGet(t, c, "calls").Value))
}

func BenchmarkHooks(b *testing.B) {
	for name, hooks := range map[string]*memcache.Hooks{
		"nil":   nil,
		"empty": {},
		"both": {
			OpStarted: func(ctx context.Context, _ memcache.OpInfo) context.Context { return ctx },
			OpEnded:   func(context.Context, memcache.OpInfo, memcache.OpResult) {},
		},
	} {
		b.Run("hooks="+name, func(b *testing.B) {
			server := memcachetest.NewServer(b, memcachetest.Config{Network: memcachetest.NetworkPipe})
			c := memcache.New(server.Addr())
			c.DialContext = server.Dial
			defer c.Close()
			c.Hooks = hooks
			require.NoError(b, c.Set(&memcache.Item{Key: "key", Value: make([]byte, 100)}))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Get("key"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
