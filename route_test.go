package memcache_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file tests what other servers do in the place of one that is down, in
// virtual time.

// Reads and sets go to the next server from the very call that finds the first
// one down; what was set there is gone after MaxTTL; the home server has neither
// its old value nor that one when it is back.
func TestTheNextServerTakesOver(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		key := s.key(t, 1)
		mustSet(t, s.Client, key, "old")
		s.servers[1].Stop()
		time.Sleep(time.Second)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key), "the next server answers")
		assert.Equal(t, memcache.ServerDown, s.state(1))
		mustSet(t, s.Client, key, "new")
		assert.Equal(t, "new", string(mustGet(t, s.Client, key).Value))
		require.NoError(t, s.Touch(key, 3600))
		_, err := s.GetAndTouch(key, 0)
		require.NoError(t, err)
		items, err := s.GetMulti([]string{key, s.key(t, 0)})
		require.NoError(t, err)
		assert.Len(t, items, 1)
		hits := 0
		require.NoError(t, s.GetMultiFunc(context.Background(), []string{key}, func(memcache.Hit) bool { hits++; return true }))
		assert.Equal(t, 1, hits)
		for name, do := range map[string]func() error{
			"Add":            func() error { return s.Add(&memcache.Item{Key: key}) },
			"Replace":        func() error { return s.Replace(&memcache.Item{Key: key}) },
			"Append":         func() error { return s.Append(&memcache.Item{Key: key}) },
			"Prepend":        func() error { return s.Prepend(&memcache.Item{Key: key}) },
			"CompareAndSwap": func() error { return s.CompareAndSwap(&memcache.Item{Key: key, CasID: 1}) },
			"Increment":      func() error { _, err := s.Increment(key, 1); return err },
			"Decrement":      func() error { _, err := s.Decrement(key, 1); return err },
		} {
			assert.ErrorIs(t, do(), memcache.ErrServerDown, name)
		}
		time.Sleep(29 * time.Second)
		assert.NoError(t, s.get(key))
		time.Sleep(3 * time.Second)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
		assert.Positive(t, s.Health()[1].Failovers)

		require.NoError(t, s.SetMulti([]*memcache.Item{{Key: key, Value: []byte("newer"), Expiration: 3600}}))
		assert.Equal(t, "newer", string(mustGet(t, s.Client, key).Value))
		s.back(t, 1)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
	})
}

// A delete reaches those that may have taken the key over, and is pending at
// home.
func TestADeleteGoesWhereverTheKeyMayBe(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		key := s.key(t, 1)
		mustSet(t, s.Client, key, "old")
		s.stop1(t)
		for name, do := range map[string]func() error{
			"Delete":      func() error { return s.Delete(key) },
			"DeleteMulti": func() error { return s.DeleteMulti([]string{key}) },
		} {
			mustSet(t, s.Client, key, "new")
			err := do()
			assert.ErrorIs(t, err, memcache.ErrInvalidationPending, name)
			assert.ErrorIs(t, err, memcache.ErrServerDown, name)
			assert.Equal(t, memcache.ErrCacheMiss, s.get(key), name)
		}
		s.back(t, 1)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
	})
}

// stop1 stops server 1 and lets a client that fails over notice.
func (s *stage) stop1(t testing.TB) {
	s.servers[1].Stop()
	time.Sleep(time.Second)
	s.get(s.key(t, 1))
	require.Equal(t, memcache.ServerDown, s.state(1))
}

// What others were given in one outage is not read in the next.
func TestTheNextOutageDoesNotReadTheLast(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		key := s.key(t, 1)
		s.stop1(t)
		mustSet(t, s.Client, key, "of the first outage")
		s.back(t, 1)
		returned := time.Now()
		mustSet(t, s.Client, key, "newer")
		require.NoError(t, s.Delete(key))
		s.stop1(t)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
		items, err := s.GetMulti([]string{key, key, "other"})
		assert.NoError(t, err)
		assert.Empty(t, items)
		mustSet(t, s.Client, key, "of the second")
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key), "a while longer")
		time.Sleep(time.Until(returned.Add(31 * time.Second)))
		require.Equal(t, memcache.ServerDown, s.state(1))
		mustSet(t, s.Client, key, "later in the second")
		assert.Equal(t, "later in the second", string(mustGet(t, s.Client, key).Value))
	})
}

