package memcache_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

// stamp is a value that only key has.
func stamp(key string, size int) []byte {
	return bytes.Repeat([]byte(key+"."), size/(len(key)+1)+1)
}

// fill stores n keys with their stamps and returns the keys.
func fill(t testing.TB, c *memcache.Client, n, size int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	var wg sync.WaitGroup
	for part := range slices.Chunk(keys, n/32+1) {
		wg.Go(func() {
			for _, key := range part {
				assert.NoError(t, c.Set(&memcache.Item{Key: key, Value: stamp(key, size)}))
			}
		})
	}
	wg.Wait()
	return keys
}

// byServer groups keys by the address of their server in a list.
func byServer(t testing.TB, addresses, keys []string) map[string][]string {
	var list memcache.ServerList
	require.NoError(t, list.SetServers(addresses...))
	groups := map[string][]string{}
	for _, key := range keys {
		addr, err := list.PickServer(key)
		require.NoError(t, err)
		groups[addr.String()] = append(groups[addr.String()], key)
	}
	return groups
}

// requireStamped checks that items holds keys, each with its stamp, and nothing
// else.
func requireStamped(t testing.TB, items map[string]*memcache.Item, keys []string, size int) {
	t.Helper()
	require.Len(t, items, len(keys))
	for _, key := range keys {
		item := items[key]
		require.NotNil(t, item, key)
		require.Equal(t, key, item.Key)
		require.True(t, bytes.Equal(stamp(key, size), item.Value), key)
		require.NotZero(t, item.CasID)
	}
}

func TestGetMultiOfManyKeys(t *testing.T) {
	eachFleet(t, 4, func(t *testing.T, addresses []string) {
		c := newClient(t, addresses...)
		dials := countDials(c)
		keys := fill(t, c, 5000, 200)
		asked := slices.Clone(keys)
		for i := range 1000 {
			asked = append(asked, fmt.Sprintf("absent:%d", i))
		}
		items, err := c.GetMulti(asked)
		require.NoError(t, err)
		requireStamped(t, items, keys, 200)
		wantDials(t, c, 4, dials)
	})
}

func TestGetMultiOverMoreServersThanAListIsGoodFor(t *testing.T) {
	c := newClient(t, embedded(t, 40)...)
	keys := fill(t, c, 1000, 10)
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	requireStamped(t, items, keys, 10)
}

func TestGetMultiWithoutHits(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for name, keys := range map[string][]string{
			"nil": nil, "empty": {}, "one absent": {"a"}, "all absent": {"a", "b", "c"},
		} {
			items, err := c.GetMulti(keys)
			assert.NoError(t, err, name)
			assert.NotNil(t, items, name)
			assert.Empty(t, items, name)
		}
	})
}

func TestGetMultiOfRepeatedKeys(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		keys := fill(t, c, 3, 10)
		items, err := c.GetMulti(slices.Concat(keys, keys, []string{"absent", "absent"}, keys))
		require.NoError(t, err)
		requireStamped(t, items, keys, 10)
	})
}

func TestGetMultiLeavesTheKeysAlone(t *testing.T) {
	c := newClient(t, embedded(t, 3)...)
	keys := []string{"z", "a", "m", "a"}
	_, err := c.GetMulti(keys)
	require.NoError(t, err)
	assert.Equal(t, []string{"z", "a", "m", "a"}, keys)
}

func TestGetMultiWithOneDeadServerOfFour(t *testing.T) {
	addresses := embedded(t, 4)
	healthy := newClient(t, addresses...)
	keys := fill(t, healthy, 100, 50)
	dead := deadAddress(t)
	groups := byServer(t, addresses, keys)
	lost := groups[addresses[2]]
	addresses[2] = dead

	c := newClient(t, addresses...)
	for range 3 {
		start := time.Now()
		items, err := c.GetMulti(keys)
		assert.Less(t, time.Since(start), fast)

		requireStamped(t, items, slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
			return slices.Contains(lost, key)
		}), 50)
		failed, ok := err.(*memcache.MultiError)
		require.True(t, ok, "%v", err)
		require.Len(t, failed.Failures, 1)
		assert.Equal(t, dead, failed.Failures[0].Server)
		assert.ElementsMatch(t, lost, failed.Failures[0].Keys)
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Contains(t, err.Error(), dead)
		assert.Contains(t, err.Error(), fmt.Sprintf("(%d keys)", len(lost)))
		_, ok = err.(net.Error)
		assert.True(t, ok)
	}
}

