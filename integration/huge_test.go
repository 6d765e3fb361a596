package integration

// Batches far larger than any buffer between client and server, through buffers
// that are far too small: a client that only writes would wait for a server that
// waits for it to read.

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/ring"
)

// hugeKeys is the number of keys: HUGE, by hand 1000000, or less by default.
func hugeKeys(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("HUGE"))
	if err != nil {
		return 20_000
	}
	return n
}

func TestHugeBatches(t *testing.T) {
	n := hugeKeys(t)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("huge:%d", i)
	}
	for _, servers := range []int{1, 4} {
		var list []memcache.Server
		for range servers {
			s := realserver.Start(t, realserver.Config{Args: []string{"-m", "4096"}})
			list = append(list, memcache.Server{Addr: s.Addr()})
		}
		for _, buffer := range []int{4 << 10, 16 << 10} {
			for _, protocol := range []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Binary} {
				t.Run(fmt.Sprintf("%d servers, %d bytes of buffer, protocol %d", servers, buffer, protocol), func(t *testing.T) {
					continuum, err := memcache.NewContinuum(ring.Default, list...)
					require.NoError(t, err)
					c := memcache.NewFromSelector(continuum)
					defer c.Close()
					c.Timeout = 10 * time.Second
					c.Protocol = protocol
					c.Conn.ReadBuffer, c.Conn.WriteBuffer = buffer, buffer
					hugeBatch(t, c, keys)
				})
			}
		}
	}
}

// hugeBatch stores keys, reads them in each form, deletes them, and deletes them
// again when they are gone.
func hugeBatch(t *testing.T, c *memcache.Client, keys []string) {
	value := make([]byte, 1<<10)
	items := make([]*memcache.Item, len(keys))
	for i := range items {
		items[i] = &memcache.Item{Key: keys[i], Value: value, Flags: uint32(i)}
	}
	require.NoError(t, c.SetMulti(items))
	items = nil

	peak := heapPeak(t)
	hits := 0
	require.NoError(t, c.GetMultiFunc(context.Background(), keys, func(h memcache.Hit) bool {
		hits++
		return len(h.Value) == len(value)
	}))
	above := peak()
	assert.Equal(t, len(keys), hits)
	assert.Less(t, above, int64(64<<20+48*len(keys)), "bytes of heap above the keys grouped by server")

	got, err := c.GetMulti(keys)
	require.NoError(t, err)
	require.Len(t, got, len(keys))
	for i, key := range keys {
		if got[key].Flags != uint32(i) || len(got[key].Value) != len(value) {
			t.Fatalf("wrong item for %s", key)
		}
	}
	got = nil

	require.NoError(t, c.DeleteMulti(keys))
	err = c.DeleteMulti(keys)
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, memcache.ErrCacheMiss)
	absent := 0
	for _, f := range failed.Failures {
		absent += len(f.Keys)
	}
	assert.Equal(t, len(keys), absent)
	require.NoError(t, c.Ping(), "nothing is marked down")
}

// heapPeak samples the heap until the returned function is called, which tells
// how far it grew.
func heapPeak(t *testing.T) (grown func() int64) {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	base := int64(stats.HeapAlloc)
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most.Store(max(most.Load(), int64(stats.HeapAlloc)-base))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		t.Logf("heap grew by %d KiB", most.Load()>>10)
		return most.Load()
	}
}
