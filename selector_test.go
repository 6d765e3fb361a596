package memcache_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

// badAddresses make no sense whatever the network says.
var badAddresses = []string{"", "nohost", "a:b:c", "host:port:x", "[::1:11211", "127.0.0.1:noservice", "127.0.0.1:65536", "127.0.0.1:-1"}

// withoutNames makes all host names unknown at once until the end of the test,
// those that this machine knows by itself excepted.
func withoutNames(t testing.TB) {
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial:     func(context.Context, string, string) (net.Conn, error) { return nil, errTest },
	}
}

func list(t testing.TB, servers ...string) *memcache.ServerList {
	l := new(memcache.ServerList)
	require.NoError(t, l.SetServers(servers...))
	return l
}

// each returns the addresses that s visits.
func each(t testing.TB, s memcache.ServerSelector) []string {
	var visited []string
	require.NoError(t, s.Each(func(addr net.Addr) error {
		visited = append(visited, addr.String())
		return nil
	}))
	return visited
}

// Fleets of programs with gomemcache and with this package share their servers,
// so a key may not have another place here.
func TestServerListPlacesKeysByCRC32(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 3, 4, 7, 16, 100} {
		servers := make([]string, n)
		for i := range servers {
			servers[i] = fmt.Sprintf("192.0.2.%d:11211", i+1)
		}
		l := list(t, servers...)
		for range 1000 {
			key := make([]byte, 1+rng.IntN(250))
			for i := range key {
				key[i] = byte('!' + rng.IntN('~'-'!'+1))
			}
			addr, err := l.PickServer(string(key))
			require.NoError(t, err)
			require.Equal(t, servers[crc32.ChecksumIEEE(key)%uint32(n)], addr.String(), "%s on %d servers", key, n)
		}
	}
}

// New and ServerList must agree, and so must what reaches the servers.
func TestNewPlacesKeysAsServerListDoes(t *testing.T) {
	addresses := embedded(t, 3)
	addresses = append(addresses, addresses[0]) // with twice the weight
	c := newClient(t, addresses...)
	keys := fill(t, c, 100, 1)
	for server, keys := range byServer(t, addresses, keys) {
		for _, key := range keys {
			assert.Equal(t, "HD", raw(t, server, "mg "+key), key)
		}
	}
}

func TestServerListOrderAndRepeatsCount(t *testing.T) {
	l := list(t, "192.0.2.2:1", "192.0.2.1:1", "192.0.2.2:1", "/run/memcached.sock")
	assert.Equal(t, []string{"192.0.2.2:1", "192.0.2.1:1", "192.0.2.2:1", "/run/memcached.sock"}, each(t, l))
}

func TestServerListWithoutServers(t *testing.T) {
	for name, l := range map[string]*memcache.ServerList{"zero": new(memcache.ServerList), "emptied": list(t)} {
		addr, err := l.PickServer("key")
		assert.Nil(t, addr, name)
		assert.True(t, err == memcache.ErrNoServers, name)
		assert.Empty(t, each(t, l), name)
	}
}

func TestSetServersChecksAllAndChangesNothingOnAnError(t *testing.T) {
	withoutNames(t)
	l := list(t, "192.0.2.1:1")
	for _, bad := range append(badAddresses, "nosuch.invalid:11211") {
		t.Run(bad, func(t *testing.T) {
			err := l.SetServers("192.0.2.2:1", bad, "192.0.2.3:1")
			failed, ok := err.(*memcache.OpError)
			require.True(t, ok, "%v", err)
			assert.Equal(t, bad, failed.Server)
			assert.Contains(t, err.Error(), bad)
			assert.Equal(t, []string{"192.0.2.1:1"}, each(t, l))
		})
	}
}

func TestServerListResolvesAsGomemcacheDoes(t *testing.T) {
	for _, address := range []string{"127.0.0.1:11211", "localhost:11211", "localhost:http", "[::1]:11211", ":11211", "[fe80::1%lo]:1"} {
		want, err := net.ResolveTCPAddr("tcp", address)
		require.NoError(t, err)
		assert.Equal(t, []string{want.String()}, each(t, list(t, address)), address)
	}
}

func TestServerListAddresses(t *testing.T) {
	l := list(t, "192.0.2.1:1", "run/memcached.sock")
	want := []string{"tcp 192.0.2.1:1", "unix run/memcached.sock"}
	var got []string
	l.Each(func(addr net.Addr) error {
		got = append(got, addr.Network()+" "+addr.String())
		_, isTCP := addr.(*net.TCPAddr)
		assert.False(t, isTCP)
		return nil
	})
	assert.Equal(t, want, got)
}

