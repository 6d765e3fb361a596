package memcache

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/link"
)

// The reader of a connection may still look at what a round has asked for that
// was given up, or write to its replies. The next round must not be there. What
// was not even sent is nobody else's, and a batch that goes on with its memory
// fails at less expense.
func TestARoundThatFailedKeepsItsMemoryIfItWasSent(t *testing.T) {
	keys := make([]string, 2*roundOperations)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	for _, op := range []link.Op{link.Get, link.Delete} {
		for _, sent := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			c := New(asking(t, cancel))
			c.Protocol = Meta // which asks nothing first
			if !sent {
				cancel()
			}
			b, err := c.newBatch(operations{form: link.Request{Op: op}, keys: keys})
			require.NoError(t, err)
			require.True(t, b.next())
			was := b.shares[0]
			b.perform(ctx)
			require.ErrorIs(t, b.shares[0].Err, context.Canceled)
			require.True(t, b.next())
			again := op == link.Get && &was.Keys[0] == &b.shares[0].Keys[0] ||
				op == link.Delete && &was.Reqs[0] == &b.shares[0].Reqs[0]
			assert.Equal(t, !sent, again, "%v, sent: %v", op, sent)
			assert.False(t, b.next())
			require.NoError(t, c.Close())
		}
	}
}

// The text of an error is looked at once for each round, and not for each key of
// a server that is lost.
func TestARoundThatFailsLikeTheOneBeforeIsNotedAtOnce(t *testing.T) {
	s := &server{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 11211}}
	texts := 0
	list := s.addFailure(nil, &OpError{Err: link.ErrClosed, OutcomeUnknown: true}, link.Delete, "sent")
	for range 3 {
		round := &countedError{&texts}
		for range 1000 {
			list = s.addFailure(list, round, link.Delete, "key")
		}
	}
	require.Len(t, list, 2)
	assert.Len(t, list[1].Keys, 3000)
	assert.LessOrEqual(t, texts, 1+2*3)
}

type countedError struct{ texts *int }

func (e *countedError) Error() string {
	*e.texts++
	return "lost"
}

// asking is a server that says nothing, and calls asked when it is asked.
func asking(t *testing.T, asked func()) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		buf := make([]byte, 1<<10)
		for _, err = nc.Read(buf); err == nil; _, err = nc.Read(buf) {
			asked()
		}
	}()
	return l.Addr().String()
}
