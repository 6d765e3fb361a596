package memcache_test

import (
	"context"
	"errors"
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
	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file tests what callers see of a server that is down, in virtual time.

// stage is a client of servers over pipes, in a bubble of virtual time.
type stage struct {
	*memcache.Client
	servers []*memcachetest.Server
	list    *memcache.ServerList
	others  memcachetest.Servers // that are not in the list

	dials, now, most atomic.Int32 // made; under way, and how many at once

	mu      sync.Mutex
	changes []memcache.ServerStateChange // guarded by mu
}

// timeout is the Timeout of a stage.
const timeout = 100 * time.Millisecond

// onStage runs f in virtual time with a client of n servers.
func onStage(t *testing.T, n int, f func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{list: new(memcache.ServerList)}
		servers := make(memcachetest.Servers, n)
		addresses := make([]string, n)
		for i := range servers {
			servers[i] = memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
			addresses[i] = servers[i].Addr()
		}
		s.servers = servers
		require.NoError(t, s.list.SetServers(addresses...))
		s.Client = memcache.NewFromSelector(s.list)
		s.Timeout = timeout
		s.Protocol = memcache.Meta
		s.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			s.dials.Add(1)
			s.most.Store(max(s.most.Load(), s.now.Add(1)))
			defer s.now.Add(-1)
			time.Sleep(time.Millisecond)
			nc, err := append(slices.Clone(servers), s.others...).Dial(ctx, network, address)
			if err != nil {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return nc, nil
		}
		s.Hooks = &memcache.Hooks{ServerState: func(c memcache.ServerStateChange) {
			s.Health() // a hook may call the client
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changes = append(s.changes, c)
		}}
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		f(t, s)
	})
}

// states returns the states that servers came into since the last call.
func (s *stage) states() (list []memcache.ServerState) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.changes {
		list = append(list, c.To)
	}
	s.changes = nil
	return list
}

// state is the state of server i.
func (s *stage) state(i int) memcache.ServerState {
	for _, h := range s.Health() {
		if h.Server == s.servers[i].Addr() {
			return h.State
		}
	}
	return 255
}

// key returns a key of server i.
func (s *stage) key(t testing.TB, i int) string {
	for c := 'a'; c <= 'z'; c++ {
		addr, err := s.list.PickServer(string(c))
		require.NoError(t, err)
		if addr.String() == s.servers[i].Addr() {
			return string(c)
		}
	}
	require.FailNow(t, "no key")
	return ""
}

func (s *stage) get(key string) error {
	_, err := s.Get(key)
	return err
}

// requireDown checks that err refuses a call to a server that is down.
func requireDown(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, memcache.ErrServerDown)
	op, ok := err.(*memcache.OpError)
	require.True(t, ok, "%T", err)
	assert.False(t, op.OutcomeUnknown)
	_, ok = err.(net.Error)
	assert.True(t, ok)
	assert.False(t, isTimeout(err))
}

// A server that refuses connections is down with the first failure, which is
// told as ever. From then on nobody dials, and each call fails at once.
func TestARefusedServerIsDown(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		mustSet(t, s.Client, "k", "v")
		s.servers[0].Stop()
		time.Sleep(time.Second)
		s.dials.Store(0)
		err := s.get("k")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.NotErrorIs(t, err, memcache.ErrServerDown, "as it was before anything is known")
		assert.EqualValues(t, 2, s.dials.Load(), "it is tried twice before it counts")
		assert.Equal(t, []memcache.ServerState{memcache.ServerDown}, s.states())

		start := time.Now()
		for name, do := range operations {
			err := do(s.Client, "k", nil)
			assert.ErrorIs(t, err, memcache.ErrServerDown, name)
			assert.ErrorIs(t, err, syscall.ECONNREFUSED, name)
			assert.NotContains(t, err.Error(), "outcome", name)
		}
		requireDown(t, s.get("k"))
		requireDown(t, s.Ping())
		assert.Zero(t, time.Since(start))
		assert.EqualValues(t, 2, s.dials.Load())
		h := s.Health()[0]
		assert.EqualValues(t, 1, h.Failures)
		assert.EqualValues(t, 1, h.Downs)
		assert.ErrorIs(t, h.Reason, syscall.ECONNREFUSED)
		assert.EqualValues(t, len(operations)+2, h.FastFailures)
		assert.InDelta(t, 500*time.Millisecond, time.Until(h.NextProbe), float64(250*time.Millisecond))
	})
}

