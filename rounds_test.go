package memcache_test

// Batches of several rounds: what is performed in parts is one batch to its
// caller.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

const (
	aWindow       = 1000 // operations that a server is sent at a time
	aRound        = 1 << 16
	severalRounds = 2*aRound + 100 // operations
)

func manyKeys() []string {
	keys := make([]string, severalRounds)
	for i := range keys {
		keys[i] = fmt.Sprint("key:", i)
	}
	return keys
}

// countAsked counts the keys that c asks its servers for.
func countAsked(c *memcache.Client) (asked func() int) {
	var mu sync.Mutex
	n := 0
	c.Hooks = &memcache.Hooks{OpStarted: func(ctx context.Context, info memcache.OpInfo) context.Context {
		mu.Lock()
		defer mu.Unlock()
		n += info.Keys
		return ctx
	}}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		was := n
		n = 0
		return was
	}
}

func TestSeveralRoundsAreOneBatch(t *testing.T) {
	for name, settings := range map[string]memcache.KeySettings{"keys as they are": {}, "a namespace": {Namespace: "app:"}} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, embedded(t, 3)...)
			c.Keys = settings
			asked := countAsked(c)
			keys := manyKeys()
			items := make([]*memcache.Item, len(keys))
			for i, key := range keys {
				items[i] = &memcache.Item{Key: key, Value: fmt.Append(nil, i)}
			}
			require.NoError(t, c.SetMulti(items))
			require.Equal(t, len(keys), asked())

			twice := slices.Concat(keys, keys[:10]) // of the first round, in the last
			got, err := c.GetMulti(twice)
			require.NoError(t, err)
			require.Equal(t, len(keys), asked())
			require.Len(t, got, len(keys))
			hits := map[string]string{}
			require.NoError(t, c.GetMultiFunc(context.Background(), twice, func(h memcache.Hit) bool {
				hits[h.Key] = string(h.Value)
				return true
			}))
			require.Equal(t, len(keys), asked())
			require.Len(t, hits, len(keys))
			p := c.Pipeline()
			results := make([]memcache.ItemResult, len(keys))
			for i, key := range keys {
				results[i] = p.Get(key)
			}
			require.NoError(t, p.Do(context.Background()))
			numbers, err := c.IncrementMulti(keys, 1)
			require.NoError(t, err)
			for i, key := range keys {
				want := fmt.Sprint(i)
				piped, err := results[i].Item()
				require.NoError(t, err)
				if string(got[key].Value) != want || hits[key] != want || string(piped.Value) != want || piped.Key != key || numbers[key] != uint64(i+1) {
					t.Fatalf("wrong item for %s", key)
				}
			}

			require.NoError(t, c.DeleteMulti(keys[:aRound+50]))
			var failed *memcache.MultiError
			require.ErrorAs(t, c.DeleteMulti(keys), &failed)
			require.Len(t, failed.Failures, 3, "one for each server")
			var absent []string
			for _, f := range failed.Failures {
				assert.True(t, f.Err == memcache.ErrCacheMiss)
				absent = append(absent, f.Keys...)
			}
			slices.Sort(absent)
			assert.True(t, slices.Equal(slices.Sorted(slices.Values(keys[:aRound+50])), absent))
		})
	}
}

// A key that is not legal is what the caller is told, in whatever round, and not
// that there was no server for those before it.
func TestAnIllegalKeyOfALaterRoundWithoutServers(t *testing.T) {
	keys := manyKeys()
	for name, selector := range map[string]memcache.ServerSelector{
		"no servers":         new(memcache.ServerList),
		"a selector's error": &foreignSelector{pick: func(string) (net.Addr, error) { return nil, errTest }},
	} {
		t.Run(name, func(t *testing.T) {
			c := memcache.NewFromSelector(selector)
			_, unplaced := c.GetMulti(keys)
			require.Error(t, unplaced)
			assert.NotEqual(t, memcache.ErrMalformedKey, unplaced)
			for _, at := range []int{0, aRound - 1, aRound, severalRounds - 1} {
				bad := slices.Clone(keys)
				bad[at] = "a key"
				_, err := c.GetMulti(bad)
				assert.Equal(t, memcache.ErrMalformedKey, err, at)
				assert.Equal(t, memcache.ErrMalformedKey, c.DeleteMulti(bad), at)
				p := c.Pipeline()
				for _, key := range bad {
					p.Touch(key, 60)
				}
				assert.Equal(t, memcache.ErrMalformedKey, p.Do(context.Background()), at)
			}
		})
	}
}

func TestAStreamStopsInALaterRound(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	keys := manyKeys()
	mustSet(t, c, keys[0], "first")
	mustSet(t, c, keys[aRound], "of the second round")
	asked := countAsked(c)
	hits := 0
	require.NoError(t, c.GetMultiFunc(context.Background(), keys, func(memcache.Hit) bool {
		hits++
		return hits < 2
	}))
	assert.Equal(t, 2, hits)
	assert.Equal(t, 2*aRound, asked())
}

