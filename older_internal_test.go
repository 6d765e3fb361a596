package memcache

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/link"
)

// A store that saw its server down, and finds it back, waits for older writes as
// any other.
func TestAStoreOfTheMomentOfReturnWaitsForOlderWrites(t *testing.T) {
	c := New("127.0.0.1:1")
	c.Timeout = time.Millisecond
	h := c.server(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}).health
	settled := h.unsettled([]link.Write{{Key: "k", Op: link.Set, Stores: true}}, false)
	seen := func() { // by that store
		h.due.Store(never)
		h.word.Store(h.word.Load() | wordRefuses)
	}
	seen()
	add := []link.Request{{Op: link.Add, Key: "k"}} // which is not owed afterwards
	assert.ErrorIs(t, h.admit(context.Background(), link.Add, add), errOlder)
	settled()
	seen()
	assert.NoError(t, h.admit(context.Background(), link.Add, add))
	require.NoError(t, c.Close())
}

// Whoever waits for older writes in vain is told why that ended: only a caller that
// cancels is not out of time.
func TestWhyTheWaitForOlderWritesEnded(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer stop()
	for name, tt := range map[string]struct {
		ctx     context.Context
		timeout bool
	}{
		"Timeout":      {context.Background(), true},
		"a deadline":   {late, true},
		"cancellation": {cancelled, false},
	} {
		err := older(tt.ctx)
		assert.Equal(t, tt.timeout, timedOut(err), name)
		assert.ErrorIs(t, err, errOlder, name)
	}
}
