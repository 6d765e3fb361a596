//go:build !race

package counts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/memcachetest"
)

// What a lone caller pays for, and what not. Numbers are means of 2,000 operations, in
// which the runtime's own goroutines may have done a few things too.
func TestALoneCallerPaysForNothingElse(t *testing.T) {
	var addrs []string
	for range 4 {
		addrs = append(addrs, memcachetest.NewServer(t).Addr())
	}
	all, err := Measure(t.Context(), addrs...)
	if err == ErrUnsupported {
		t.Skip(err)
	}
	require.NoError(t, err)

	const little = 0.02
	for what, keys := range map[string]float64{
		"GET, 1 caller":                  1,
		"GET by ring.Default, 1 caller":  1,
		"SET, 1 caller":                  1,
		"GetMulti of 100 keys, 1 caller": 100,
	} {
		t.Run(what, func(t *testing.T) {
			c := all[what]
			require.NotEmpty(t, c)
			assert.Equal(t, keys, c[Hashes], "a key is hashed once")
			assert.Zero(t, c[Env])
			for _, nothing := range []string{Channels, Goroutines, Timers, Wakes} {
				assert.InDelta(t, 0, c[nothing], little, nothing)
			}
			assert.Less(t, c[Deadlines], 0.2*float64(len(addrs)), "a deadline is set once for many requests")
			if keys == 1 {
				assert.InDelta(t, 1, c[Clock]-2*c[Yields]-2*c[Polls]-c[Deadlines], little,
					"the clock is read once, and to time a yield or a wait and to set a deadline")
				assert.InDelta(t, 1, c[Writes], little)
			} else {
				assert.InDelta(t, float64(len(addrs)), c[Writes], little, "a server is written to once")
			}
		})
	}
	many := all["GET by ring.Default, 64 callers"]
	assert.Equal(t, 1.0, many[Hashes])
	assert.Less(t, many[Writes], 1.0, "callers write for each other")
}

func TestCountersAreInserted(t *testing.T) {
	const source = "package p\n\nfunc F() int { return 1 }\n\nfunc (t *T) M() {\n}\n\nfunc (t T) N() {}\n"
	altered, found, err := count([]byte(source), map[string]string{"F": Clock, "T.M": Deadlines, "Gone": Locks})
	require.NoError(t, err)
	assert.Equal(t, []string{"F", "T.M"}, found)
	assert.Equal(t, "package p\n\nfunc F() int { vbenchCount(0); return 1 }\n\nfunc (t *T) M() { vbenchCount(1);\n}\n\nfunc (t T) N() {}\n", altered)
}
