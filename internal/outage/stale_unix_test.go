//go:build unix

package outage

// Whether a client shows a value that was deleted, while servers stop, die and
// come back.

import (
	"context"
	"errors"
	"hash/crc32"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

// mode is how a client lives through outages.
type mode struct {
	conns    int
	failover memcache.FailoverSettings
	gutter   int           // how many servers beside the four take over
	grace    time.Duration // for how long it may show elsewhere what was deleted
}

func TestDeletedStaysDeleted(t *testing.T) {
	for name, m := range map[string]mode{
		"fail fast":                  {conns: 1},
		"fail fast with connections": {conns: 2},
		"next server": {
			conns:    2,
			failover: memcache.FailoverSettings{Mode: memcache.NextServer, MaxTTL: maxTTL},
			// A server that was stopped sees a moment too late that time has passed.
			grace: maxTTL + time.Second,
		},
		// The servers that take over fail as the others do.
		"gutter": {
			conns:    2,
			failover: memcache.FailoverSettings{Mode: memcache.Gutter, MaxTTL: maxTTL},
			gutter:   2,
			grace:    maxTTL + time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.try(t, newFleet(t, 4+m.gutter), outageTime(t))
		})
	}
}

// try lets the servers of f fail under a client for a while.
func (m mode) try(t *testing.T, f *fleet, length time.Duration) {
	random := seeded(t)
	var servers []memcache.Server
	addresses := f.addresses()
	own := len(addresses) - m.gutter
	for _, address := range addresses[:own] {
		servers = append(servers, memcache.Server{Addr: address})
	}
	list, err := memcache.NewContinuum(ring.Default, servers...)
	require.NoError(t, err)
	c := memcache.NewFromSelector(list)
	c.Timeout, c.MaxConns, c.Failover = timeout, m.conns, m.failover
	if m.gutter > 0 {
		spare := new(memcache.ServerList)
		require.NoError(t, spare.SetServers(addresses[own:]...))
		c.Failover.Gutter = spare
	}
	c.Failover.ProbeDelay, c.Failover.MaxProbeDelay = probeDelay, maxProbeDelay
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	tr := newTrial(t, c, list, m.grace)

	broken, called, watched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var breaking, calling, watching sync.WaitGroup
	breaking.Go(func() { f.fail(t, random, broken) })
	calling.Go(func() { tr.run(random, called) })
	watching.Go(func() { tr.watch(watched) })
	pause(nil, length)
	close(broken)
	breaking.Wait()
	pause(nil, m.grace+time.Second) // what comes late may do so now
	close(called)
	calling.Wait()
	tr.calm()
	close(watched)
	watching.Wait()

	t.Log(tr, f)
	for _, h := range c.Health() {
		t.Logf("%+v", h)
	}
	if story := tr.firstStale.Load(); story != nil {
		t.Errorf("%d stale; the first one: %s", tr.stale.Load(), *story)
	}
	assert.NotZero(t, tr.owed.Load(), "deletions that are owed")
	assert.NotZero(t, tr.unclear.Load(), "stores with unknown outcome")
}

// watch tells the histories when nothing is owed, until ended.
func (tr *trial) watch(ended <-chan struct{}) {
	for pause(ended, 10*time.Millisecond) {
		tr.look()
	}
}

// look tells the histories of keys to which nothing is owed that this is so. It
// reports whether that is the case for all.
func (tr *trial) look() (nothing bool) {
	looked := tr.keys[0].now()
	free := map[string]bool{}
	nothing = true
	for _, h := range tr.client.Health() {
		free[h.Server] = h.Owed == 0
		nothing = nothing && free[h.Server]
	}
	for _, k := range tr.keys {
		// Where values go elsewhere, something may be owed elsewhere.
		if nothing || k.grace == 0 && free[k.home] {
			k.nothingOwed(looked)
		}
	}
	return nothing
}

