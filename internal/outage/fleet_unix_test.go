//go:build unix

package outage

// Real servers, and how they fail at random: they stop and go on with what they
// hold, or are killed and come back empty.

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/vaquero-cache/memcache/internal/realserver"
)

// timeout is that of the clients: most outages are longer, some are not.
const timeout = 150 * time.Millisecond

type fleet struct {
	servers []*realserver.Server

	// cut, if set, is one more way to fail: it cuts a server off until healed.
	cut func(t *testing.T, rng *rand.Rand, address string) (heal func())

	mu      sync.Mutex
	outages map[string]int // by kind; guarded by mu
}

func newFleet(t *testing.T, n int) *fleet {
	f := &fleet{outages: map[string]int{}}
	for range n {
		f.servers = append(f.servers, realserver.Start(t, realserver.Config{}))
	}
	return f
}

func (f *fleet) addresses() []string {
	addresses := make([]string, len(f.servers))
	for i, s := range f.servers {
		addresses[i] = s.Addr()
	}
	return addresses
}

// fail lets the servers fail until stop, half of them at the same time at most.
// Then all are well.
func (f *fleet) fail(t *testing.T, random func(int) *rand.Rand, stop <-chan struct{}) {
	var wg sync.WaitGroup
	half := len(f.servers) / 2
	for lane := range half {
		wg.Go(func() {
			rng := random(1000 + lane)
			for pause(stop, time.Duration(rng.Int64N(int64(4*timeout)))) {
				f.outage(t, rng, lane+half*rng.IntN(len(f.servers)/half), stop)
			}
		})
	}
	wg.Wait()
}

// outage is one, from its beginning to its end.
func (f *fleet) outage(t *testing.T, rng *rand.Rand, i int, stop <-chan struct{}) {
	// Some are over before a call has failed, some before the client believes that
	// the server is down, some long after.
	most := []time.Duration{timeout, 4 * timeout, 16 * timeout}[rng.IntN(3)]
	length := time.Duration(rng.Int64N(int64(most)))
	var kind string
	switch n := rng.IntN(10); {
	case f.cut != nil && n < 6:
		kind = "cut off"
		heal := f.cut(t, rng, f.servers[i].Addr())
		pause(stop, length)
		heal()
	case n < 5:
		kind = "stopped"
		halt(t, f.servers[i])
		pause(stop, length)
		proceed(t, f.servers[i])
	case n < 7:
		kind = "flapping"
		for range 2 + rng.IntN(6) {
			halt(t, f.servers[i])
			pause(stop, length/4)
			proceed(t, f.servers[i])
			pause(stop, time.Duration(rng.Int64N(int64(timeout))))
		}
	case n < 9:
		kind = "killed"
		f.servers[i].Stop()
		pause(stop, length)
		assert.NoError(t, f.servers[i].Restart(context.Background()))
	default:
		kind = "stopped, then killed"
		halt(t, f.servers[i])
		pause(stop, length)
		assert.NoError(t, f.servers[i].Restart(context.Background()))
	}
	f.mu.Lock()
	f.outages[kind]++
	f.mu.Unlock()
}

func (f *fleet) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(f.outages)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", f.outages[kind], kind))
		total += f.outages[kind]
	}
	return fmt.Sprintf("%d outages (%s)", total, strings.Join(kinds, ", "))
}
