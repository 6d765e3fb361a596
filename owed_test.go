package memcache_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

// This file tests that a server that missed changes does not serve what it held
// before, in virtual time.

// stop makes server i unreachable, keeps its items, and lets the client notice.
func (s *stage) stop(t testing.TB, i int) {
	s.servers[i].Stop()
	time.Sleep(time.Second) // so that a connection has lain idle
	require.Error(t, s.get(s.key(t, i)))
	require.Equal(t, memcache.ServerDown, s.state(i))
}

// back lets server i return with its items, and calls until it serves.
func (s *stage) back(t testing.TB, i int) {
	require.NoError(t, s.servers[i].RestartWarm())
	s.returns(t, i)
}

// returns calls server i until it serves.
func (s *stage) returns(t testing.TB, i int) {
	deadline := time.Now().Add(2 * time.Minute)
	for s.state(i) != memcache.ServerUp {
		require.True(t, time.Now().Before(deadline))
		s.get(s.key(t, i))
		time.Sleep(50 * time.Millisecond)
	}
}

func requirePending(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, memcache.ErrInvalidationPending)
	_, ok := err.(net.Error)
	assert.True(t, ok)
}

// A delete and a set that a server missed are deletes on it before it serves.
func TestMissedChangesAreMadeUpFor(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		keys := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
		for _, key := range keys {
			mustSet(t, s.Client, key, "old")
		}
		s.stop(t, 0)
		var missed, others []string
		for i, key := range keys {
			var err error
			if i%2 == 0 {
				err = s.Delete(key)
			} else {
				err = s.Set(&memcache.Item{Key: key, Value: []byte("new")})
			}
			if err == nil {
				others = append(others, key)
				continue
			}
			requireDown(t, err)
			requirePending(t, err)
			missed = append(missed, key)
		}
		require.NotEmpty(t, missed)
		require.NotEmpty(t, others)
		assert.Error(t, s.Touch(missed[0], 10))
		_, err := s.Increment(missed[0], 1)
		assert.NotErrorIs(t, err, memcache.ErrInvalidationPending, "no counter is deleted for a missed count")
		assert.Equal(t, len(missed), s.Health()[slices.IndexFunc(s.Health(), func(h memcache.ServerHealth) bool { return h.State != memcache.ServerUp })].Owed)

		require.NoError(t, s.servers[0].RestartWarm())
		deadline := time.Now().Add(time.Minute)
		for s.state(0) != memcache.ServerUp {
			require.True(t, time.Now().Before(deadline))
			for _, key := range missed {
				_, err := s.Get(key)
				require.Error(t, err, "not before")
			}
			time.Sleep(time.Millisecond)
		}
		for _, key := range missed {
			assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
		}
		for _, h := range s.Health() {
			assert.Zero(t, h.Owed)
		}
	})
}

// The same for batches, and for a delete whose connection could not be made
// when nothing was known yet.
func TestMissedChangesOfBatches(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		first, second := s.key(t, 0), s.key(t, 1)
		mustSet(t, s.Client, first, "old")
		mustSet(t, s.Client, second, "old")
		s.servers[0].Stop()
		time.Sleep(time.Second)
		err := s.DeleteMulti([]string{first, second})
		var multi *memcache.MultiError
		require.ErrorAs(t, err, &multi)
		require.Len(t, multi.Failures, 1)
		assert.ErrorIs(t, multi.Failures[0].Err, syscall.ECONNREFUSED)
		requirePending(t, multi.Failures[0].Err)
		assert.NotErrorIs(t, err, memcache.ErrServerDown)
		err = s.SetMulti([]*memcache.Item{{Key: first}, {Key: second}})
		require.ErrorAs(t, err, &multi)
		require.Len(t, multi.Failures, 1)
		requireDown(t, multi.Failures[0].Err)
		requirePending(t, multi.Failures[0].Err)
		_, err = s.GetMulti([]string{first})
		assert.NotErrorIs(t, err, memcache.ErrInvalidationPending)
		s.back(t, 0)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(first))
		assert.NoError(t, s.get(second))
	})
}

