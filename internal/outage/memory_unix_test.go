//go:build unix

package outage

// One server that is out for a while and comes back with what it held: what was
// changed meanwhile is not there.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

// The memory of a server that was stopped is kept, and with it what was deleted
// meanwhile.
func TestStopped(t *testing.T) {
	t.Parallel()
	server := realserver.Start(t, realserver.Config{})
	s := newSubject(t, server.Addr())
	s.mustSet("kept", "value")
	s.mustSet("deleted", "old")
	s.mustSet("stored", "old")
	halt(t, server)
	s.goesDown("kept", server.Addr())
	s.staysDown("kept", server.Addr())
	assert.ErrorIs(t, s.Delete("deleted"), memcache.ErrInvalidationPending)
	assert.ErrorIs(t, s.Set(&memcache.Item{Key: "stored", Value: []byte("new")}), memcache.ErrServerDown)
	assert.NotZero(t, s.health(server.Addr()).Owed)
	proceed(t, server)

	until(t, "an answer", func() bool {
		_, err := s.Get("deleted")
		require.Error(t, err, "the first that it says is no lie")
		return err == memcache.ErrCacheMiss
	})
	s.comesBack("kept", server.Addr())
	s.mustGet("kept", "value")
	s.settles("key", server.Addr())
	for _, key := range []string{"deleted", "stored"} {
		_, err := s.Get(key)
		assert.Equal(t, memcache.ErrCacheMiss, err, key)
	}
	assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
}

// An outage that ends before the server is believed to be down leaves no lie
// behind either.
func TestStoppedForAMoment(t *testing.T) {
	t.Parallel()
	server := realserver.Start(t, realserver.Config{})
	s := newSubject(t, server.Addr())
	for n := range 20 {
		key := fmt.Sprint("key", n)
		s.mustSet(key, "old")
		halt(t, server)
		err := s.Delete(key)
		require.ErrorIs(t, err, memcache.ErrInvalidationPending)
		proceed(t, server)
		s.comesBack(key, server.Addr())
		s.settles("key", server.Addr())
		_, err = s.Get(key)
		require.Equal(t, memcache.ErrCacheMiss, err)
	}
}

// The name is the server: what it is owed is owed to it at another address, and
// its keys stay on it.
func TestMovedUnderItsName(t *testing.T) {
	t.Parallel()
	server, other := realserver.Start(t, realserver.Config{}), realserver.Start(t, realserver.Config{})
	before, after := memcachetest.NewProxy(t, server.Addr()), memcachetest.NewProxy(t, server.Addr())
	servers := []memcache.Server{{Name: "a", Addr: before.Addr()}, {Name: "b", Addr: other.Addr()}}
	list, err := memcache.NewContinuum(ring.Default, servers...)
	require.NoError(t, err)
	s := watching(t, memcache.NewFromSelector(list))

	var ofA string
	for n := 0; ofA == ""; n++ {
		key := fmt.Sprint("key", n)
		if addr, err := list.PickServer(key); err == nil && addr.String() == before.Addr() {
			ofA = key
		}
	}
	s.mustSet(ofA, "old")
	before.Stop()
	s.goesDown(ofA, before.Addr())
	require.ErrorIs(t, s.Delete(ofA), memcache.ErrInvalidationPending)

	servers[0].Addr = after.Addr()
	require.NoError(t, list.SetServers(servers...))
	addr, err := list.PickServer(ofA)
	require.NoError(t, err)
	require.Equal(t, after.Addr(), addr.String())
	until(t, "an answer", func() bool {
		item, err := s.Get(ofA)
		require.Error(t, err, "%v", item)
		return err == memcache.ErrCacheMiss
	})
	s.settles(ofA, after.Addr())
}