// calm makes calls while nothing fails, until all servers are up and nothing is
// owed. Then no key may show what was deleted, and each takes a value.
func (tr *trial) calm() {
	c := &caller{trial: tr, number: -1}
	ctx := context.Background()
	settled := func() bool {
		for _, k := range tr.keys[:hotKeys] {
			c.get(ctx, k)
		}
		up := true
		for _, h := range tr.client.Health() {
			if h.State != memcache.ServerUp || h.Owed > 0 {
				up = false
				tr.rouse(h.Server)
			}
		}
		return tr.look() && up
	}
	for end := time.Now().Add(soon); !settled(); pause(nil, 10*time.Millisecond) {
		if time.Now().After(end) {
			for _, h := range tr.client.Health() {
				tr.Errorf("not up, or owed: %+v", h)
			}
			return
		}
	}
	pause(nil, tr.keys[0].grace)
	for _, k := range tr.keys {
		c.get(ctx, k)
	}
	for _, k := range tr.keys {
		until(tr, "a value", func() bool {
			err := tr.client.Set(&memcache.Item{Key: k.name, Value: []byte("calm")})
			item, readErr := tr.client.Get(k.name)
			return err == nil && readErr == nil && string(item.Value) == "calm"
		})
	}
}

// rouse sees to it that the gutter is used if server is one of it: it gets no calls
// while all others are well, and nobody would find out that it is back.
func (tr *trial) rouse(server string) {
	home := tr.keys[0].home
	for _, k := range tr.keys {
		if k.home == server {
			return
		}
	}
	require.NoError(tr, tr.client.SetServerState(home, memcache.ServerForcedDown))
	for _, k := range tr.keys[:hotKeys] {
		if k.home == home {
			assert.ErrorIs(tr, tr.client.Delete(k.name), memcache.ErrServerDown)
		}
	}
	require.NoError(tr, tr.client.Restore(home))
}

// A failover that remembers nothing is caught: else those that are not caught
// prove nothing.
func TestForgetfulFailoverIsStale(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	f := newFleet(t, 4)
	n := newForgetful(f.addresses())
	c := memcache.NewFromSelector(n)
	c.Timeout = timeout
	c.Hooks = &memcache.Hooks{OpEnded: n.opEnded}
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	tr := newTrial(t, c, n, 0)

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { f.fail(t, random, stop) })
	wg.Go(func() { tr.run(random, stop) })
	const enough = 5
	for end := time.Now().Add(time.Minute); tr.stale.Load() < enough && time.Now().Before(end); {
		pause(nil, 10*time.Millisecond)
	}
	close(stop)
	wg.Wait()
	t.Log(tr, f)
	require.GreaterOrEqual(t, tr.stale.Load(), int64(enough))
	t.Log(*tr.firstStale.Load())
}

// forgetful is a ServerSelector that takes the next server for a while when one
// has failed, and knows nothing of what the one that failed has missed.
type forgetful struct {
	addrs []net.Addr
	until map[string]*atomic.Int64 // by address: in Unix nanoseconds
}

func newForgetful(addresses []string) *forgetful {
	n := &forgetful{until: map[string]*atomic.Int64{}}
	for _, address := range addresses {
		addr, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			panic(err)
		}
		n.addrs = append(n.addrs, addr)
		n.until[address] = new(atomic.Int64)
	}
	return n
}

func (n *forgetful) PickServer(key string) (net.Addr, error) {
	home := int(crc32.ChecksumIEEE([]byte(key)) % uint32(len(n.addrs)))
	for i := range n.addrs {
		addr := n.addrs[(home+i)%len(n.addrs)]
		if n.until[addr.String()].Load() < time.Now().UnixNano() {
			return addr, nil
		}
	}
	return n.addrs[home], nil
}

func (n *forgetful) Each(f func(net.Addr) error) error {
	for _, addr := range n.addrs {
		if err := f(addr); err != nil {
			return err
		}
	}
	return nil
}

func (n *forgetful) opEnded(_ context.Context, op memcache.OpInfo, result memcache.OpResult) {
	var failed net.Error
	if errors.As(result.Err, &failed) && !errors.Is(result.Err, context.DeadlineExceeded) {
		n.until[op.Server].Store(time.Now().Add(500 * time.Millisecond).UnixNano())
	}
}