// A hundred thousand deletes missed, and more that come while they are made up
// for: none is lost between the last of them and the return.
func TestNoDeleteIsLostAtTheReturn(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		const n = 20_000
		name := func(i int) string { return fmt.Sprintf("key%d", i) }
		var items []*memcache.Item
		for i := range n {
			items = append(items, &memcache.Item{Key: name(i), Value: []byte("old")})
		}
		require.NoError(t, s.SetMulti(items))
		s.stop(t, 0)
		for i := range n / 2 {
			requirePending(t, s.Delete(name(i)))
		}
		require.NoError(t, s.servers[0].RestartWarm())
		time.Sleep(time.Second)
		var wg sync.WaitGroup
		for w := range 10 {
			wg.Go(func() {
				for i := n/2 + w; i < n; i += 10 {
					if err := s.Delete(name(i)); err != nil {
						assert.ErrorIs(t, err, memcache.ErrInvalidationPending)
					}
					if i%100 == w {
						time.Sleep(time.Microsecond)
					}
				}
			})
		}
		wg.Wait()
		s.returns(t, 0)
		found, err := s.GetMulti(func() (keys []string) {
			for i := range n {
				keys = append(keys, name(i))
			}
			return keys
		}())
		require.NoError(t, err)
		assert.Empty(t, found)
	})
}

// A change that timed out on a server that goes on is made up for as soon as its
// connection has come to its end; the server need not go down for it.
func TestAChangeThatTimedOut(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		mustSet(t, s.Client, "k", "old")
		mustSet(t, s.Client, "l", "old")
		s.servers[0].Pause()
		err := s.Delete("k")
		assert.True(t, isTimeout(err))
		requirePending(t, err)
		var op *memcache.OpError
		require.ErrorAs(t, err, &op)
		assert.True(t, op.OutcomeUnknown)
		requirePending(t, s.Set(&memcache.Item{Key: "l", Value: []byte("new")}))
		s.servers[0].Resume()
		for s.Health()[0].Owed > 0 {
			s.get("other")
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"))
		assert.Equal(t, memcache.ErrCacheMiss, s.get("l"))
		assert.Empty(t, s.states())
		mustSet(t, s.Client, "l", "newer")
		time.Sleep(time.Minute)
		assert.NoError(t, s.get("l"), "it is deleted once")
	})
}

// A change that its caller gave up is performed behind the others on its
// connection; only when that is lost it becomes owed.
func TestAChangeThatWasGivenUp(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		mustSet(t, s.Client, "k", "old")
		give := func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeout/10)
			defer cancel()
			err := s.DeleteContext(ctx, "k")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, memcache.ErrInvalidationPending)
		}
		remove := s.servers[0].Inject(memcachetest.Fault{Do: memcachetest.Stall()})
		give()
		assert.Zero(t, s.Health()[0].Owed)
		remove()
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"))
		assert.Zero(t, s.Health()[0].Owed)

		mustSet(t, s.Client, "k", "old")
		s.servers[0].Pause()
		give()
		require.Error(t, s.get("k"), "which closes the connection")
		assert.Equal(t, 1, s.Health()[0].Owed)
		s.servers[0].Resume()
		for s.Health()[0].Owed > 0 {
			s.get("other")
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"))
	})
}

// A change that was repeated on a fresh connection, because the old one had died
// while it lay idle, is not owed.
func TestARepeatedChangeIsNotOwed(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		for range 10 {
			mustSet(t, s.Client, "k", "v")
			s.servers[0].Stop()
			require.NoError(t, s.servers[0].RestartWarm())
			require.NoError(t, s.Set(&memcache.Item{Key: "k", Value: []byte("new")}))
			assert.Zero(t, s.Health()[0].Owed)
			time.Sleep(time.Second)
			assert.Equal(t, "new", string(mustGet(t, s.Client, "k").Value))
		}
		assert.Zero(t, s.Health()[0].Failures)
	})
}

