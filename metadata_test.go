package memcache_test

// What the meta protocol can do beyond the others, and that these say so.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

// requireNotSupported checks the answer of a protocol that lacks a command, and
// that the connection has not suffered.
func requireNotSupported(t *testing.T, c *memcache.Client, err error) {
	t.Helper()
	require.ErrorIs(t, err, memcache.ErrNotSupported)
	var failed *memcache.OpError
	require.ErrorAs(t, err, &failed)
	require.NotEmpty(t, failed.Server)
	require.False(t, failed.OutcomeUnknown)
	dials := countDials(c)
	mustSet(t, c, "after", "v")
	assert.Equal(t, "v", string(mustGet(t, c, "after").Value))
	assert.Zero(t, dials.Load())
}

func TestCountersThatAreCreated(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c, ctx := newClient(t, address), context.Background()
		n, err := c.IncrementOrCreate(ctx, "n", 2, 10, 100)
		if protocol == memcache.Classic {
			mustSet(t, c, "opens", "a connection")
			requireNotSupported(t, c, err)
			return
		}
		require.NoError(t, err)
		assert.EqualValues(t, 10, n)
		n, err = c.IncrementOrCreate(ctx, "n", 2, 10, 100)
		require.NoError(t, err)
		assert.EqualValues(t, 12, n)
		n, err = c.DecrementOrCreate(ctx, "n", 5, 99, 0)
		require.NoError(t, err)
		assert.EqualValues(t, 7, n)
		n, err = c.DecrementOrCreate(ctx, "m", 5, 99, -1)
		require.NoError(t, err)
		assert.EqualValues(t, 99, n)
		_, err = c.Get("m")
		assert.True(t, err == memcache.ErrCacheMiss, "it expired at once")
		mustSet(t, c, "word", "x")
		_, err = c.IncrementOrCreate(ctx, "word", 1, 1, 0)
		assert.ErrorIs(t, err, memcache.ErrServerError)
		_, err = c.IncrementOrCreate(ctx, "a b", 1, 1, 0)
		assert.True(t, err == memcache.ErrMalformedKey)

		p := c.Pipeline()
		up, down := p.IncrementOrCreate("p", 1, 40, 0), p.DecrementOrCreate("p", 5, 0, 0)
		require.NoError(t, p.Do(ctx))
		n, err = up.Number()
		require.NoError(t, err)
		assert.EqualValues(t, 40, n)
		n, err = down.Number()
		require.NoError(t, err)
		assert.EqualValues(t, 35, n)
	})
}

func TestAppendThatCreates(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c, ctx := newClient(t, address), context.Background()
		mustSet(t, c, "there", "b")
		item := func(key, value string) *memcache.Item {
			return &memcache.Item{Key: key, Value: []byte(value), Flags: 5, Expiration: 100}
		}
		err := c.AppendOrCreate(ctx, item("there", "c"))
		if protocol == memcache.Classic || protocol == memcache.Binary {
			requireNotSupported(t, c, err)
			return
		}
		require.NoError(t, err)
		require.NoError(t, c.PrependOrCreate(ctx, item("there", "a")))
		assert.Equal(t, "abc", string(mustGet(t, c, "there").Value))
		assert.Zero(t, mustGet(t, c, "there").Flags)

		for key, do := range map[string]func(context.Context, *memcache.Item) error{
			"append": c.AppendOrCreate, "prepend": c.PrependOrCreate,
		} {
			err = do(ctx, item(key, "new"))
			if err == memcache.ErrNotStored { // before 1.6.20
				_, err = c.Get(key)
				assert.True(t, err == memcache.ErrCacheMiss)
				continue
			}
			require.NoError(t, err)
			made, data, err := c.GetWithMetadata(ctx, key)
			require.NoError(t, err)
			assert.Equal(t, "new", string(made.Value))
			assert.EqualValues(t, 5, made.Flags)
			assert.InDelta(t, 100, data.TTL.Seconds(), 2)
		}
		assert.True(t, c.AppendOrCreate(ctx, nil) == memcache.ErrNilItem)
	})
}

