package contender

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/child"
	"github.com/vaquero-cache/memcache/bench/internal/echo"
	"github.com/vaquero-cache/memcache/bench/internal/memwire"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

func TestMain(m *testing.M) {
	child.Serve(echo.Role)
	os.Exit(m.Run())
}

// A server with another value, or one key less, must end the row of every
// contender: what is not noticed here would be measured as fast.
func TestWrongAnswersAreNoticed(t *testing.T) {
	set := workload.NewSet(100)
	swapped := workload.NewSet(100)
	for i := range swapped.Values {
		swapped.Values[i] = slices.Clone(swapped.Values[i])
		swapped.Values[i][99] ^= 1 // the last byte of each
	}
	shorter := workload.NewSet(99)
	fewer := workload.NewSet(100)
	fewer.Keys = fewer.Keys[:workload.KeyCount/2]

	for name, server := range map[string]struct {
		holds *workload.Set
		wrong bool
	}{
		"right":         {set, false},
		"wrong bytes":   {swapped, true},
		"wrong size":    {shorter, true},
		"some key gone": {fewer, true},
	} {
		for _, kind := range Kinds {
			if kind.Open == nil {
				continue // package peer tests these
			}
			t.Run(name+"/"+kind.Name, func(t *testing.T) {
				if kind.Name == VaqueroBinary {
					t.Skip("the server in memory does not speak the binary protocol")
				}
				check := func(t *testing.T) { check(t, kind, set, server.holds, server.wrong) }
				if strings.HasPrefix(kind.Name, "floor-") {
					synctest.Test(t, check) // where waiting for a reply that is too short takes no time
				} else {
					check(t)
				}
			})
		}
	}
}

func check(t *testing.T, kind Kind, set, holds *workload.Set, wrong bool) {
	target := Target{Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}, Callers: 1, Dial: memwire.NewServer(holds).Dial}
	o, err := kind.Open(target, set)
	if errors.Is(err, errNoDial) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(o.Close)

	callers := map[string]run.Caller{}
	if o.Getter != nil {
		callers["get"], err = o.Getter(0)
		require.NoError(t, err)
	}
	callers["multi"], err = o.Multi(Batches{Set: set, Batches: set.Batches(100, 100)})
	require.NoError(t, err)
	callers["half of them"], err = o.Multi(Batches{Set: set, Batches: set.Batches(99, 50)})
	require.NoError(t, err)
	for name, caller := range callers {
		if err := work(caller); wrong {
			assert.Error(t, err, name)
		} else {
			assert.NoError(t, err, name)
		}
	}
}

// work makes calls, enough to meet a key of either half, up to the first error.
func work(c run.Caller) error {
	if s, ok := c.(run.Slicer); ok {
		s.Begin(1)
	}
	for range 64 {
		if err := c.Call(); err != nil {
			return err
		}
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

func TestNamed(t *testing.T) {
	kinds, err := Named([]string{QuangTung, FloorMeta})
	require.NoError(t, err)
	assert.Equal(t, FloorMeta, kinds[0].Name)
	assert.Equal(t, QuangTung, kinds[1].Name)
	_, err = Named([]string{FloorMeta, "nobody"})
	assert.ErrorContains(t, err, "nobody")
}

func TestTaggedKeysShareAServer(t *testing.T) {
	target := Target{Addrs: []string{"a", "b", "c", "d"}, Route: Tagged}
	seen := map[int]bool{}
	for _, key := range workload.NewTaggedSet(10).Keys {
		seen[target.Place(key)] = true
	}
	assert.Len(t, seen, 1)
	assert.Equal(t, "{}key", tagOf("{}key"))
	assert.Equal(t, "key}", tagOf("key}"))
}