// A server that missed more than can be remembered stays out until somebody
// sees to it, or is emptied, as set.
func TestOverflow(t *testing.T) {
	const limit = 3
	miss := func(t *testing.T, s *stage) {
		s.Failover.JournalKeys = limit
		for i := range 2 * limit {
			mustSet(t, s.Client, fmt.Sprint(i), "old")
		}
		s.stop(t, 0)
		for i := range 2 * limit {
			requirePending(t, s.Delete(fmt.Sprint(i)))
		}
		h := s.Health()[0]
		assert.True(t, h.Overflowed)
		assert.Equal(t, limit, h.Owed)
		assert.EqualValues(t, 1, h.Overflows)
		require.NoError(t, s.servers[0].RestartWarm())
	}
	kept := func(t *testing.T, s *stage) {
		for range 600 {
			err := s.get("0")
			require.ErrorIs(t, err, memcache.ErrServerDown)
			time.Sleep(100 * time.Millisecond)
		}
		assert.Contains(t, s.get("0").Error(), "more changes than could be remembered")
	}
	gone := func(t *testing.T, s *stage) {
		for i := range 2 * limit {
			assert.Equal(t, memcache.ErrCacheMiss, s.get(fmt.Sprint(i)))
		}
		assert.False(t, s.Health()[0].Overflowed)
	}
	t.Run("it is kept out until Restore", func(t *testing.T) {
		onStage(t, 1, func(t *testing.T, s *stage) {
			miss(t, s)
			kept(t, s)
			require.NoError(t, s.Restore(s.servers[0].Addr()))
			s.returns(t, 0)
			held := 0
			for i := range 2 * limit {
				if s.get(fmt.Sprint(i)) == nil {
					held++
				}
			}
			assert.Equal(t, limit, held, "what is remembered is deleted; for the rest it was the caller's word")
		})
	})
	t.Run("or until it is emptied by hand", func(t *testing.T) {
		onStage(t, 1, func(t *testing.T, s *stage) {
			miss(t, s)
			kept(t, s)
			require.NoError(t, s.FlushServers(context.Background(), s.servers[0].Addr()))
			s.returns(t, 0)
			gone(t, s)
		})
	})
	t.Run("or it is emptied", func(t *testing.T) {
		onStage(t, 1, func(t *testing.T, s *stage) {
			s.Failover.Overflow = memcache.FlushServer
			miss(t, s)
			s.returns(t, 0)
			gone(t, s)
		})
	})
	t.Run("also one that was up", func(t *testing.T) {
		onStage(t, 1, func(t *testing.T, s *stage) {
			s.Failover.JournalKeys = 1
			s.Failover.Overflow = memcache.FlushServer
			mustSet(t, s.Client, "0", "old")
			mustSet(t, s.Client, "1", "old")
			s.servers[0].Pause()
			requirePending(t, s.DeleteMulti([]string{"0", "1"}).(*memcache.MultiError).Failures[0].Err)
			assert.Equal(t, memcache.ServerDown, s.state(0))
			s.servers[0].Resume()
			s.returns(t, 0)
			gone(t, s)
		})
	})
}

// Nothing is remembered where nothing shall be.
func TestWithoutAJournal(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		s.Failover.JournalKeys = -1
		mustSet(t, s.Client, "k", "old")
		s.stop(t, 0)
		err := s.Delete("k")
		requireDown(t, err)
		assert.NotErrorIs(t, err, memcache.ErrInvalidationPending)
		s.back(t, 0)
		assert.Equal(t, "old", string(mustGet(t, s.Client, "k").Value))
		assert.Error(t, s.Owe(s.servers[0].Addr(), "k"))
	})
}