func TestEachStopsAtTheFirstError(t *testing.T) {
	continuum, err := memcache.NewContinuum(ring.Default, memcache.Server{Addr: "192.0.2.1:1"}, memcache.Server{Addr: "192.0.2.2:1"})
	require.NoError(t, err)
	for name, s := range map[string]memcache.ServerSelector{
		"ServerList": list(t, "192.0.2.1:1", "192.0.2.2:1"), "Continuum": continuum,
	} {
		visits := 0
		err := s.Each(func(net.Addr) error { visits++; return errTest })
		assert.True(t, err == errTest, name)
		assert.Equal(t, 1, visits, name)
	}
}

// gomemcache holds a lock there.
func TestSetServersInsideEach(t *testing.T) {
	l := list(t, "192.0.2.1:1", "192.0.2.2:1")
	visits := 0
	require.NoError(t, l.Each(func(net.Addr) error { visits++; return l.SetServers("192.0.2.3:1") }))
	assert.Equal(t, 2, visits, "of the list as it was")
	assert.Equal(t, []string{"192.0.2.3:1"}, each(t, l))
}

func TestSetServersWhileInUse(t *testing.T) {
	addresses := embedded(t, 4)
	l := list(t, addresses...)
	c := memcache.NewFromSelector(l)
	c.Timeout = fast
	defer c.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				assert.NoError(t, c.Set(&memcache.Item{Key: "a", Value: []byte("v")}))
				_, err := c.GetMulti([]string{"a", "b", "c", "d", "e", "f"})
				assert.NoError(t, err)
				assert.NoError(t, c.Ping())
			}
		})
	}
	for i := range 200 {
		assert.NoError(t, l.SetServers(addresses[i%4:]...))
	}
	close(stop)
	wg.Wait()
}

func TestPingAndFlushAllStopAtTheFirstFailure(t *testing.T) {
	live, dead := embedded(t, 2), deadAddress(t)
	for _, address := range live {
		mustSet(t, newClient(t, address), "key", "v")
	}
	c := newClient(t, live[0], dead, live[1])
	for name, do := range map[string]func() error{"Ping": c.Ping, "FlushAll": c.FlushAll} {
		err := do()
		var failed *memcache.OpError
		require.ErrorAs(t, err, &failed, name)
		assert.Equal(t, dead, failed.Server, name)
	}
	assert.Equal(t, "EN", raw(t, live[0], "mg key"))
	assert.Equal(t, "HD", raw(t, live[1], "mg key"))
}

func TestDeleteAllFlushesOneServerAndFlushAllEach(t *testing.T) {
	eachFleet(t, 3, func(t *testing.T, addresses []string) {
		left := func() (holders []string) {
			for _, address := range addresses {
				if raw(t, address, "mg key") == "HD" {
					holders = append(holders, address)
				}
			}
			return holders
		}
		for _, address := range addresses {
			mustSet(t, newClient(t, address), "key", "v")
		}
		require.Len(t, left(), 3)
		c := newClient(t, addresses...)
		require.NoError(t, c.DeleteAll())
		assert.Equal(t, addresses[1:], left(), "the empty key belongs to the first")
		require.NoError(t, c.FlushAll())
		assert.Empty(t, left())
	})
}

// A list that New cannot make sense of serves what it can.
func TestNewWithAnAddressThatIsOfNoUse(t *testing.T) {
	withoutNames(t)
	for _, bad := range append(badAddresses, "nosuch.invalid:11211") {
		for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
			"own dialer": nil, "custom dialer": new(net.Dialer).DialContext,
		} {
			t.Run(bad+" "+name, func(t *testing.T) {
				live := embedded(t, 1)[0]
				c := newClient(t, live, bad)
				c.DialContext = dial
				served, failed := 0, 0
				for i := range 20 {
					key := fmt.Sprint("key", i)
					err := c.Set(&memcache.Item{Key: key})
					if crc32.ChecksumIEEE([]byte(key))%2 == 0 {
						assert.NoError(t, err)
						served++
						continue
					}
					var op *memcache.OpError
					require.ErrorAs(t, err, &op)
					assert.Equal(t, bad, op.Server)
					assert.Contains(t, err.Error(), bad)
					assert.False(t, op.OutcomeUnknown)
					failed++
				}
				assert.NotZero(t, served)
				assert.NotZero(t, failed)
				assert.Error(t, c.Ping())
			})
		}
	}
}