func TestMetadata(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c, ctx := newClient(t, address), context.Background()
		require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: []byte("value"), Flags: 7, Expiration: 100}))
		data, err := c.GetMetadata(ctx, "key")
		if protocol == memcache.Classic || protocol == memcache.Binary {
			requireNotSupported(t, c, err)
			_, _, err = c.GetWithMetadata(ctx, "key")
			requireNotSupported(t, c, err)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, 5, data.Size)
		assert.EqualValues(t, 7, data.Flags)
		assert.NotZero(t, data.CasID)
		assert.True(t, data.Expires)
		assert.InDelta(t, 100, data.TTL.Seconds(), 2)
		assert.Zero(t, data.TTL%time.Second)
		assert.Less(t, data.LastAccess, 5*time.Second)
		assert.False(t, data.Fetched || data.Stale || data.Won || data.Lost)

		item, again, err := c.GetWithMetadata(ctx, "key")
		require.NoError(t, err)
		assert.Equal(t, "key", item.Key)
		assert.Equal(t, "value", string(item.Value))
		assert.Equal(t, data.CasID, item.CasID)
		assert.EqualValues(t, 7, item.Flags)
		assert.False(t, again.Fetched, "GetMetadata was no access")
		data, err = c.GetMetadata(ctx, "key")
		require.NoError(t, err)
		assert.True(t, data.Fetched)

		require.NoError(t, c.Touch("key", 0))
		data, err = c.GetMetadata(ctx, "key")
		require.NoError(t, err)
		assert.False(t, data.Expires)
		assert.Zero(t, data.TTL)

		require.NoError(t, c.Delete("key"))
		_, err = c.GetMetadata(ctx, "key")
		assert.True(t, err == memcache.ErrCacheMiss)
		item, _, err = c.GetWithMetadata(ctx, "key")
		assert.Nil(t, item)
		assert.True(t, err == memcache.ErrCacheMiss)
	})
}

func TestMetadataOfAStaleItem(t *testing.T) {
	realserver.Each(t, func(t *testing.T, b realserver.Binary) {
		address := realserver.Start(t, realserver.Config{Version: b.Version}).Addr()
		c, ctx := newClient(t, address), context.Background()
		mustSet(t, c, "key", "old")
		require.Equal(t, "HD", raw(t, address, "md key I T30"))
		item, data, err := c.GetWithMetadata(ctx, "key")
		require.NoError(t, err)
		assert.True(t, data.Stale && data.Won && !data.Lost)
		data, err = c.GetMetadata(ctx, "key")
		require.NoError(t, err)
		assert.True(t, data.Stale && !data.Won && data.Lost)
		item.Value = []byte("new")
		require.NoError(t, c.CompareAndSwap(item), "the winner's version still holds")
		data, err = c.GetMetadata(ctx, "key")
		require.NoError(t, err)
		assert.False(t, data.Stale || data.Won || data.Lost)
	})
}

func TestExpirationOfADuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(250 * time.Millisecond) // so that now is no whole second
		now, day := time.Now(), 24*time.Hour
		for name, test := range map[string]struct {
			d    time.Duration
			want int64
		}{
			"never":                     {0, 0},
			"at once":                   {-1, -1},
			"long ago":                  {-1000 * day, -1},
			"a nanosecond":              {1, 1},
			"a second":                  {time.Second, 1},
			"a bit more than a second":  {time.Second + 1, 2},
			"thirty days":               {30 * day, 2_592_000},
			"nearly thirty days":        {30*day - 1, 2_592_000},
			"more than thirty days":     {30*day + 1, now.Unix() + 30*86400 + 1},
			"a year":                    {365 * day, now.Unix() + 365*86400 + 1},
			"a year to the next second": {365*day + 750*time.Millisecond, now.Unix() + 365*86400 + 1},
			"the longest":               {1<<63 - 1, 1<<31 - 1},
		} {
			assert.EqualValues(t, test.want, memcache.Expiration(test.d), name)
		}
	})
}

func TestExpirationIsUnderstood(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for ttl, alive := range map[time.Duration]bool{
			0: true, time.Hour: true, 31 * 24 * time.Hour: true, 10 * 365 * 24 * time.Hour: true, -time.Hour: false,
		} {
			require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: []byte("v"), Expiration: memcache.Expiration(ttl)}))
			_, err := c.Get("key")
			assert.Equal(t, alive, err == nil, ttl)
		}
	})
}