// A caller can write down what is owed and give it to another process.
func TestInvalidationsOutliveTheProcess(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		s.Keys.Namespace = "app:"
		var mu sync.Mutex
		owed := map[string][]string{}
		s.Hooks.InvalidationOwed = func(server, key string) {
			mu.Lock()
			defer mu.Unlock()
			owed[server] = append(owed[server], key)
		}
		var key string
		for c := 'a'; ; c++ {
			addr, err := s.list.PickServer("app:" + string(c))
			require.NoError(t, err)
			if key = string(c); addr.String() == s.servers[0].Addr() {
				break
			}
		}
		mustSet(t, s.Client, key, "old")
		s.servers[0].Stop()
		time.Sleep(time.Second)
		requirePending(t, s.Delete(key))
		requirePending(t, s.Delete(key))
		assert.Equal(t, map[string][]string{s.servers[0].Addr(): {"app:" + key}}, owed, "told before the call returns, and once")
		require.NoError(t, s.Close())
		require.NoError(t, s.servers[0].RestartWarm())

		next := memcache.NewFromSelector(s.list)
		defer next.Close()
		next.DialContext, next.Keys = s.DialContext, s.Keys
		require.NoError(t, next.Owe(s.servers[0].Addr(), owed[s.servers[0].Addr()]...))
		for {
			_, err := next.Get(key)
			if err == memcache.ErrCacheMiss {
				break
			}
			require.ErrorIs(t, err, memcache.ErrServerDown)
			time.Sleep(time.Millisecond)
		}
		assert.Equal(t, memcache.ErrNoServers, next.Owe("192.0.2.99:1", "k"))
		assert.Equal(t, memcache.ErrMalformedKey, next.Owe(s.servers[0].Addr(), "not legal"))
	})
}

// A server that is down while a connection to it lives on comes back as any
// other.
func TestAServerReturnsBesideAnOpenConnection(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		mustSet(t, s.Client, "k", "old")
		require.NoError(t, s.Owe(s.servers[0].Addr(), "k"))
		requireDown(t, s.get("k"))
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"))
		assert.Zero(t, s.Health()[0].ProbesFailed)
	})
}

// A server that comes back at another address under its name is owed what it
// missed; it is asked at once, and nobody asks the old address any more.
func TestAServerMovesToAnotherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
		var moved atomic.Bool
		continuum, err := memcache.NewContinuum(ring.Default, memcache.Server{Addr: "192.0.2.1:1", Name: "one"})
		require.NoError(t, err)
		c := memcache.NewFromSelector(continuum)
		t.Cleanup(func() { c.Close() })
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if moved.Load() != (address == "192.0.2.1:2") {
				return nil, syscall.ECONNREFUSED
			}
			time.Sleep(time.Millisecond) // so that the call that starts the keeper is over first
			return memcachetest.Servers{server}.Dial(ctx, network, server.Addr())
		}
		mustSet(t, c, "k", "old")
		server.Stop()
		time.Sleep(time.Second)
		_, err = c.Get("k")
		require.Error(t, err)
		requirePending(t, c.Delete("k"))
		moved.Store(true)
		require.NoError(t, server.RestartWarm())
		require.NoError(t, continuum.SetServers(memcache.Server{Addr: "192.0.2.1:2", Name: "one"}))
		_, err = c.Get("k")
		require.ErrorIs(t, err, memcache.ErrServerDown, "not before it has deleted what it is owed")
		time.Sleep(10 * time.Millisecond)
		_, err = c.Get("k")
		assert.Equal(t, memcache.ErrCacheMiss, err)
		assert.Equal(t, "192.0.2.1:2", c.Health()[0].Server)
	})
}

