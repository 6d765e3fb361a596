package outage

// A client that is watched, and waits for what becomes of its servers.

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

const (
	// patience is the timeout of clients whose every call is looked at: a busy
	// machine must not be taken for an outage.
	patience = 500 * time.Millisecond

	// soon is a bound for what takes a few timeouts on a machine at rest.
	soon = 30 * time.Second

	probeDelay, maxProbeDelay = 20 * time.Millisecond, 100 * time.Millisecond

	// maxTTL bounds the life of what is written in the place of another server.
	maxTTL = 2 * time.Second
)

// subject is a client that is watched.
type subject struct {
	*testing.T
	*memcache.Client
	keys                  []string // one of each server, if there are several
	dials, dialling, most atomic.Int32
}

// newSubject returns a client of servers. Its Failover may be changed until the
// first call.
func newSubject(t *testing.T, servers ...string) *subject {
	return watching(t, memcache.New(servers...))
}

func watching(t *testing.T, c *memcache.Client) *subject {
	s := &subject{T: t, Client: c}
	c.Timeout = patience
	c.Failover.ProbeDelay, c.Failover.MaxProbeDelay = probeDelay, maxProbeDelay
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		s.dials.Add(1)
		now := s.dialling.Add(1)
		defer s.dialling.Add(-1)
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return s
}

// health is that of the server with the given address.
func (s *subject) health(address string) memcache.ServerHealth {
	s.Helper()
	for _, h := range s.Health() {
		if h.Server == address {
			return h
		}
	}
	require.Fail(s, "no such server", "%s in %v", address, s.Health())
	return memcache.ServerHealth{}
}

// until calls f until it reports success.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !f(); pause(nil, 2*time.Millisecond) {
		require.True(t, time.Now().Before(end), "not reached: %s", what)
	}
}

// goesDown makes calls until the server of key is down. Those that fail fail as
// calls to a network do.
func (s *subject) goesDown(key, address string) {
	s.Helper()
	until(s, "down", func() bool {
		_, err := s.Get(key)
		var failure net.Error
		require.True(s, err == nil || err == memcache.ErrCacheMiss || errors.As(err, &failure), "%v", err)
		return errors.Is(err, memcache.ErrServerDown)
	})
}

// comesBack makes calls until they succeed again.
func (s *subject) comesBack(key, address string) {
	s.Helper()
	until(s, "up", func() bool {
		_, err := s.Get(key)
		return err == nil || err == memcache.ErrCacheMiss
	})
	until(s, "up", func() bool { return s.health(address).State == memcache.ServerUp })
}

// staysDown makes calls while some probes fail.
func (s *subject) staysDown(key, address string) {
	s.Helper()
	const probes = 3
	failed := s.health(address).ProbesFailed
	until(s, "probes that fail", func() bool {
		_, err := s.Get(key)
		require.ErrorIs(s, err, memcache.ErrServerDown)
		return s.health(address).ProbesFailed >= failed+probes
	})
}

// again is until for calls to servers that are well. One that a busy machine kept
// from answering comes back by calls of its own.
func (s *subject) again(what string, f func() bool) {
	s.Helper()
	until(s, what, func() bool {
		done := f()
		if !done {
			s.GetMulti(s.keys)
		}
		return done
	})
}

// mustSet stores a value on a server that is well. A machine that is busy may
// have kept the client from noticing that at once.
func (s *subject) mustSet(key, value string) {
	s.Helper()
	s.again("stored", func() bool {
		err := s.Set(&memcache.Item{Key: key, Value: []byte(value)})
		for _, h := range s.Health() {
			if err != nil && h.Owed > 0 && h.State == memcache.ServerUp {
				s.settles(key, h.Server) // or the value would be deleted after all
			}
		}
		return err == nil
	})
}

func (s *subject) mustGet(key, value string) {
	s.Helper()
	s.again("read", func() bool {
		item, err := s.Get(key)
		if err == nil {
			require.Equal(s, value, string(item.Value))
		}
		require.NotEqual(s, memcache.ErrCacheMiss, err)
		return err == nil
	})
}

// mustMiss reads a key that no server may show.
func (s *subject) mustMiss(key string) {
	s.Helper()
	s.again("read", func() bool {
		item, err := s.Get(key)
		require.Nil(s, item)
		return err == memcache.ErrCacheMiss
	})
}

// settles makes calls until nothing is owed to the server of key.
func (s *subject) settles(key, address string) {
	s.Helper()
	until(s, "nothing owed", func() bool {
		s.Get(key)
		return s.health(address).Owed == 0
	})
}

// isOwed reports whether err promises that the server will delete the key.
func isOwed(err error) bool { return errors.Is(err, memcache.ErrInvalidationPending) }
