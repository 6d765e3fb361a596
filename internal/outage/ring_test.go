package outage

// Several servers of a ring, and what becomes of the keys of those that are down.

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

// circle is servers on a ring.
type circle struct {
	*subject
	servers []*memcachetest.Server
}

func newCircle(t *testing.T, n int, failover memcache.FailoverSettings) *circle {
	c := new(circle)
	keys := make([]string, n)
	var servers []memcache.Server
	for range n {
		server := memcachetest.NewServer(t)
		c.servers = append(c.servers, server)
		servers = append(servers, memcache.Server{Addr: server.Addr()})
	}
	list, err := memcache.NewContinuum(ring.Default, servers...)
	require.NoError(t, err)
	for found, i := 0, 0; found < n; i++ {
		key := fmt.Sprint("key", i)
		addr, err := list.PickServer(key)
		require.NoError(t, err)
		for home, server := range c.servers {
			if server.Addr() == addr.String() && keys[home] == "" {
				keys[home] = key
				found++
			}
		}
	}
	client := memcache.NewFromSelector(list)
	client.Failover = failover
	c.subject = watching(t, client)
	c.keys = keys
	return c
}

// fall lets a server fail until it is down.
func (c *circle) fall(home int) {
	c.Helper()
	c.servers[home].Pause()
	until(c, "down", func() bool {
		c.Get(c.keys[home])
		return c.health(c.servers[home].Addr()).State != memcache.ServerUp
	})
}

// rise lets it come back.
func (c *circle) rise(home int) {
	c.Helper()
	c.servers[home].Resume()
	until(c, "up", func() bool {
		c.Get(c.keys[home])
		return c.health(c.servers[home].Addr()).State == memcache.ServerUp
	})
	c.settles(c.keys[home], c.servers[home].Addr())
}

func TestOthersDoNotNotice(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 4, memcache.FailoverSettings{})
	for _, home := range []int{0, 1, 2} {
		c.fall(home)
		c.mustSet(c.keys[3], "value")
		c.mustGet(c.keys[3], "value")
		_, err := c.Get(c.keys[home])
		assert.ErrorIs(t, err, memcache.ErrServerDown)
	}
	items, err := c.GetMulti(c.keys)
	assert.Len(t, items, 1)
	assert.ErrorIs(t, err, memcache.ErrServerDown)
	for _, home := range []int{0, 1, 2} {
		c.rise(home)
	}
	_, err = c.GetMulti(c.keys)
	assert.NoError(t, err)
}

// What another server took in does not outlive the outage, and what the home
// server kept meanwhile is gone.
func TestNextServerTakesOver(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 4, memcache.FailoverSettings{Mode: memcache.NextServer, MaxTTL: maxTTL})
	key := c.keys[0]
	c.mustSet(key, "before")
	c.fall(0)
	c.mustMiss(key)
	c.mustSet(key, "meanwhile")
	c.mustGet(key, "meanwhile")
	items, err := c.GetMulti(c.keys)
	require.NoError(t, err)
	require.Len(t, items, 1)
	assert.Equal(t, "meanwhile", string(items[key].Value))
	assert.Error(t, c.Add(&memcache.Item{Key: key, Value: []byte("added")}), "conditional changes stay at home")

	c.rise(0)
	c.mustMiss(key) // neither the value from before nor that of the other server
	c.mustSet(key, "after")
	// In the next outage nobody finds what the last one has left elsewhere.
	c.fall(0)
	for end := time.Now().Add(maxTTL / 2); time.Now().Before(end); pause(nil, 10*time.Millisecond) {
		c.mustMiss(key)
	}
	c.rise(0)
	_, err = c.Get(key)
	if err == nil {
		c.mustGet(key, "after")
	}
}

// A deletion while a server is down reaches the value that another one holds in
// its place.
func TestDeletionReachesTheOtherServer(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 4, memcache.FailoverSettings{Mode: memcache.NextServer})
	key := c.keys[0]
	c.fall(0)
	c.mustSet(key, "meanwhile")
	err := c.Delete(key)
	assert.True(t, isOwed(err), "%v", err)
	c.mustMiss(key)
	c.rise(0)
}

// With more than half of the ring down nobody is made to take over for the rest:
// the last one would fall, too. Calls to those that are down fail at once.
func TestMostOfTheRingIsDown(t *testing.T) {
	t.Parallel()
	c := newCircle(t, 4, memcache.FailoverSettings{Mode: memcache.NextServer})
	c.fall(0)
	c.fall(1)
	for _, key := range c.keys {
		c.mustSet(key, "value")
		c.mustGet(key, "value")
	}
	c.fall(2)
	for _, key := range c.keys[:3] {
		_, err := c.Get(key)
		assert.ErrorIs(t, err, memcache.ErrServerDown)
	}
	c.mustSet(c.keys[3], "value")
	c.mustGet(c.keys[3], "value")
	for _, home := range []int{0, 1, 2} {
		c.rise(home)
	}
	for _, key := range c.keys {
		c.mustSet(key, "again")
		c.mustGet(key, "again")
	}
}