// Debts are not paid at an address that the server has left while they were: the
// other one may have memory of its own.
func TestAServerMovesWhileTheKeeperIsAtWork(t *testing.T) {
	for name, tt := range map[string]struct {
		missed func(c *memcache.Client, server *memcachetest.Server) // before the keeper starts
		work   func(c *memcache.Client)                              // starts it
	}{
		"probing": {
			func(c *memcache.Client, server *memcachetest.Server) {
				server.Stop()
				c.Get("k")
				requirePending(t, c.Delete("k"))
				server.RestartWarm()
				time.Sleep(2 * time.Second)
			},
			func(c *memcache.Client) { _, err := c.Get("k"); requireDown(t, err) },
		},
		"making up": {
			func(*memcache.Client, *memcachetest.Server) {},
			func(c *memcache.Client) { requirePending(t, c.Delete("k")) }, // by a connection that hangs
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := memcachetest.Config{Network: memcachetest.NetworkPipe}
				servers := memcachetest.Servers{memcachetest.NewServer(t, config), memcachetest.NewServer(t, config)}
				for _, server := range servers {
					c := memcache.New(server.Addr())
					c.DialContext = servers.Dial
					mustSet(t, c, "k", "old")
					require.NoError(t, c.Close())
				}
				list, err := memcache.NewContinuum(ring.Default, memcache.Server{Addr: servers[0].Addr(), Name: "one"})
				require.NoError(t, err)
				c := memcache.NewFromSelector(list)
				c.Protocol, c.Timeout = memcache.Meta, timeout
				var hang, slow atomic.Bool
				c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					if hang.Swap(false) {
						near, far := net.Pipe()
						go io.Copy(io.Discard, far)
						return near, nil
					}
					if slow.Load() {
						time.Sleep(timeout / 2)
					}
					return servers.Dial(ctx, network, address)
				}
				t.Cleanup(func() { assert.NoError(t, c.Close()) })
				tt.missed(c, servers[0])
				hang.Store(name == "making up")
				slow.Store(true)
				tt.work(c)
				require.Equal(t, 1, c.Health()[0].Owed)

				require.NoError(t, list.SetServers(memcache.Server{Addr: servers[1].Addr(), Name: "one"}))
				assert.Equal(t, servers[1].Addr(), c.Health()[0].Server)
				for err := error(nil); err != memcache.ErrCacheMiss; time.Sleep(timeout / 10) {
					_, err = c.Get("k")
					var op *memcache.OpError
					switch {
					case err == memcache.ErrCacheMiss:
					case assert.ErrorAs(t, err, &op):
						require.Equal(t, servers[1].Addr(), op.Server)
						requireDown(t, err)
					default:
						require.FailNow(t, "the old value")
					}
				}
				assert.Zero(t, c.Health()[0].Owed)
			})
		})
	}
}

