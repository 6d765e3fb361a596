package link

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file tests that the memory a stream uses again is nobody else's.

// A stream ends early while a round of another server has failed; the reader of
// that connection may still deliver what comes for it. The next stream, in the
// same memory, must not see that.
func TestStreamThatEndedEarlyLeavesNoMemoryToOthers(t *testing.T) {
	release := make(chan struct{})
	good := onTCP(t, time.Minute, healthy)
	slow := onTCP(t, time.Minute, hold(release))
	other := onTCP(t, time.Minute, func(p *peer) {
		for a := p.next(); a != nil; a = p.next() {
			time.Sleep(100 * time.Microsecond) // the late replies come in between
			p.say("EN " + a.opaque() + "\r\n")
		}
	})
	var s Stream
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	first := []Share{{Link: good.Link, Keys: numbered(50)}, {Link: slow.Link, Keys: numbered(50)}}
	s.Run(ctx, first, func(share, at int, r *Reply) bool { return false })
	require.Zero(t, s.Taken(1))
	assert.True(t, first[0].Clean())
	assert.False(t, first[1].Clean(), "its keys are still looked at")

	reader := later(func() error { _, err := slow.get("reader"); return err }) // for the abandoned call too
	close(release)
	second := []Share{{Link: good.Link, Keys: numbered(50)}, {Link: other.Link, Keys: numbered(50)}}
	s.Run(context.Background(), second, func(share, at int, r *Reply) bool {
		if share == 1 {
			assert.Equal(t, Miss, r.Status, "the reply to key "+strconv.Itoa(at)+" of another stream")
		}
		return true
	})
	require.NoError(t, second[1].Err)
	require.NoError(t, <-reader)
}
