package memcache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

func TestLegalKeysReachTheServerAsTheyAre(t *testing.T) {
	keys := map[string]string{
		"one byte":       "k",
		"250 bytes":      strings.Repeat("k", memcache.MaxKeyLength),
		"UTF-8":          "Grüße_世界",
		"no UTF-8":       "k\x80\xff\xfe",
		"C1 control":     "k\u0085",
		"quotes":         `"'\%s`,
		"first and last": "!~",
		"an option":      "noreply",
	}
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		for name, key := range keys {
			t.Run(name, func(t *testing.T) {
				mustSet(t, c, key, name)
				item := mustGet(t, c, key)
				assert.Equal(t, key, item.Key)
				assert.Equal(t, name, string(item.Value))
				assert.Equal(t, fmt.Sprintf("VALUE %s 0 %d", key, len(name)), raw(t, address, "get "+key))
				items, err := c.GetMulti([]string{key})
				require.NoError(t, err)
				require.Contains(t, items, key)
				assert.Equal(t, name, string(items[key].Value))
				assert.NoError(t, c.Delete(key))
			})
		}
	})
}

// The rule comes before all else: the server is dead, the selector would panic.
func TestIllegalKeysTouchNothing(t *testing.T) {
	keys := map[string]string{
		"empty":                "",
		"251 bytes":            strings.Repeat("k", memcache.MaxKeyLength+1),
		"251 bytes of 2 each":  strings.Repeat("ü", 126),
		"space":                "a b",
		"only a space":         " ",
		"NUL":                  "a\x00",
		"tab":                  "a\tb",
		"line end":             "a\r\nb",
		"another command":      "a\r\nflush_all\r\n",
		"last control byte":    "a\x1f",
		"DEL":                  "a\x7f",
		"space behind 250":     strings.Repeat("k", 249) + " ",
		"control byte in UTF8": "ü\x01",
	}
	c := memcache.NewFromSelector(nil)
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			for op, do := range operations {
				assert.True(t, do(c, key, nil) == memcache.ErrMalformedKey, op)
			}
			items, err := c.GetMulti([]string{"good", key})
			assert.True(t, err == memcache.ErrMalformedKey)
			assert.Nil(t, items)
		})
	}
}
