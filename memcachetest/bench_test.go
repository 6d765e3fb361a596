package memcachetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// BenchmarkClient reads with the client of this module, 32 goroutines for each
// processor.
func BenchmarkClient(b *testing.B) {
	for name, protocol := range map[string]memcache.Protocol{
		"meta": memcache.Meta, "classic": memcache.Classic, "binary": memcache.Binary,
	} {
		b.Run(name, func(b *testing.B) {
			s := memcachetest.NewServer(b)
			s.Set(memcachetest.Item{Key: "key", Value: make([]byte, 100)})
			client := memcache.New(s.Addr())
			client.Protocol = protocol
			defer client.Close()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := client.Get("key"); err != nil {
						b.Error(err)
						return
					}
				}
			})
			require.Equal(b, b.N, s.Count("mg", "gets", "get", "getk", "getkq", "getq"))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "gets/s")
		})
	}
}