func TestGetMultiNamesAllFailedServers(t *testing.T) {
	live := embedded(t, 1)[0]
	addresses := []string{deadAddress(t), live, deadAddress(t), "nowhere"}
	c := newClient(t, addresses...)
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("key:%d", i))
	}
	_, err := c.GetMulti(keys)
	failed, ok := err.(*memcache.MultiError)
	require.True(t, ok, "%v", err)
	got := map[string]int{}
	for _, f := range failed.Failures {
		got[f.Server] += len(f.Keys)
		assert.Contains(t, err.Error(), f.Server)
	}
	var list memcache.ServerList
	require.NoError(t, list.SetServers(addresses[0], addresses[1], addresses[2], "192.0.2.1:1"))
	want := map[string]int{}
	for _, key := range keys {
		addr, _ := list.PickServer(key)
		if name := strings.Replace(addr.String(), "192.0.2.1:1", "nowhere", 1); name != live {
			want[name]++
		}
	}
	assert.Equal(t, want, got)
}

// It waits for all servers: one that is silent costs the others nothing but the
// time.
func TestGetMultiWithOneSilentServer(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	addresses := append(embedded(t, 1), silent)
	keys := []string{"a", "b", "c", "d", "e", "f"}
	groups := byServer(t, addresses, keys)
	c := newClient(t, addresses...)
	for _, key := range groups[addresses[0]] {
		require.NoError(t, c.Set(&memcache.Item{Key: key, Value: stamp(key, 10)}))
	}
	c.Timeout = 200 * time.Millisecond
	start := time.Now()
	items, err := c.GetMulti(keys)
	assert.GreaterOrEqual(t, time.Since(start), c.Timeout)
	assert.Less(t, time.Since(start), fast)
	requireStamped(t, items, groups[addresses[0]], 10)
	assert.True(t, isTimeout(err), "%v", err)
	failed, ok := err.(*memcache.MultiError)
	require.True(t, ok)
	require.Len(t, failed.Failures, 1)
	assert.Equal(t, silent, failed.Failures[0].Server)
	assert.ElementsMatch(t, groups[silent], failed.Failures[0].Keys)
}

func TestGetMultiKeepsWhatCameBeforeAHangUp(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) {
		for range 3 {
			words := c.next()
			io.WriteString(c, "VA 1 f0 c1 "+opaque(words)+"\r\n"+words[1]+"\r\n")
		}
		for range 2 { // the other requests are read, so that the close is no reset
			c.next()
		}
	})
	c := metaClient(t, address)
	items, err := c.GetMulti([]string{"a", "b", "c", "d", "e"})
	assert.Len(t, items, 3)
	for key, item := range items {
		assert.Equal(t, key, string(item.Value))
	}
	failed, ok := err.(*memcache.MultiError)
	require.True(t, ok, "%v", err)
	require.Len(t, failed.Failures, 1)
	assert.Equal(t, []string{"d", "e"}, failed.Failures[0].Keys)
	assert.ErrorIs(t, err, io.EOF)
}

func TestGetMultiWithRefusedKeys(t *testing.T) {
	address := replying(t, func(words []string) string {
		switch key := words[1]; key[0] {
		case 'm':
			return "SERVER_ERROR out of memory writing get response"
		case 'b':
			return "SERVER_ERROR busy"
		default:
			return "VA 1 f0 c1 " + opaque(words) + "\r\n" + key[:1]
		}
	})
	c := metaClient(t, address)
	dials := countDials(c)
	items, err := c.GetMulti([]string{"m1", "a1", "b1", "m2", "c1", "b2", "m3"})
	assert.Len(t, items, 2)
	failed, ok := err.(*memcache.MultiError)
	require.True(t, ok, "%v", err)
	require.Len(t, failed.Failures, 2, "one for each of the server's words")
	assert.Equal(t, []string{"m1", "m2", "m3"}, failed.Failures[0].Keys)
	assert.Equal(t, []string{"b1", "b2"}, failed.Failures[1].Keys)
	assert.ErrorIs(t, err, memcache.ErrServerError)
	wantDials(t, c, 1, dials)
}

