package ring

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomServers returns n servers of weight 1 with random names.
func randomServers(n int, rng *rand.Rand) []Server {
	servers := make([]Server, n)
	for i := range servers {
		servers[i] = Server{Addr: fmt.Sprintf("cache-%08x.example.net:11211", rng.Uint32()), Weight: 1}
	}
	return servers
}

// scaled returns how often to repeat what is worth n repetitions.
func scaled(n int) int {
	if raceDetector {
		return n / 10
	}
	return n
}

// keyHashes returns the hashes of n keys as [Default] hashes them.
func keyHashes(n int) []uint64 {
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = xxhash.Sum64String(fmt.Sprintf("user:%d:profile", i))
	}
	return hashes
}

func TestDefaultBalance(t *testing.T) {
	const servers, keys = 16, 1_000_000
	sets := scaled(200)
	rng := rand.New(rand.NewPCG(16, 200))
	onArc := make([]int, arcCount) // keys; lists of servers differ in the arcs' owners only
	for _, h := range keyHashes(keys) {
		onArc[h>>(64-arcBits)]++
	}
	var worst []float64 // max/mean of each set
	for range sets {
		r := mustNew(t, Default, randomServers(servers, rng)...)
		perServer := make([]int, servers)
		for arc, server := range r.arcs {
			perServer[server] += onArc[arc]
		}
		worst = append(worst, float64(slices.Max(perServer))*servers/keys)
	}
	slices.Sort(worst)
	t.Logf("max/mean over %d sets of %d: median %.4f, 95%% %.4f, worst %.4f",
		sets, servers, worst[sets/2], worst[sets*95/100-1], worst[sets-1])
	assert.LessOrEqual(t, worst[sets*95/100-1], 1.05)
	assert.LessOrEqual(t, worst[sets-1], 1.08)
}

// Each server's share is within 5 % of what its weight asks for, or within 3
// standard deviations of a count as small as its own.
func TestDefaultHonoursWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 100))
	for range scaled(100) {
		servers := weightedServers(2+rng.IntN(40), rng)
		for i := range servers {
			servers[i].Name = fmt.Sprintf("cache-%08x", rng.Uint32())
		}
		r := mustNew(t, Default, servers...)
		arcs, total := make([]float64, len(servers)), 0.0
		for _, server := range r.arcs {
			arcs[server]++
		}
		for _, s := range servers {
			total += s.Weight
		}
		for i, s := range servers {
			want := s.Weight / total * arcCount
			assert.InDelta(t, 1, arcs[i]/want, max(0.05, 3/math.Sqrt(want)), "weight %v of %v", s.Weight, total)
		}
	}
}

func TestDefaultMovesKeysToNewServerOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 0))
	hashes := keyHashes(100_000)
	for range scaled(20) {
		servers := randomServers(17, rng)
		before, after := mustNew(t, Default, servers[:16]...), mustNew(t, Default, servers...)
		moved := 0
		for _, h := range hashes {
			if was, is := before.arcs.find(h), after.arcs.find(h); was != is {
				require.Equal(t, 16, is, "moved between old servers")
				moved++
			}
		}
		assert.LessOrEqual(t, float64(moved)/float64(len(hashes)), 1.0/17+0.005)
	}
}

func TestDefaultWeightChangeMovesOnlyWhatItMust(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for range scaled(20) {
		servers := weightedServers(16, rng)
		before := mustNew(t, Default, servers...)
		servers[3].Weight *= 1.5
		after := mustNew(t, Default, servers...)
		moved := 0
		for arc := range arcCount {
			if was, is := before.arcs[arc], after.arcs[arc]; was != is {
				require.EqualValues(t, 3, is, "moved to another server than the one with more weight")
				moved++
			}
		}
		assert.Positive(t, moved)
	}
}

func TestDefaultIgnoresOrderOfList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	servers, keys := weightedServers(16, rng), userKeys(20_000)
	want := owners(mustNew(t, Default, servers...), keys)
	for range 5 {
		rng.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		assert.Equal(t, want, owners(mustNew(t, Default, servers...), keys))
	}
}

func TestDefaultKeepsNamedServersWhenAddressesChange(t *testing.T) {
	servers, keys := equalServers(8), userKeys(10_000)
	for i := range servers {
		servers[i].Name = fmt.Sprintf("cache-%d", i)
	}
	names := func() []string {
		r := mustNew(t, Default, servers...)
		var names []string
		for _, key := range keys {
			names = append(names, r.servers[r.Pick(key)].Name)
		}
		return names
	}
	want := names()
	servers[3].Addr = "192.0.2.9:11211"
	assert.Equal(t, want, names())
}

// The rule, stated plainly: make every claim there is up to some late time, and
// see who was first at each arc.
func TestArcsBelongToWhoClaimsFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	servers := weightedServers(9, rng)
	servers[4].Weight = 0.01
	total := 0.0
	for _, s := range servers {
		total += s.Weight
	}
	r := mustNew(t, Default, servers...)
	type claim struct {
		at     float64
		server int
	}
	first := make([]claim, arcCount)
	for i := range first {
		first[i].at = math.Inf(1)
	}
	late := 40 * arcCount / total
	for i, s := range servers {
		seed := xxhash.Sum64String(s.Addr)
		for k := 0; float64(k)/s.Weight < late; k++ {
			x := splitmix64(seed, uint64(k))
			at := (float64(k) + float64(uint32(x))/(1<<32)) / s.Weight
			if arc := x >> 48; at < first[arc].at {
				first[arc] = claim{at, i}
			}
		}
	}
	for arc, c := range first {
		require.Equal(t, c.server, int(r.arcs[arc]), "arc %d", arc)
	}
}

// These are fixed for good: a change of the rule would move every user's keys.
func TestDefaultStaysAsItIs(t *testing.T) {
	servers := []Server{
		{Addr: "cache-a.example.net:11211", Weight: 1},
		{Addr: "cache-b.example.net:11211", Weight: 2},
		{Addr: "10.0.0.3:11211", Name: "cache-c", Weight: 0.5},
	}
	r := mustNew(t, Default, servers...)
	perServer := make([]int, 3)
	for _, server := range r.arcs {
		perServer[server]++
	}
	var got []int
	for _, key := range userKeys(24) {
		got = append(got, r.Pick(key))
	}
	assert.Equal(t, []int{18714, 37366, 9456}, perServer)
	assert.Equal(t, []int{1, 2, 2, 0, 1, 2, 1, 1, 1, 2, 0, 2, 1, 0, 1, 2, 0, 2, 0, 1, 0, 1, 1, 1}, got)
}
