package link

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGateBoundsAndLosesNoPlace(t *testing.T) {
	g := gate{limit: 3}
	var inside, most atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 500 {
				if !assert.NoError(t, g.enter(context.Background(), time.Minute)) {
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				g.leave()
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, most.Load(), int64(3))
	assert.Zero(t, g.inside.Load())
	assert.Zero(t, g.waiting.Load())
}

func TestGateWaitsForContextAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{limit: 1}
		require.NoError(t, g.enter(t.Context(), time.Second))
		start := time.Now()
		require.ErrorIs(t, g.enter(t.Context(), time.Second), ErrTooManyCalls)
		assert.Equal(t, time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, g.enter(ctx, time.Second), context.DeadlineExceeded)

		passed := make(chan error)
		go func() { passed <- g.enter(t.Context(), time.Hour) }()
		synctest.Wait()
		g.leave()
		require.NoError(t, <-passed)
		g.leave()
		assert.Zero(t, g.inside.Load())
	})
}
