package link

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// This file ends connections while calls are on them, by faults and by Close:
// every caller is told, and nothing is left behind.

// A write that fails while calls behind it are parked wakes them all, though
// nothing is wrong with the reading.
func TestFailedWriteWakesEverybody(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		for _, cancellable := range []bool{false, true} { // true: on a pipe a helper writes
			release := make(chan struct{})
			s := on(t, time.Minute, stuck(release))
			s.cfg.WriteTimeout = func() time.Duration { return 100 * time.Millisecond }
			ctx, cancel := context.Background(), func() {}
			if cancellable {
				ctx, cancel = context.WithCancel(ctx)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
				assert.ErrorIs(t, err, ErrNoProgress)
			})
			reached(t, s.look(blockedWrite))
			for _, key := range numbered(5) {
				wg.Go(func() {
					_, err := s.get(key)
					assert.ErrorIs(t, err, ErrNoProgress)
				})
			}
			wg.Wait()
			cancel()
			close(release)
		}
	})
}
