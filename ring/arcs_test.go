package ring

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// equalServers returns n servers of weight 1 with unlike names.
func equalServers(n int) []Server {
	servers := make([]Server, n)
	for i := range servers {
		servers[i] = Server{Addr: fmt.Sprintf("10.0.%d.%d:11211", i/250, i%250+1), Weight: 1}
	}
	return servers
}

func mustNew(t testing.TB, p Placement, servers ...Server) *Ring {
	t.Helper()
	r, err := New(p, servers...)
	require.NoError(t, err)
	return r
}

// owners maps each of the keys to the identity of its server.
func owners(r *Ring, keys []string) []string {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = r.servers[r.Pick(key)].ID()
	}
	return ids
}

func userKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d:profile", i)
	}
	return keys
}

func TestDefaultIgnoresOrderOfList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	servers, keys := equalServers(16), userKeys(20_000)
	want := owners(mustNew(t, Default, servers...), keys)
	for range 3 {
		rng.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		assert.Equal(t, want, owners(mustNew(t, Default, servers...), keys))
	}
}

func TestDefaultKeepsNamedServersWhenAddressesChange(t *testing.T) {
	servers, keys := equalServers(8), userKeys(10_000)
	for i := range servers {
		servers[i].Name = fmt.Sprintf("cache-%d", i)
	}
	want := owners(mustNew(t, Default, servers...), keys)
	servers[3].Addr = "192.0.2.9:11211"
	assert.Equal(t, want, owners(mustNew(t, Default, servers...), keys))
}
