package ring

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full reports whether the long forms of tests are asked for: RING_FULL=1.
func full() bool { return os.Getenv("RING_FULL") != "" }

// weightedServers returns n servers with weights 1 to 100.
func weightedServers(n int, rng *rand.Rand) []Server {
	servers := equalServers(n)
	for i := range servers {
		servers[i].Weight = float64(1 + rng.IntN(100))
	}
	return servers
}

// searched finds the server of hash by a plain search of the points.
func searched(points []point, hash uint32, down bool) int {
	if down {
		i := sort.Search(len(points), func(i int) bool { return points[i].value() > hash })
		return points[(i-1+len(points))%len(points)].server()
	}
	i := sort.Search(len(points), func(i int) bool { return points[i].value() >= hash })
	return points[i%len(points)].server()
}

func TestTableFindsWhatSearchFinds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	counts, hashes := []int{1, 2, 3, 4, 7, 16, 25, 50, 100, 333, 1000}, scaled(100_000)
	if full() {
		hashes = 10_000_000
		for n := 1; n <= 1000; n += 7 {
			counts = append(counts, n)
		}
	}
	for _, p := range []Placement{LibmemcachedKetamaWeighted(HashMD5), Dalli} {
		for _, n := range counts {
			for _, kind := range []string{"equal", "weighted"} {
				t.Run(fmt.Sprintf("%v/%d/%s", p, n, kind), func(t *testing.T) {
					servers := equalServers(n)
					if kind == "weighted" {
						servers = weightedServers(n, rng)
					}
					r := mustNew(t, p, servers...)
					points, down := r.continuum.list(), r.table == tablePointsDown
					check := func(hash uint32) {
						if got, want := r.lookUp(uint64(hash)), searched(points, hash, down); got != want {
							require.Equal(t, want, got, "hash %d", hash)
						}
					}
					for _, p := range points {
						check(p.value() - 1)
						check(p.value())
						check(p.value() + 1)
					}
					check(0)
					check(1<<32 - 1)
					for range hashes {
						check(rng.Uint32())
					}
				})
			}
		}
	}
}

func TestTableWithPointsAtTheEnds(t *testing.T) {
	tests := []struct {
		name   string
		points []point
	}{
		{"one point", []point{newPoint(7, 0)}},
		{"first and last hash", []point{newPoint(0, 0), newPoint(1<<32-1, 1)}},
		{"equal values", []point{newPoint(5, 0), newPoint(5, 1), newPoint(5, 2), newPoint(5, 3), newPoint(5, 4), newPoint(9, 5)}},
		{"crowded bucket", func() (points []point) {
			for i := range 100 {
				points = append(points, newPoint(1<<31+uint32(i), i))
			}
			return points
		}()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := append([]point(nil), tt.points...)
			c := indexPoints(tt.points)
			for _, p := range append(list, newPoint(0, 0), newPoint(1<<32-1, 0)) {
				for _, hash := range []uint32{p.value() - 1, p.value(), p.value() + 1} {
					assert.Equal(t, searched(list, hash, false), c.find(hash).server(), "at or after %d", hash)
					assert.Equal(t, searched(list, hash, false), c.points[c.at(hash)].server(), "at or after %d", hash)
					assert.Equal(t, searched(list, hash, true), c.points[c.before(hash)].server(), "at or before %d", hash)
				}
			}
		})
	}
}

func TestLongTableFindsWhatSearchFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{2, 3, 16, 100} {
		points := mustNew(t, AliExpress, equalServers(n)...).long
		check := func(hash uint64) {
			want := sort.Search(len(points.points), func(i int) bool { return points.points[i].value >= hash })
			require.Equal(t, want%len(points.points), points.at(hash), "hash %d", hash)
		}
		for _, p := range points.points {
			check(p.value - 1)
			check(p.value)
			check(p.value + 1)
		}
		check(0)
		check(1<<64 - 1)
		for range 10_000 {
			check(rng.Uint64())
		}
	}
}

// Twemproxy and libmemcached compute point counts in single precision: with
// these numbers of equal servers, up to 100, each has 39 texts and not 40.
func TestKetamaTextsRoundAsThePeersDo(t *testing.T) {
	var short []int
	for n := 1; n <= 1000; n++ {
		texts := ketamaTexts(1, float64(n), n)
		if texts != 40 {
			assert.Equal(t, 39, texts, "%d servers", n)
			short = append(short, n)
		}
	}
	assert.Equal(t, []int{25, 47, 50, 55, 61, 71, 94, 100}, short[:8])
	assert.Len(t, short, 103)
}

func TestPointsAreBounded(t *testing.T) {
	_, err := New(ProxyRing(HashXXH3).Buckets(MaxPoints/2), equalServers(3)...)
	assert.ErrorIs(t, err, ErrTooManyPoints)
	_, err = New(ProxyRingKetama(HashMD5).Buckets(3), equalServers(3)...)
	assert.ErrorIs(t, err, ErrNoPoints)
	_, err = New(Gomemcache, Server{Addr: "a", Weight: MaxWeight}, Server{Addr: "b", Weight: 1})
	assert.ErrorIs(t, err, ErrTooManyPoints)
}