// While the list of servers changes under calls, none of them fails.
func TestServersComeAndGoUnderCalls(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		all := make([]string, len(s.servers))
		for i := range all {
			all[i] = s.servers[i].Addr()
		}
		end := time.Now().Add(10 * time.Second)
		var wg sync.WaitGroup
		for w := range 20 {
			wg.Go(func() {
				for i := 0; time.Now().Before(end); i++ {
					key := fmt.Sprintf("%d-%d", w, i%50)
					switch i % 4 {
					case 0:
						assert.NoError(t, s.Set(&memcache.Item{Key: key, Value: []byte("v")}))
					case 1:
						_, err := s.Get(key)
						assert.NoError(t, memcache.Ignore(err, memcache.ErrCacheMiss))
					case 2:
						assert.NoError(t, memcache.Ignore(s.Delete(key), memcache.ErrCacheMiss))
					case 3:
						_, err := s.GetMulti([]string{key, "a", "b", "c", "d"})
						assert.NoError(t, err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for n := 0; time.Now().Before(end); n++ {
			require.NoError(t, s.list.SetServers(all[n%2:2+n%3]...))
			time.Sleep(7 * time.Millisecond)
		}
		wg.Wait()
		assert.Empty(t, s.states())
	})
}

// A server that leaves the list is owed what it missed, and deletes it before it
// serves when it comes back. Of several that leave only so much is remembered: the
// first of them is kept out as any that missed too much.
func TestOwedToServersThatLeaveTheList(t *testing.T) {
	onStage(t, 3, func(t *testing.T, s *stage) {
		s.Failover.JournalKeys = 3
		all := make([]string, len(s.servers))
		keys := make([]string, len(s.servers))
		for i := range all {
			all[i], keys[i] = s.servers[i].Addr(), s.key(t, i)
			mustSet(t, s.Client, keys[i], "old")
		}
		miss := func(i int) {
			s.stop(t, i)
			requirePending(t, s.Delete(keys[i]))
			require.NoError(t, s.servers[i].RestartWarm())
		}
		leave := func(stay ...string) {
			require.NoError(t, s.list.SetServers(stay...))
			s.get("any")
			time.Sleep(2 * time.Minute)
		}
		miss(2)
		leave(all[:2]...)
		assert.Len(t, s.Health(), 2)
		require.NoError(t, s.list.SetServers(all...))
		h := s.Health()[2]
		assert.Equal(t, memcache.ServerDown, h.State)
		assert.Equal(t, 1, h.Owed)
		assert.Zero(t, h.Downs, "nothing else is known of it")
		s.returns(t, 2)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[2]))

		mustSet(t, s.Client, keys[2], "old")
		s.stop(t, 2)
		requirePending(t, s.Delete(keys[2]))
		require.NoError(t, s.Owe(all[2], "another", "third"))
		require.NoError(t, s.servers[2].RestartWarm())
		leave(all[:2]...)
		s.servers[1].Stop()
		require.NoError(t, s.Owe(all[1], keys[1]))
		leave(all[0])
		require.NoError(t, s.servers[1].RestartWarm())
		require.NoError(t, s.list.SetServers(all...))
		s.returns(t, 1)
		assert.True(t, s.Health()[2].Overflowed)
		require.ErrorIs(t, s.get(keys[2]), memcache.ErrServerDown)
	})
}

// In each protocol: a server is found back, asked how long it has run, emptied,
// and makes up for what it missed.
func TestTheReturnInEachProtocol(t *testing.T) {
	for name, p := range map[string]memcache.Protocol{
		"auto": memcache.Auto, "meta": memcache.Meta, "classic": memcache.Classic, "binary": memcache.Binary,
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 1, func(t *testing.T, s *stage) {
				s.Protocol = p
				s.Failover.JournalKeys, s.Failover.Overflow = 2, memcache.FlushServer
				s.Keys.AnyBytes = true
				for round := range 2 { // in the second, more is missed than is remembered
					for i := range 4 {
						mustSet(t, s.Client, fmt.Sprint(i), "old")
					}
					s.stop(t, 0)
					for i := range 2 + round {
						requirePending(t, s.Delete(fmt.Sprint(i)))
					}
					if round == 0 {
						require.NoError(t, s.SetServerState(s.servers[0].Addr(), memcache.ServerForcedDown))
						require.NoError(t, s.Restore(s.servers[0].Addr()))
					}
					s.back(t, 0)
					for i := range 4 {
						err := s.get(fmt.Sprint(i))
						assert.Equal(t, i < 2 || round > 0, err != nil, "%d %v", i, err)
					}
				}
				s.stop(t, 0)
				requirePending(t, s.Delete("a key of any bytes"))
				s.back(t, 0)
				assert.Zero(t, s.Health()[0].Owed)
			})
		})
	}
}

// A server that started anew, empty, since it went down has nothing to be kept
// out for.
func TestAServerThatStartedAnewIsOwedNothing(t *testing.T) {
	server := realserver.Start(t, realserver.Config{})
	c := newClient(t, server.Addr())
	c.Failover.JournalKeys = 1
	c.Failover.ProbeDelay, c.Failover.MaxProbeDelay = 10*time.Millisecond, 10*time.Millisecond
	mustSet(t, c, "a", "old")
	server.Stop()
	for c.Health()[0].State == memcache.ServerUp {
		c.Get("a")
	}
	for _, key := range []string{"a", "b", "c"} {
		requirePending(t, c.Delete(key))
	}
	require.True(t, c.Health()[0].Overflowed)
	time.Sleep(5 * time.Second) // a server counts whole seconds, from two before its start
	require.NoError(t, server.Restart(context.Background()))
	require.Eventually(t, func() bool {
		_, err := c.Get("a")
		return err == memcache.ErrCacheMiss
	}, 20*time.Second, 5*time.Millisecond)
	h := c.Health()[0]
	assert.False(t, h.Overflowed)
	assert.Zero(t, h.Replayed)
}
