package memcache_test

// Expirations mean the same in every protocol.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

const thirtyDays = 30 * 24 * 60 * 60

// expiring are the ways to give an item an expiration, on a key that is present.
var expiring = map[string]func(c *memcache.Client, key string, expiration int32) error{
	"Set": func(c *memcache.Client, key string, expiration int32) error {
		return c.Set(&memcache.Item{Key: key, Expiration: expiration})
	},
	"Replace": func(c *memcache.Client, key string, expiration int32) error {
		return c.Replace(&memcache.Item{Key: key, Expiration: expiration})
	},
	"Add": func(c *memcache.Client, key string, expiration int32) error {
		if err := c.Delete(key); err != nil {
			return err
		}
		return c.Add(&memcache.Item{Key: key, Expiration: expiration})
	},
	"CompareAndSwap": func(c *memcache.Client, key string, expiration int32) error {
		item, err := c.Get(key)
		if err != nil {
			return err
		}
		item.Expiration = expiration
		return c.CompareAndSwap(item)
	},
	"Touch": (*memcache.Client).Touch,
	"GetAndTouch": func(c *memcache.Client, key string, expiration int32) error {
		_, err := c.GetAndTouch(key, expiration)
		return err
	},
}

func TestExpirations(t *testing.T) {
	now := time.Now().Unix()
	tests := []struct {
		name       string
		expiration int32
		ttl        int64 // seconds left; -1 never, 0 the item is gone
	}{
		{"never", 0, -1},
		{"an hour from now", 3600, 3600},
		{"30 days from now", thirtyDays, thirtyDays},
		{"one second more is in 1970", thirtyDays + 1, 0},
		{"Unix time in an hour", int32(now + 3600), 3600},
		{"Unix time of the past", int32(now - 3600), 0},
		{"negative", -1, 0},
		{"far in the negative", -thirtyDays, 0},
	}
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for _, tt := range tests {
			for name, expire := range expiring {
				t.Run(tt.name+" by "+name, func(t *testing.T) {
					require.NoError(t, c.Set(&memcache.Item{Key: "key", Value: []byte("v"), Expiration: 60}))
					require.NoError(t, expire(c, "key", tt.expiration))
					if tt.ttl == 0 {
						_, err := c.Get("key")
						assert.Equal(t, memcache.ErrCacheMiss, err)
						return
					}
					assert.Zero(t, mustGet(t, c, "key").Expiration)
					ttl, err := strconv.ParseInt(strings.TrimPrefix(raw(t, address, "mg key t"), "HD t"), 10, 64)
					require.NoError(t, err)
					assert.InDelta(t, tt.ttl, ttl, 10)
				})
			}
		}
	})
}

func TestItemsExpireAndTouchKeepsThem(t *testing.T) {
	s := memcachetest.NewServer(t)
	c := newClient(t, s.Addr())
	for i := range 3 {
		require.NoError(t, c.Set(&memcache.Item{Key: fmt.Sprint("key", i), Expiration: 100}))
	}
	s.FastForward(60 * time.Second)
	require.NoError(t, c.Touch("key1", 100))
	_, err := c.GetAndTouch("key2", 100)
	require.NoError(t, err)
	s.FastForward(60 * time.Second)
	_, err = c.Get("key0")
	assert.Equal(t, memcache.ErrCacheMiss, err)
	mustGet(t, c, "key1")
	mustGet(t, c, "key2")
}