// A server that was passed over does not serve what it was given before.
func TestAServerThatWasPassedOver(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		key := s.key(t, 1)
		s.stop1(t)
		mustSet(t, s.Client, key, "first")
		holder := -1
		for i, server := range s.servers {
			for _, r := range server.Requests() {
				if i != 1 && strings.HasPrefix(r.Line, "ms "+key+" ") {
					holder = i
				}
			}
		}
		require.NotEqual(t, -1, holder)
		s.servers[holder].Stop()
		time.Sleep(time.Second)
		s.get(s.key(t, holder))
		mustSet(t, s.Client, key, "second")
		assert.Equal(t, "second", string(mustGet(t, s.Client, key).Value))
		s.back(t, holder)
		_, err := s.Get(key)
		assert.Equal(t, memcache.ErrCacheMiss, err, "it was owed that")
		mustSet(t, s.Client, key, "third")
		s.servers[holder].Stop()
		time.Sleep(time.Second)
		s.get(s.key(t, holder))
		item, err := s.Get(key)
		assert.Equal(t, memcache.ErrCacheMiss, err, "%v: the one behind it knows only what is older", item)
	})
}

// With too many servers down, or too few hops, calls fail at once.
func TestTheLimitsOfFailover(t *testing.T) {
	down := func(t *testing.T, s *stage, n int) string {
		for i := range n {
			s.servers[i].Stop()
		}
		time.Sleep(time.Second)
		for i := range n {
			s.get(s.key(t, i))
		}
		return s.key(t, 0)
	}
	for _, tt := range []struct {
		name  string
		set   memcache.FailoverSettings
		down  int
		fails bool
	}{
		{"half of them", memcache.FailoverSettings{}, 2, false},
		{"more than half", memcache.FailoverSettings{}, 3, true},
		{"more are allowed", memcache.FailoverSettings{MaxDownShare: 1, MaxHops: 3}, 3, false},
		{"all", memcache.FailoverSettings{MaxDownShare: 1, MaxHops: 3}, 4, true},
		{"fewer are allowed", memcache.FailoverSettings{MaxDownShare: 0.2}, 1, true},
		{"a journey too short", memcache.FailoverSettings{MaxDownShare: 1, MaxHops: 2}, 3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				s.Failover = tt.set
				s.Failover.Mode = memcache.NextServer
				failed := 0
				down(t, s, tt.down)
				for i := range tt.down {
					if err := s.get(s.key(t, i)); err != memcache.ErrCacheMiss {
						requireDown(t, err)
						failed++
					}
				}
				assert.Equal(t, tt.fails, failed > 0)
			})
		})
	}
}

// One server alone, and a selector without an order, fail fast.
func TestFailoverWithNobodyElse(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		s.servers[0].Stop()
		require.ErrorIs(t, s.get("k"), syscall.ECONNREFUSED)
		requireDown(t, s.get("k"))
		requirePending(t, s.Delete("k"))
		s.back(t, 0)
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"))
	})
}

// Operations that depend on what is there go elsewhere only if they may.
func TestConditionalFailover(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		s.Failover.Mode, s.Failover.Conditional = memcache.NextServer, true
		key := s.key(t, 1)
		mustSet(t, s.Client, key, "5")
		s.stop1(t)
		require.NoError(t, s.Add(&memcache.Item{Key: key, Value: []byte("7")}))
		n, err := s.Increment(key, 1)
		require.NoError(t, err)
		assert.EqualValues(t, 8, n)
		s.back(t, 1)
		_, err = s.Increment(key, 1)
		assert.Equal(t, memcache.ErrCacheMiss, err, "the home server does not count on from where it was")
	})
}

// The gutter takes over the keys of any server.
func TestGutter(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		gutter := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
		list := new(memcache.ServerList)
		require.NoError(t, list.SetServers(gutter.Addr()))
		s.Failover = memcache.FailoverSettings{Mode: memcache.Gutter, Gutter: list, MaxTTL: 10 * time.Second}
		s.servers = append(s.servers, gutter)
		s.others = memcachetest.Servers{gutter}
		keys := []string{s.key(t, 0), s.key(t, 1)}
		for _, key := range keys {
			mustSet(t, s.Client, key, "old")
		}
		assert.Len(t, s.Health(), 2)
		s.stop1(t)
		mustSet(t, s.Client, keys[1], "new")
		items, err := s.GetMulti(keys)
		require.NoError(t, err)
		assert.Equal(t, "new", string(items[keys[1]].Value))
		assert.Equal(t, "old", string(items[keys[0]].Value))
		assert.Len(t, s.Health(), 3)
		require.NoError(t, s.list.SetServers(s.servers[0].Addr(), s.servers[1].Addr()))
		assert.Equal(t, "new", string(mustGet(t, s.Client, keys[1]).Value), "the gutter is no matter of the list")
		requirePending(t, s.Delete(keys[1]))
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[1]))
		mustSet(t, s.Client, keys[1], "newer")
		time.Sleep(12 * time.Second)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[1]))
		s.back(t, 1)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[1]))
		synctest.Wait()
	})
}