// A thousand callers of a server that is down, for a minute: one dial at a time,
// two for each probe, and not one call waits.
func TestAThousandCallersOfADownServer(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		s.servers[0].Stop()
		require.Error(t, s.get("k"))
		s.dials.Store(0)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				for range 60 {
					start := time.Now()
					err := s.get("k")
					if !errors.Is(err, memcache.ErrServerDown) || time.Since(start) > 0 {
						assert.ErrorIs(t, err, memcache.ErrServerDown)
						assert.Zero(t, time.Since(start))
						return
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, s.most.Load())
		h := s.Health()[0]
		assert.EqualValues(t, h.Probes, s.dials.Load(), "a probe that cannot connect ends there")
		assert.GreaterOrEqual(t, h.Probes, uint64(4))
		assert.LessOrEqual(t, h.Probes, uint64(12))
		assert.EqualValues(t, 60_000, h.FastFailures)
	})
}

// Without calls nothing runs, and the first call after the pause starts a probe
// and fails itself. Two connections must answer before the server is back.
func TestReturn(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		mustSet(t, s.Client, "k", "v")
		s.servers[0].Stop()
		time.Sleep(time.Second)
		require.Error(t, s.get("k"))
		s.states()
		require.NoError(t, s.servers[0].RestartWarm())
		s.dials.Store(0)
		time.Sleep(time.Hour)
		assert.Zero(t, s.dials.Load(), "nobody asks on its own account")
		assert.Equal(t, memcache.ServerDown, s.state(0))

		requireDown(t, s.get("k"))
		requireDown(t, s.get("k"))
		assert.Equal(t, memcache.ServerProbing, s.state(0))
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, []memcache.ServerState{memcache.ServerProbing, memcache.ServerUp}, s.states())
		assert.EqualValues(t, 2, s.dials.Load())
		assert.Equal(t, "v", string(mustGet(t, s.Client, "k").Value))
		assert.EqualValues(t, 2, s.dials.Load(), "the last connection serves")
		assert.EqualValues(t, 1, s.Health()[0].Probes)
	})
}

// A server that is stopped accepts connections. Three timeouts in a row take it
// down, and only replies bring it back.
func TestAStoppedServerIsDownAfterThreeTimeouts(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		mustSet(t, s.Client, "k", "v")
		s.servers[0].Pause()
		for range 3 {
			start := time.Now()
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { assert.True(t, isTimeout(s.get("k"))) })
			}
			wg.Wait()
			assert.InDelta(t, timeout, time.Since(start), float64(10*time.Millisecond))
		}
		assert.Equal(t, []memcache.ServerState{memcache.ServerDown}, s.states(), "50 calls on one connection are one failure")
		assert.EqualValues(t, 3, s.Health()[0].Failures)
		requireDown(t, s.get("k"))
		time.Sleep(time.Second)
		requireDown(t, s.get("k"))
		time.Sleep(time.Second)
		assert.Equal(t, []memcache.ServerState{memcache.ServerProbing, memcache.ServerDown}, s.states(), "a connection is no proof of life")

		s.servers[0].Resume()
		time.Sleep(2 * time.Second)
		requireDown(t, s.get("k"))
		time.Sleep(time.Second)
		assert.Equal(t, []memcache.ServerState{memcache.ServerProbing, memcache.ServerUp}, s.states())
		assert.Equal(t, "v", string(mustGet(t, s.Client, "k").Value))
	})
}

// A reply ends a row of timeouts.
func TestAReplyEndsTheRow(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		for range 5 {
			s.servers[0].Pause()
			require.Error(t, s.get("k"))
			require.Error(t, s.get("k"))
			s.servers[0].Resume()
			require.Equal(t, memcache.ErrCacheMiss, s.get("k"))
		}
		assert.Empty(t, s.states())
		assert.EqualValues(t, 10, s.Health()[0].Failures)
	})
}

