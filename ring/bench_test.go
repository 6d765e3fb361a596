package ring

import (
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
)

// sink keeps the compiler from dropping what is measured.
var sink int

// randomHashes returns hashes to look up, a power of two of them.
func randomHashes() []uint32 {
	rng := rand.New(rand.NewPCG(1, 1))
	hashes := make([]uint32, 1<<16)
	for i := range hashes {
		hashes[i] = rng.Uint32()
	}
	return hashes
}

// keysOfLength returns keys of n bytes, a power of two of them.
func keysOfLength(n int) []string {
	keys := make([]string, 1<<12)
	for i := range keys {
		keys[i] = fmt.Sprintf("%0*d", n, i*7919)
	}
	return keys
}

// BenchmarkLookup finds random hashes in rings of 160 points a server, by the
// table and by sort.Search, and among the arcs of Default.
func BenchmarkLookup(b *testing.B) {
	hashes := randomHashes()
	for _, n := range []int{4, 16, 50, 1000} {
		ketama := mustNew(b, ProxyRingKetama(HashMD5), equalServers(n)...).continuum
		arcs := mustNew(b, Default, equalServers(n)...).arcs
		b.Run(fmt.Sprintf("by=table/servers=%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				sink += ketama.find(hashes[i&(len(hashes)-1)]).server()
				i++
			}
		})
		b.Run(fmt.Sprintf("by=search/servers=%d", n), func(b *testing.B) {
			points := ketama.list()
			i := 0
			for b.Loop() {
				hash := hashes[i&(len(hashes)-1)]
				at := sort.Search(len(points), func(i int) bool { return points[i].value() >= hash })
				sink += points[at%len(points)].server()
				i++
			}
		})
		b.Run(fmt.Sprintf("by=arcs/servers=%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				sink += arcs.find(uint64(hashes[i&(len(hashes)-1)]) << 32)
				i++
			}
		})
	}
}

// BenchmarkPick places keys among 16 servers; by=map is one hit in a map of the
// same keys, which is what a cache of placements would cost.
func BenchmarkPick(b *testing.B) {
	for _, length := range []int{10, 20, 40} {
		keys := keysOfLength(length)
		known := make(map[string]int, len(keys))
		for i, key := range keys {
			known[key] = i
		}
		b.Run(fmt.Sprintf("by=map/key=%d", length), func(b *testing.B) {
			i := 0
			for b.Loop() {
				sink += known[keys[i&(len(keys)-1)]]
				i++
			}
		})
		for _, p := range []Placement{
			Default, Gomemcache, ProxyRing(HashXXH3), ProxyJump(HashXXH3), TwemproxyKetama(HashFNV64a),
			LibmemcachedKetamaWeighted(HashMD5), Dalli, McrouterCh3, PymemcacheStr,
		} {
			r := mustNew(b, p, equalServers(16)...)
			b.Run(fmt.Sprintf("by=%v/key=%d", p, length), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					sink += r.Pick(keys[i&(len(keys)-1)])
					i++
				}
			})
		}
		b.Run(fmt.Sprintf("by=only crypto|md5/key=%d", length), func(b *testing.B) {
			i := 0
			for b.Loop() {
				digest := md5.Sum(byteView(keys[i&(len(keys)-1)]))
				sink += int(digest[0])
				i++
			}
		})
	}
}

// BenchmarkNext goes to the first server that takes over.
func BenchmarkNext(b *testing.B) {
	keys := keysOfLength(20)
	for _, p := range []Placement{Default, Gomemcache, LibmemcachedKetamaWeighted(HashMD5), Dalli, PymemcacheStr} {
		r := mustNew(b, p, equalServers(16)...)
		b.Run(fmt.Sprintf("placement=%v", p), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				dead := -1
				for server := range r.Next(keys[i&(len(keys)-1)]) {
					if dead >= 0 {
						sink += server
						break
					}
					dead = server
				}
				i++
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, p := range []Placement{Default, ProxyRing(HashXXH3), LibmemcachedKetamaWeighted(HashMD5), Dalli, AliExpress} {
		for _, n := range []int{16, 1000} {
			servers := equalServers(n)
			b.Run(fmt.Sprintf("placement=%v/servers=%d", p, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sink += mustNew(b, p, servers...).Len()
				}
			})
		}
	}
}
