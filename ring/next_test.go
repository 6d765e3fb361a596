package ring

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every order begins with the key's server and names none twice; only Dalli's
// and spymemcached's may leave servers out.
func TestNextNamesEachServerOnce(t *testing.T) {
	for _, p := range allPlacements {
		t.Run(p.String(), func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 16} {
				r := mustNew(t, p, equalServers(n)...)
				for _, key := range append(userKeys(50), "", "{tag}x") {
					order := slices.Collect(r.Next(key))
					assert.Equal(t, r.Pick(key), order[0])
					seen := map[int]bool{}
					for _, server := range order {
						assert.False(t, seen[server], "%d twice in %v", server, order)
						seen[server] = true
					}
					switch p.rules().failover {
					case failoverRing, failoverList:
						assert.Len(t, order, n)
					}
				}
			}
		})
	}
}

func TestNextStopsWhenTold(t *testing.T) {
	for _, p := range allPlacements {
		r := mustNew(t, p, equalServers(16)...)
		count := 0
		for range r.Next("user:1:profile") {
			if count++; count == 2 {
				break
			}
		}
		assert.Equal(t, 2, count, p)
	}
}

// Where points and scores depend on their own server alone, the server that takes
// over is the one that a ring without the dead server would name.
func TestNextIsTheRingWithoutTheDead(t *testing.T) {
	for _, p := range []Placement{
		ProxyRing(HashXXH3), ProxyRingKetama(HashMD5), AliExpress,
		McrouterRendezvous, McrouterWeightedRendezvous, PymemcacheStr,
	} {
		t.Run(p.String(), func(t *testing.T) {
			servers := equalServers(8)
			r := mustNew(t, p, servers...)
			for _, key := range userKeys(300) {
				order := slices.Collect(r.Next(key))
				rest := slices.Clone(servers)
				rest = slices.Delete(rest, order[0], order[0]+1)
				without := mustNew(t, p, rest...)
				got := without.servers[without.Pick(key)].ID()
				assert.Equal(t, servers[order[1]].ID(), got, key)
			}
		})
	}
}

// A dead server's keys spread over all others.
func TestNextSpreadsKeysOfTheDead(t *testing.T) {
	const n, keys = 8, 40_000
	for _, p := range []Placement{Default, Gomemcache, Pior, McrouterCh3, LibmemcachedModula(HashMD5), TwemproxyModula(HashMD5)} {
		t.Run(p.String(), func(t *testing.T) {
			r := mustNew(t, p, equalServers(n)...)
			took := make([]float64, n)
			dead := 0.0
			for _, key := range userKeys(keys) {
				order := slices.Collect(r.Next(key))
				if order[0] == 3 {
					dead++
					took[order[1]]++
				}
			}
			for server, share := range took {
				if server != 3 {
					assert.InDelta(t, dead/(n-1), share, dead/(n-1)*0.25, "server %d", server)
				}
			}
		})
	}
}

func TestNextOfArrayModFollowsTheList(t *testing.T) {
	r := mustNew(t, SpymemcachedArrayMod(HashNative), equalServers(5)...)
	order := slices.Collect(r.Next("user:1"))
	for i, server := range order {
		assert.Equal(t, (order[0]+i)%5, server)
	}
}

func TestNextBeyondTheFirstThousandServers(t *testing.T) {
	r := mustNew(t, Default, equalServers(3000)...)
	order := slices.Collect(r.Next("user:1"))
	slices.Sort(order)
	assert.Len(t, slices.Compact(order), 3000)
}
