//go:build unix && (amd64 || arm64)

package memcache_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

// The value lies in memory that may not be touched: whoever reads one byte of it
// crashes the test.
func TestValueAboveAllLimitsIsRefusedUnread(t *testing.T) {
	value, err := syscall.Mmap(-1, 0, memcache.MaxValueSize+1, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer syscall.Munmap(value)
	c := memcache.NewFromSelector(nil) // which is not asked
	for name, store := range stores {
		assert.True(t, store(c, &memcache.Item{Key: "key", Value: value}) == memcache.ErrValueTooLarge, name)
	}
}
