package memcache_test

// What is sent in place of a key, and that callers never see it.

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// recorder is a selector that remembers the keys it was asked for, and sends all
// of them to one server.
type recorder struct {
	address string
	mu      sync.Mutex
	asked   []string
}

func (r *recorder) PickServer(key string) (net.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, key)
	return tcpAddr(r.address), nil
}

func (r *recorder) Each(f func(net.Addr) error) error { return f(tcpAddr(r.address)) }

func TestKeysOnTheWire(t *testing.T) {
	long := strings.Repeat("x", 251)
	key250, key186 := strings.Repeat("k", 250), strings.Repeat("k", 185)+" "
	anyBytes, hash := memcache.KeySettings{AnyBytes: true}, memcache.KeySettings{HashLong: true}
	both := memcache.KeySettings{AnyBytes: true, HashLong: true}
	space := func(name string) memcache.KeySettings { return memcache.KeySettings{Namespace: name} }
	with := func(name string, s memcache.KeySettings) memcache.KeySettings { s.Namespace = name; return s }
	for name, test := range map[string]struct {
		settings  memcache.KeySettings
		key, wire string // no wire: refused
	}{
		"as it is":                        {memcache.KeySettings{}, "key", "key"},
		"longest":                         {memcache.KeySettings{}, key250, key250},
		"too long":                        {memcache.KeySettings{}, long, ""},
		"space":                           {memcache.KeySettings{}, "a b", ""},
		"namespace":                       {space("app:"), "key", "app:key"},
		"namespace and empty":             {space("app:"), "", ""},
		"namespace and space":             {space("app:"), "a b", ""},
		"namespace with space":            {space("my app:"), "key", ""},
		"namespace, just fits":            {space("ab"), key250[:248], "ab" + key250[:248]},
		"namespace, too long":             {space("ab"), key250[:249], ""},
		"namespace too long":              {space(key250), "k", ""},
		"any bytes, text":                 {anyBytes, "key", "key"},
		"any bytes, longest text":         {anyBytes, key250, key250},
		"any bytes, space":                {anyBytes, "a b\r\n", "a b\r\n"},
		"any bytes, longest":              {anyBytes, key186, key186},
		"any bytes, too long":             {anyBytes, "k" + key186, ""},
		"any bytes, empty":                {anyBytes, "", ""},
		"any bytes in namespace":          {with("my app:", anyBytes), "key", "my app:key"},
		"any bytes in namespace, longest": {with(" ", anyBytes), key250[:185], " " + key250[:185]},
		"any bytes in namespace, long":    {with(" ", anyBytes), key250[:186], ""},
		"hash, short":                     {hash, "key", "key"},
		"hash, longest":                   {hash, key250, key250},
		"hash, too long":                  {hash, long, digest(long)},
		"hash, namespace":                 {with("app:", hash), key250, "app:" + digest(key250)},
		"hash, long namespace":            {with(key250[:207], hash), key250, key250[:207] + digest(key250)},
		"hash, namespace too long":        {with(key250[:208], hash), key250, ""},
		"hash, space":                     {hash, "a b" + long, ""},
		"hash and any bytes":              {both, "k" + key186, digest("k" + key186)},
		"hash and any bytes, short":       {both, "a b", "a b"},
		"hash, any bytes and namespace":   {with(key250[:207], both), " " + long, key250[:207] + digest(" "+long)},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{address: embedded(t, 1)[0]}
			c := memcache.NewFromSelector(r)
			c.Timeout = patience
			defer c.Close()
			c.Keys = test.settings
			_, err := c.Get(test.key)
			_, multiErr := c.GetMulti([]string{test.key})
			p := c.Pipeline()
			inPipeline := p.Get(test.key)
			pipeErr := p.Do(context.Background())
			setErr := c.Set(&memcache.Item{Key: test.key, Value: []byte("v")})
			setMultiErr := c.SetMulti([]*memcache.Item{{Key: test.key, Value: []byte("v")}})
			if test.wire == "" {
				for _, err := range []error{err, multiErr, pipeErr, setErr, setMultiErr} {
					assert.True(t, err == memcache.ErrMalformedKey, "%v", err)
				}
				assert.Empty(t, r.asked)
				return
			}
			assert.True(t, err == memcache.ErrCacheMiss, "%v", err)
			assert.NoError(t, multiErr)
			assert.NoError(t, pipeErr)
			_, err = inPipeline.Item()
			assert.True(t, err == memcache.ErrCacheMiss)
			assert.NoError(t, setErr)
			assert.NoError(t, setMultiErr)
			for _, asked := range r.asked {
				assert.Equal(t, test.wire, asked)
			}

			plain := newClient(t, r.address) // one that knows of no namespace
			plain.Keys.AnyBytes = true
			assert.Equal(t, "v", string(mustGet(t, plain, test.wire).Value))
			assert.Equal(t, test.key, mustGet(t, c, test.key).Key)
		})
	}
}