// A server that was lost in one round is not asked in the next, or each round
// would wait for it; but what it misses there it is owed, too.
func TestAServerThatIsLostInARoundIsNotAskedInTheNext(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	addresses := append(embedded(t, 1), silent)
	keys := manyKeys()
	groups := byServer(t, addresses, keys)
	c := metaClient(t, addresses...)
	neverDown(c)
	mustSet(t, c, groups[addresses[0]][0], "in the first round")
	last := groups[addresses[0]][len(groups[addresses[0]])-1]
	mustSet(t, c, last, "in the last round")
	c.Timeout = time.Second
	dials := countDials(c)
	items, err := c.GetMulti(keys)
	assert.Len(t, items, 2)
	requireLost(t, err, silent, groups[silent])
	assert.EqualValues(t, 1, dials.Load())

	require.NoError(t, c.GetMultiFunc(context.Background(), groups[addresses[0]], func(memcache.Hit) bool { return true }))
	err = c.GetMultiFunc(context.Background(), keys, func(memcache.Hit) bool { return true })
	requireLost(t, err, silent, groups[silent])
	assert.EqualValues(t, 2, dials.Load())

	err = memcache.Ignore(c.DeleteMulti(keys), memcache.ErrCacheMiss)
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 2, len(failed.Failures))
	requireLost(t, &memcache.MultiError{Failures: failed.Failures[:1]}, silent, groups[silent][:aWindow])
	requireLost(t, &memcache.MultiError{Failures: failed.Failures[1:]}, silent, groups[silent][aWindow:])
	for _, f := range failed.Failures {
		requirePending(t, f.Err)
	}
	for _, h := range c.Health() {
		if h.Server == silent {
			assert.Equal(t, len(groups[silent]), h.Owed)
		}
	}
}

// Of what a server was not sent any more, in that round or in a later one, nobody
// says that its outcome is unknown.
func TestWhatALostServerWasNotSentIsKnown(t *testing.T) {
	keys := manyKeys()
	for name, server := range map[string]struct {
		serve    func(c *fakeConn)
		nonsense bool
	}{
		"hangs up":       {serve: func(c *fakeConn) { c.next() }},
		"answers wildly": {serve: func(c *fakeConn) { c.next(); io.WriteString(c, "WHAT?\r\n"); io.Copy(io.Discard, c) }, nonsense: true},
	} {
		for name, do := range map[string]func(c *memcache.Client) error{
			name + ", AddMulti": func(c *memcache.Client) error { return c.AddMulti(itemsOf(keys, 1)) },
			name + ", Pipeline": func(c *memcache.Client) error {
				p := c.Pipeline()
				first, results := p.Increment("first", 1), make([]memcache.Result, len(keys))
				for i, key := range keys {
					results[i] = p.Touch(key, 60)
				}
				p.Do(context.Background())
				_, err := first.Number()
				failed := &memcache.MultiError{Failures: []memcache.Failure{{Err: err, Keys: []string{"first"}}}}
				for i, r := range results {
					failed.Failures = append(failed.Failures, memcache.Failure{Err: r.Err(), Keys: keys[i : i+1]})
				}
				return failed
			},
		} {
			t.Run(name, func(t *testing.T) {
				c := metaClient(t, fakeServer(t, server.serve))
				neverDown(c)
				operations, unknown := 0, 0
				var multi *memcache.MultiError
				require.ErrorAs(t, do(c), &multi)
				for _, f := range multi.Failures {
					operations += len(f.Keys)
					var failed *memcache.OpError
					if !errors.As(f.Err, &failed) || failed.OutcomeUnknown { // a ProtocolError alone says so, too
						unknown += len(f.Keys)
					}
					var nonsense *memcache.ProtocolError
					require.Equal(t, server.nonsense, errors.As(f.Err, &nonsense), "the cause")
				}
				assert.GreaterOrEqual(t, operations, len(keys))
				assert.Equal(t, aWindow, unknown)
			})
		}
	}
}

// requireLost checks that err is of one server that failed keys, in their order.
func requireLost(t *testing.T, err error, server string, keys []string) {
	t.Helper()
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 1, len(failed.Failures))
	assert.Equal(t, server, failed.Failures[0].Server)
	assert.True(t, isTimeout(failed.Failures[0].Err), failed.Failures[0].Err)
	require.True(t, slices.Equal(keys, failed.Failures[0].Keys))
}

// What has been answered when the context ends is returned, and the rest fails
// by it.
func TestAContextThatEndsBetweenRounds(t *testing.T) {
	c := newClient(t, embedded(t, 1)...)
	keys := manyKeys()
	items := make([]*memcache.Item, len(keys))
	for i, key := range keys {
		items[i] = &memcache.Item{Key: key}
	}
	require.NoError(t, c.SetMulti(items))
	ctx, cancel := context.WithCancelCause(context.Background())
	c.Hooks = &memcache.Hooks{OpEnded: func(context.Context, memcache.OpInfo, memcache.OpResult) { cancel(errTest) }}
	got, err := c.GetMultiContext(ctx, keys)
	require.Len(t, got, aRound)
	for _, key := range keys[:aRound] {
		require.NotNil(t, got[key], key)
	}
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Failures, 1)
	require.True(t, slices.Equal(keys[aRound:], failed.Failures[0].Keys))
	requireGaveUp(t, failed.Failures[0].Err, context.Canceled, "")
	assert.ErrorIs(t, err, errTest)
}