func TestGetMultiWithAFailingSelector(t *testing.T) {
	address := embedded(t, 1)[0]
	asked := 0
	c := memcache.NewFromSelector(&foreignSelector{pick: func(key string) (net.Addr, error) {
		if asked++; key == "bad" {
			return nil, errTest
		}
		return tcpAddr(address), nil
	}})
	dials := countDials(c)
	items, err := c.GetMulti([]string{"good", "bad", "good"})
	assert.Nil(t, items)
	assert.True(t, err == errTest)
	assert.Equal(t, 2, asked)
	assert.Zero(t, dials.Load(), "nothing was sent")
}

// tcpAddr is an address of another package, known by its text.
type tcpAddr string

func (a tcpAddr) Network() string { return "tcp" }
func (a tcpAddr) String() string  { return string(a) }

// partedAddr cannot be a key of a map, nor be compared.
type partedAddr struct{ parts []string }

func (a partedAddr) Network() string { return "tcp" }
func (a partedAddr) String() string  { return strings.Join(a.parts, ":") }

// Servers are told apart by what their addresses say, not by what they are.
func TestForeignAddresses(t *testing.T) {
	kinds := map[string]func(address string) net.Addr{
		"one value": func(address string) net.Addr { return tcpAddr(address) },
		"a fresh pointer each time": func(address string) net.Addr {
			addr, err := net.ResolveTCPAddr("tcp", address)
			require.NoError(t, err)
			return addr
		},
		"not to be compared": func(address string) net.Addr {
			host, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			return partedAddr{[]string{host, port}}
		},
	}
	for name, makeAddr := range kinds {
		t.Run(name, func(t *testing.T) {
			addresses := embedded(t, 2)
			c := memcache.NewFromSelector(&foreignSelector{
				pick: func(key string) (net.Addr, error) { return makeAddr(addresses[len(key)%2]), nil },
				all:  []net.Addr{makeAddr(addresses[0]), makeAddr(addresses[1])},
			})
			c.Timeout = patience
			defer c.Close()
			dials := countDials(c)
			keys := fill(t, c, 200, 10)
			items, err := c.GetMulti(keys)
			require.NoError(t, err)
			requireStamped(t, items, keys, 10)
			require.NoError(t, c.Ping())
			require.NoError(t, c.FlushAll())
			_, err = c.Get(keys[0])
			assert.Equal(t, memcache.ErrCacheMiss, err)
			wantDials(t, c, 2, dials)
		})
	}
}

func TestSelectorWithoutAnAddress(t *testing.T) {
	c := memcache.NewFromSelector(&foreignSelector{pick: func(string) (net.Addr, error) { return nil, nil }})
	for name, do := range operations {
		assert.True(t, do(c, "key", nil) == memcache.ErrNoServers, name)
	}
}

// A server that is listed twice, or by two selectors' addresses, is asked once.
func TestGetMultiAsksAServerOnce(t *testing.T) {
	address := embedded(t, 1)[0]
	c := newClient(t, address, address, address)
	var requests atomic.Int64
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		return writeCounter{nc, &requests}, err
	}
	keys := fill(t, c, 30, 10)
	requests.Store(0)
	items, err := c.GetMulti(keys)
	require.NoError(t, err)
	requireStamped(t, items, keys, 10)
	assert.EqualValues(t, 1, requests.Load())
}

type writeCounter struct {
	net.Conn
	n *atomic.Int64
}

func (c writeCounter) Write(b []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(b)
}

// A key whose value did not come before the connection broke is no miss, though
// those of later keys did.
func TestGetMultiWithoutAnEndHasNoMisses(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) {
		c.next()
		io.WriteString(c, "VALUE a 0 1 1\r\nv\r\nVALUE c 0 1 1\r\nv\r\n")
	})
	c := newClient(t, address)
	c.Protocol = memcache.Classic
	items, err := c.GetMulti([]string{"a", "b", "c"})
	assert.Len(t, items, 2)
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.ByKey(), 1)
	for key, err := range failed.ByKey() {
		assert.Equal(t, "b", key)
		assert.ErrorIs(t, err, io.EOF)
	}
}