// What callers bring about is no failure of the server.
func TestWhatIsNoFailure(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		s.Conn.MaxCalls = 1
		server := s.servers[0]
		give := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			_, err := s.GetContext(ctx, "k")
			return err
		}
		server.Pause()
		for range 10 {
			assert.ErrorIs(t, give(timeout/20), context.DeadlineExceeded)
		}
		server.Resume()
		require.Equal(t, memcache.ErrCacheMiss, s.get("k"), "behind the late replies to the others")
		server.Inject(memcachetest.Fault{Do: memcachetest.Answer("SERVER_ERROR busy"), Times: 5})
		for range 5 {
			assert.ErrorIs(t, s.get("k"), memcache.ErrServerError)
		}
		assert.ErrorIs(t, s.get("k"), memcache.ErrCacheMiss)
		assert.ErrorIs(t, s.get("not legal"), memcache.ErrMalformedKey)
		assert.ErrorIs(t, s.Delete("k"), memcache.ErrCacheMiss)

		remove := server.Inject(memcachetest.Fault{Do: memcachetest.Delay(timeout / 2)})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { s.get("k") }) // some in line for too long
		}
		wg.Wait()
		remove()
		assert.Empty(t, s.states())
		assert.Zero(t, s.Health()[0].Failures)

		s.Close()
		assert.ErrorIs(t, s.get("k"), memcache.ErrCacheMiss)
		assert.Zero(t, s.Health()[0].Failures)
	})
}

// A batch leaves out the servers that are down, and the others go on.
func TestABatchWithADownServer(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		keys := []string{s.key(t, 0), s.key(t, 1), s.key(t, 2), s.key(t, 3)}
		for _, key := range keys {
			mustSet(t, s.Client, key, key)
		}
		s.servers[2].Stop()
		time.Sleep(time.Second)
		require.Error(t, s.get(keys[2]))
		s.dials.Store(0)
		check := func(err error) {
			t.Helper()
			var multi *memcache.MultiError
			require.ErrorAs(t, err, &multi)
			require.Len(t, multi.Failures, 1)
			assert.Equal(t, s.servers[2].Addr(), multi.Failures[0].Server)
			assert.Equal(t, []string{keys[2]}, multi.Failures[0].Keys)
			requireDown(t, multi.Failures[0].Err)
		}
		start := time.Now()
		items, err := s.GetMulti(keys)
		assert.Len(t, items, 3)
		check(err)
		hits := 0
		check(s.GetMultiFunc(context.Background(), keys, func(memcache.Hit) bool { hits++; return true }))
		assert.Equal(t, 3, hits)
		check(s.DeleteMulti(keys))
		p := s.Pipeline()
		first, third := p.Get(keys[0]), p.Get(keys[2])
		check(p.Do(context.Background()))
		_, err = first.Item()
		assert.Equal(t, memcache.ErrCacheMiss, err)
		_, err = third.Item()
		requireDown(t, err)
		assert.Zero(t, time.Since(start))
		assert.Zero(t, s.dials.Load())
	})
}

// The operator's word stands until it is taken back.
func TestForcedStates(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		address, key := s.servers[0].Addr(), s.key(t, 0)
		mustSet(t, s.Client, key, "v")
		require.NoError(t, s.SetServerState(address, memcache.ServerForcedDown))
		requireDown(t, s.get(key))
		time.Sleep(time.Hour)
		requireDown(t, s.get(key))
		require.NoError(t, s.SetServerState(address, memcache.ServerDraining))
		requireDown(t, s.get(key))
		require.NoError(t, s.Restore(address))
		requireDown(t, s.get(key))
		time.Sleep(10 * time.Millisecond)
		assert.NoError(t, s.get(key))
		assert.Equal(t, []memcache.ServerState{
			memcache.ServerForcedDown, memcache.ServerDraining, memcache.ServerDown, memcache.ServerProbing, memcache.ServerUp,
		}, s.states())

		require.NoError(t, s.SetServerState(address, memcache.ServerForcedUp))
		s.servers[0].Stop()
		for range 3 {
			time.Sleep(2 * time.Second)
			err := s.get(key)
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
			assert.NotErrorIs(t, err, memcache.ErrServerDown)
		}
		require.NoError(t, s.servers[0].RestartWarm())
		time.Sleep(2 * time.Second)
		assert.NoError(t, s.get(key), "at once")
		require.NoError(t, s.Restore(address))
		assert.NoError(t, s.get(key))

		assert.Equal(t, memcache.ErrNoServers, s.SetServerState("192.0.2.99:1", memcache.ServerForcedUp))
		assert.Equal(t, memcache.ErrNoServers, s.Restore("192.0.2.99:1"))
		assert.Error(t, s.SetServerState(address, memcache.ServerProbing))
		assert.Equal(t, memcache.ServerUp, s.state(0))
	})
}

