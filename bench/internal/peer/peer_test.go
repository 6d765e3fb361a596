package peer

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/fleet"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

// Every program that this machine has must notice what is wrong, as those in Go do.
func TestPrograms(t *testing.T) {
	realserver.Start(t, realserver.Config{}).Close() // skips where there is none
	set := workload.NewSet(100)
	servers, err := fleet.Start(t.Context(), 2)
	require.NoError(t, err)
	t.Cleanup(servers.Stop)
	require.NoError(t, servers.Fill(set))

	swapped := workload.NewSet(100)
	for i := range swapped.Values {
		swapped.Values[i] = slices.Clone(swapped.Values[i])
		swapped.Values[i][99] ^= 1 // the last byte of each
	}
	right := set.Batches(50, 50)
	for name := range kinds {
		t.Run(name, func(t *testing.T) {
			start := func(t *testing.T, set *workload.Set, batches []*workload.Batch) *Peer {
				p, err := Start(name, servers.Addrs(2), set, batches)
				if err != nil {
					t.Skip(err)
				}
				t.Cleanup(p.Stop)
				return p
			}
			t.Run("right", func(t *testing.T) {
				p := start(t, set, right)
				t.Log(p.What)
				for range 2 {
					s, err := p.Measure(5 * time.Millisecond)
					require.NoError(t, err)
					assert.Positive(t, s.Ops)
					assert.GreaterOrEqual(t, s.Elapsed, 5*time.Millisecond)
					assert.Positive(t, s.P25)
					assert.LessOrEqual(t, s.P25, s.P50)
					assert.LessOrEqual(t, s.P50, s.P99)
				}
			})
			t.Run("wrong bytes", func(t *testing.T) {
				_, err := start(t, swapped, right).Measure(time.Millisecond)
				assert.ErrorContains(t, err, "wrong value")
			})
			t.Run("too few", func(t *testing.T) {
				more := workload.NewSet(100)
				more.Keys, more.Values = append(more.Keys, "gone"), append(more.Values, []byte("x"))
				_, err := start(t, more, []*workload.Batch{{Keys: []string{"gone", "key:1"}}}).Measure(time.Millisecond)
				assert.ErrorContains(t, err, "1 hits, want 2")
			})
		})
	}
	t.Run("not here", func(t *testing.T) {
		_, err := interpreted("no-such-interpreter")("", "")
		assert.ErrorContains(t, err, "no-such-interpreter")
	})
}