// keySettings are what TestOperationsWithOtherKeys uses, each with two keys that
// are present and one that is not.
var keySettings = map[string]struct {
	settings memcache.KeySettings
	keys     []string
}{
	"namespace": {memcache.KeySettings{Namespace: "app:"}, []string{"a", "b", "absent"}},
	"any bytes": {memcache.KeySettings{AnyBytes: true}, []string{"a b", "\x00\r\n", "not there"}},
	"hash":      {memcache.KeySettings{HashLong: true}, []string{strings.Repeat("a", 300), "short", strings.Repeat("c", 1000)}},
	"all": {
		memcache.KeySettings{Namespace: "an app:", PlaceWithoutNamespace: true, AnyBytes: true, HashLong: true},
		[]string{strings.Repeat("a", 300), "b c", "absent"},
	},
}

func TestOperationsWithOtherKeys(t *testing.T) {
	for name, test := range keySettings {
		t.Run(name, func(t *testing.T) {
			eachFleet(t, 3, func(t *testing.T, addresses []string) {
				c, ctx := newClient(t, addresses...), context.Background()
				c.Keys = test.settings
				a, b, absent := test.keys[0], test.keys[1], test.keys[2]
				if test.settings.AnyBytes && protocol == memcache.Classic {
					assert.ErrorIs(t, c.Set(&memcache.Item{Key: b}), memcache.ErrNotSupported)
					return
				}
				require.NoError(t, c.SetMulti(itemsOf([]string{a, b}, 10)))
				items, err := c.GetMulti(test.keys)
				require.NoError(t, err)
				requireStamped(t, items, []string{a, b}, 10)

				var streamed []string
				require.NoError(t, c.GetMultiFunc(ctx, test.keys, func(h memcache.Hit) bool {
					streamed = append(streamed, h.Key)
					return true
				}))
				assert.ElementsMatch(t, []string{a, b}, streamed)

				errs := byKey(t, c.DeleteMulti([]string{absent, a}))
				assert.Equal(t, map[string]error{absent: memcache.ErrCacheMiss}, errs)

				item := &memcache.Item{Key: a, Value: []byte("1")}
				require.NoError(t, c.Add(item))
				assert.Equal(t, a, item.Key, "the caller's Item is left alone")
				require.NoError(t, c.Append(&memcache.Item{Key: a, Value: []byte("0")}))
				require.NoError(t, c.Touch(a, 100))
				n, err := c.Increment(a, 1)
				require.NoError(t, err)
				assert.EqualValues(t, 11, n)
				numbers, err := c.IncrementMulti([]string{a, absent}, 1)
				assert.Equal(t, map[string]uint64{a: 12}, numbers)
				assert.Equal(t, map[string]error{absent: memcache.ErrCacheMiss}, byKey(t, err))
				got, err := c.GetAndTouch(a, 100)
				require.NoError(t, err)
				assert.Equal(t, a, got.Key)
				got.Value = []byte("13")
				require.NoError(t, c.CompareAndSwap(got))

				p := c.Pipeline()
				get, missed, deleted := p.Get(a), p.Get(absent), p.Delete(a)
				require.NoError(t, p.Do(ctx))
				got, err = get.Item()
				require.NoError(t, err)
				assert.Equal(t, a, got.Key)
				assert.Equal(t, "13", string(got.Value))
				_, err = missed.Item()
				assert.True(t, err == memcache.ErrCacheMiss)
				assert.NoError(t, deleted.Err())
			})
		})
	}
}

// Those who put the prefix before their keys by hand find them where they were;
// those who want all namespaces placed alike can have that.
func TestNamespaceAndPlacement(t *testing.T) {
	addresses := embedded(t, 4)
	keys := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	byHand, within := newClient(t, addresses...), newClient(t, addresses...)
	within.Keys.Namespace = "app:"
	for _, key := range keys {
		mustSet(t, byHand, "app:"+key, key)
	}
	items, err := within.GetMulti(keys)
	require.NoError(t, err)
	assert.Len(t, items, len(keys))
	for key, item := range items {
		assert.Equal(t, key, string(item.Value))
	}

	alike := newClient(t, addresses...)
	alike.Keys = memcache.KeySettings{Namespace: "other:", PlaceWithoutNamespace: true}
	for _, key := range keys {
		mustSet(t, alike, key, key)
	}
	for address, group := range byServer(t, addresses, keys) {
		for _, key := range group {
			assert.Equal(t, "HD", raw(t, address, "mg other:"+key))
		}
	}
	assert.Equal(t, memcache.ErrCacheMiss, byHand.Delete("a"))
}

func TestErrorsHoldTheCallersKeys(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	dead := deadAddress(t)
	keys := strings.Split("abcdefghij", "")
	c := newClient(t, silent, dead)
	c.Keys.Namespace = "secret:"
	ctx, cancel := context.WithTimeout(context.Background(), gaveUpWithin)
	defer cancel()
	_, err := c.GetMultiContext(ctx, keys)
	failed := byKey(t, err)
	assert.Len(t, failed, len(keys))
	for key := range failed {
		assert.True(t, slices.Contains(keys, key), key)
	}
	assert.NotContains(t, err.Error(), "secret")
	for key := range byKey(t, c.SetMultiContext(ctx, itemsOf(keys, 10))) {
		assert.True(t, slices.Contains(keys, key), key)
	}
}
