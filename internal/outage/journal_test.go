package outage

// What becomes of the deletions that a server is owed, beside the ordinary.

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

// neverOld reads key until the server answers. It must not answer with a value.
func (s *subject) neverOld(key string) {
	s.Helper()
	until(s, "an answer", func() bool {
		item, err := s.Get(key)
		require.Error(s, err, "%v", item)
		return err == memcache.ErrCacheMiss
	})
}

const manyKeys = 100

// overflown returns a client that owes its only server, which is paused, more
// than it can remember.
func overflown(t *testing.T, policy memcache.OverflowPolicy) (*subject, *memcachetest.Server) {
	server := memcachetest.NewServer(t)
	s := newSubject(t, server.Addr())
	s.Failover.JournalKeys, s.Failover.Overflow = manyKeys/2, policy
	for n := range manyKeys {
		s.mustSet(fmt.Sprint("key", n), "old")
	}
	server.Pause()
	s.goesDown("key0", server.Addr())
	for n := range manyKeys {
		s.Delete(fmt.Sprint("key", n))
	}
	server.Resume()
	return s, server
}

func TestOverflowKeepsAServerOut(t *testing.T) {
	t.Parallel()
	s, server := overflown(t, memcache.KeepOut)
	for end := time.Now().Add(10 * maxProbeDelay); time.Now().Before(end); pause(nil, 5*time.Millisecond) {
		for n := range manyKeys {
			_, err := s.Get(fmt.Sprint("key", n))
			require.ErrorIs(t, err, memcache.ErrServerDown)
		}
	}
	require.NoError(t, s.Restore(server.Addr()))
	s.comesBack("key0", server.Addr())
}

func TestOverflowFlushesAServer(t *testing.T) {
	t.Parallel()
	s, server := overflown(t, memcache.FlushServer)
	for n := range manyKeys {
		s.neverOld(fmt.Sprint("key", n))
	}
	s.comesBack("key0", server.Addr())
	s.mustSet("key0", "new")
	s.mustGet("key0", "new")
}

// A program that ends hands on what it owes.
func TestWhatIsOwedOutlivesItsProgram(t *testing.T) {
	t.Parallel()
	server := memcachetest.NewServer(t)
	first := newSubject(t, server.Addr())
	var mu sync.Mutex
	var kept []string
	first.Hooks = &memcache.Hooks{InvalidationOwed: func(address, key string) {
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, server.Addr(), address)
		kept = append(kept, key)
	}}
	first.mustSet("deleted", "old")
	first.mustSet("stored", "old")
	first.mustSet("untouched", "old")
	server.Pause()
	first.goesDown("untouched", server.Addr())
	require.ErrorIs(t, first.Delete("deleted"), memcache.ErrInvalidationPending)
	require.ErrorIs(t, first.Set(&memcache.Item{Key: "stored"}), memcache.ErrServerDown)
	require.NoError(t, first.Close())
	assert.Subset(t, kept, []string{"deleted", "stored"})
	assert.NotContains(t, kept, "untouched")

	second := newSubject(t, server.Addr())
	require.NoError(t, second.Owe(server.Addr(), kept...))
	server.Resume()
	second.neverOld("deleted")
	second.neverOld("stored")
	second.mustGet("untouched", "old")
	second.settles("untouched", server.Addr())
}

// A store that its caller gives up half written costs its connection. What it
// held up comes to an end with that.
func TestGivenUpHalfWritten(t *testing.T) {
	t.Parallel()
	for _, conns := range []int{1, 2} {
		t.Run(fmt.Sprintf("connections=%d", conns), func(t *testing.T) {
			t.Parallel()
			server := memcachetest.NewServer(t, memcachetest.Config{MaxItemSize: 64 << 20})
			s := newSubject(t, server.Addr())
			s.MaxConns = conns
			for range 2 * conns {
				s.mustSet("warm", "value")
			}
			server.Pause()
			ctx, cancel := context.WithTimeout(context.Background(), patience/4)
			defer cancel()
			require.Error(t, s.SetContext(ctx, &memcache.Item{Key: "key", Value: make([]byte, 32<<20)}))
			server.Resume()
			s.comesBack("warm", server.Addr())
			s.settles("warm", server.Addr())
		})
	}
}

// A server that has left the list and comes back to it is owed what it was.
func TestOwedToAServerThatLeftTheList(t *testing.T) {
	t.Parallel()
	server, other := memcachetest.NewServer(t), memcachetest.NewServer(t)
	list, err := memcache.NewContinuum(ring.Default, memcache.Server{Addr: server.Addr()})
	require.NoError(t, err)
	s := watching(t, memcache.NewFromSelector(list))
	s.mustSet("key", "old")
	server.Pause()
	s.goesDown("key", server.Addr())
	require.ErrorIs(t, s.Delete("key"), memcache.ErrInvalidationPending)
	require.NoError(t, list.SetServers(memcache.Server{Addr: other.Addr()}))
	s.neverOld("key")
	require.NoError(t, list.SetServers(memcache.Server{Addr: server.Addr()}))
	server.Resume()
	s.neverOld("key")
}

// Each change of the list is taken over by calls under way without a failure, and
// a server that has left it is left.
func TestListChangesUnderCalls(t *testing.T) {
	t.Parallel()
	var all []memcache.Server
	for range 4 {
		all = append(all, memcache.Server{Addr: memcachetest.NewServer(t).Addr()})
	}
	list, err := memcache.NewContinuum(ring.Default, all...)
	require.NoError(t, err)
	c := memcache.NewFromSelector(list) // with a timeout that no busy machine reaches
	c.Timeout = soon
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := 0; pause(stop, time.Millisecond); n++ {
				key := fmt.Sprint(i, ":", n%50)
				assert.NoError(t, c.Set(&memcache.Item{Key: key, Value: []byte(key)}))
				item, err := c.Get(key)
				if err == nil {
					assert.Equal(t, key, string(item.Value))
				} else {
					assert.Equal(t, memcache.ErrCacheMiss, err)
				}
				_, err = c.GetMulti([]string{key, "a", "b", "c"})
				assert.NoError(t, err)
			}
		})
	}
	for n := range 100 {
		list.SetServers(all[:1+n%4]...)
		pause(nil, 10*time.Millisecond)
	}
	close(stop)
	wg.Wait()
	for _, h := range c.Health() {
		assert.Equal(t, memcache.ServerUp, h.State)
	}
}

// Whoever looks on is told of each change in order.
func TestTransitionsAreTold(t *testing.T) {
	t.Parallel()
	server := memcachetest.NewServer(t)
	s := newSubject(t, server.Addr())
	var mu sync.Mutex
	var told []memcache.ServerStateChange
	s.Hooks = &memcache.Hooks{ServerState: func(change memcache.ServerStateChange) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, change)
	}}
	s.mustSet("key", "value")
	server.Pause()
	s.goesDown("key", server.Addr())
	s.staysDown("key", server.Addr())
	server.Resume()
	s.comesBack("key", server.Addr())
	until(t, "told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) > 0 && told[len(told)-1].To == memcache.ServerUp
	})
	mu.Lock()
	defer mu.Unlock()
	state := memcache.ServerUp
	for _, change := range told {
		assert.Equal(t, state, change.From)
		assert.Equal(t, server.Addr(), change.Server)
		state = change.To
	}
	assert.Error(t, told[0].Reason, "why it went down")
}