// A server of which nothing can be said is no worse than any other: each fault
// that a server can have ends in the state that fits, within a few calls, and
// the server is back once the fault is gone.
func TestSlowButAlive(t *testing.T) {
	down, up := memcache.ServerDown, memcache.ServerUp
	const fooled = true // a probe, which gets a miss
	for _, tt := range []struct {
		name  string
		fault memcachetest.Fault
		calls int // that it takes at the most
		state memcache.ServerState
		probe bool // whether it succeeds all the same
	}{
		{"answers after 2x Timeout", memcachetest.Fault{Do: memcachetest.Delay(2 * timeout)}, 3, down, false},
		{"answers in time, late", memcachetest.Fault{Do: memcachetest.Delay(timeout / 2)}, 20, up, false},
		{"a byte a second", memcachetest.Fault{Do: memcachetest.Drip(1, time.Second)}, 3, down, false},
		{"answers version alone", memcachetest.Fault{Command: "mg", Do: memcachetest.Stall()}, 3, down, false},
		{"resets in mid-value", memcachetest.Fault{Command: "mg", Do: memcachetest.CutValue()}, 3, down, fooled},
		{"closes before a reply", memcachetest.Fault{Do: memcachetest.Cut(0)}, 3, down, false},
		{"half-closes", memcachetest.Fault{Do: memcachetest.HalfClose()}, 20, up, false},
		{"talks nonsense", memcachetest.Fault{Do: memcachetest.CorruptHeader()}, 20, up, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onStage(t, 1, func(t *testing.T, s *stage) {
				mustSet(t, s.Client, "k", "value")
				remove := s.servers[0].Inject(tt.fault)
				calls := 0
				for ; calls < tt.calls && s.state(0) == up; calls++ {
					start := time.Now()
					s.get("k")
					assert.LessOrEqual(t, time.Since(start), 2*timeout)
				}
				require.Equal(t, tt.state, s.state(0))
				if tt.state == down {
					time.Sleep(time.Second)
					requireDown(t, s.get("k"))
					time.Sleep(time.Second)
					require.Equal(t, tt.probe, s.state(0) == up)
				}
				remove()
				deadline := time.Now().Add(10 * time.Second)
				for s.get("k") != nil {
					require.True(t, time.Now().Before(deadline))
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

// A server that goes up and down with each second is left alone for longer and
// longer.
func TestAFlappingServerIsLeftAlone(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		up := true
		end := time.Now().Add(10 * time.Minute)
		for next := time.Now(); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if !time.Now().Before(next) {
				next = next.Add(time.Second)
				if up = !up; up {
					require.NoError(t, s.servers[0].RestartWarm())
				} else {
					s.servers[0].Stop()
				}
			}
			s.get("k")
		}
		returns := 0
		for _, to := range s.states() {
			if to == memcache.ServerUp {
				returns++
			}
		}
		assert.Less(t, returns, 30)
		assert.Greater(t, returns, 3)
	})
}

// Close ends a probe that is under way, and the client works afterwards.
func TestCloseEndsAProbe(t *testing.T) {
	onStage(t, 1, func(t *testing.T, s *stage) {
		s.servers[0].Stop()
		require.Error(t, s.get("k"))
		time.Sleep(time.Second)
		s.servers[0].RestartWarm()
		s.servers[0].Pause()
		requireDown(t, s.get("k"))
		time.Sleep(10 * time.Millisecond)
		start := time.Now()
		require.NoError(t, s.Close())
		assert.Zero(t, time.Since(start))
		assert.Equal(t, memcache.ServerDown, s.state(0))
		s.servers[0].Resume()
		requireDown(t, s.get("k"))
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"), "the next probe came at once")
	})
}

// The servers of a selector of another package have health too.
func TestHealthOfAForeignSelector(t *testing.T) {
	address := deadAddress(t)
	addr, err := net.ResolveTCPAddr("tcp", address)
	require.NoError(t, err)
	c := memcache.NewFromSelector(&foreignSelector{
		pick: func(string) (net.Addr, error) { return addr, nil },
		all:  []net.Addr{addr, addr},
	})
	t.Cleanup(func() { c.Close() })
	_, err = c.Get("k")
	require.Error(t, err)
	_, err = c.Get("k")
	requireDown(t, err)
	list := c.Health()
	require.Len(t, list, 1, "each server once")
	assert.Equal(t, address, list[0].Server)
	assert.Equal(t, memcache.ServerDown, list[0].State)
	assert.True(t, slices.Contains([]string{"down", "probing"}, list[0].State.String()))
}