func TestContinuumSpreadsKeysByWeight(t *testing.T) {
	c, err := memcache.NewContinuum(ring.Default,
		memcache.Server{Addr: "192.0.2.1:1", Weight: 1},
		memcache.Server{Addr: "192.0.2.2:1", Weight: 3},
		memcache.Server{Addr: "192.0.2.3:1"}, // which is 1
	)
	require.NoError(t, err)
	assert.Equal(t, []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"}, each(t, c))
	const keys = 20_000
	shares := map[string]int{}
	for i := range keys {
		addr, err := c.PickServer(fmt.Sprint("key:", i))
		require.NoError(t, err)
		shares[addr.String()]++
	}
	assert.InEpsilon(t, keys/5, shares["192.0.2.1:1"], 0.1)
	assert.InEpsilon(t, keys/5*3, shares["192.0.2.2:1"], 0.1)
	assert.InEpsilon(t, keys/5, shares["192.0.2.3:1"], 0.1)
}

func TestContinuumByNameOutlivesAnAddress(t *testing.T) {
	servers := []memcache.Server{{Addr: "192.0.2.1:1", Name: "a"}, {Addr: "192.0.2.2:1", Name: "b"}, {Addr: "192.0.2.3:1", Name: "c"}}
	c, err := memcache.NewContinuum(ring.Default, servers...)
	require.NoError(t, err)
	before := map[string]string{}
	for i := range 1000 {
		key := fmt.Sprint("key:", i)
		addr, _ := c.PickServer(key)
		before[key] = addr.String()
	}
	servers[1].Addr = "192.0.2.9:1"
	require.NoError(t, c.SetServers(servers...))
	for key, address := range before {
		addr, _ := c.PickServer(key)
		assert.Equal(t, strings.Replace(address, "192.0.2.2:1", "192.0.2.9:1", 1), addr.String())
	}
}

func TestContinuumRefusesServersAndChangesNothing(t *testing.T) {
	good := memcache.Server{Addr: "192.0.2.1:1"}
	c, err := memcache.NewContinuum(ring.Default, good)
	require.NoError(t, err)
	tests := map[string]struct {
		servers []memcache.Server
		is      error
		names   string
	}{
		"none":          {nil, memcache.ErrNoServers, ""},
		"weight":        {[]memcache.Server{good, {Addr: "192.0.2.2:1", Weight: -1}}, ring.ErrWeight, "192.0.2.2:1"},
		"same server":   {[]memcache.Server{good, good}, ring.ErrDuplicate, "192.0.2.1:1"},
		"same name":     {[]memcache.Server{{Addr: "192.0.2.2:1", Name: "n"}, {Addr: "192.0.2.3:1", Name: "n"}}, ring.ErrDuplicate, "n"},
		"name is taken": {[]memcache.Server{good, {Addr: "192.0.2.3:1", Name: "192.0.2.1:1"}}, ring.ErrDuplicate, "192.0.2.1:1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := c.SetServers(tt.servers...)
			assert.ErrorIs(t, err, tt.is)
			assert.Contains(t, err.Error(), tt.names)
			assert.True(t, strings.HasPrefix(err.Error(), "memcache: "))
			assert.Equal(t, []string{"192.0.2.1:1"}, each(t, c))
			_, err = memcache.NewContinuum(ring.Default, tt.servers...)
			assert.ErrorIs(t, err, tt.is)
		})
	}
	for _, bad := range badAddresses {
		t.Run(bad, func(t *testing.T) {
			err := c.SetServers(good, memcache.Server{Addr: bad, Name: "name"})
			failed, ok := err.(*memcache.OpError)
			require.True(t, ok, "%v", err)
			assert.Equal(t, bad, failed.Server)
			assert.Equal(t, []string{"192.0.2.1:1"}, each(t, c))
		})
	}
}

// A name server that is away must not keep a fleet from being configured.
func TestContinuumResolvesNothing(t *testing.T) {
	withoutNames(t)
	live := embedded(t, 1)[0]
	selector, err := memcache.NewContinuum(ring.Default, memcache.Server{Addr: live}, memcache.Server{Addr: "nosuch.invalid:11211"})
	require.NoError(t, err)
	c := memcache.NewFromSelector(selector)
	c.Timeout = patience
	defer c.Close()
	var failed []string
	for i := range 20 {
		key := fmt.Sprint("key", i)
		if err := c.Set(&memcache.Item{Key: key}); err != nil {
			assert.Contains(t, err.Error(), "nosuch.invalid:11211")
			failed = append(failed, key)
		}
	}
	assert.NotEmpty(t, failed)
	assert.Less(t, len(failed), 20)
	slices.Sort(failed)
	items, err := c.GetMulti(failed)
	assert.Empty(t, items)
	assert.ErrorContains(t, err, "nosuch.invalid:11211")
}
