package memcache

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/link"
)

// The reader of a connection may still look at what a round has asked for that
// was given up, or write to its replies. The next round must not be there.
func TestARoundThatFailedKeepsItsMemory(t *testing.T) {
	keys := make([]string, 2*roundOperations)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	for _, op := range []link.Op{link.Get, link.Delete} {
		for _, failed := range []error{nil, context.Canceled} {
			c := New("127.0.0.1:1", "127.0.0.1:2")
			b, err := c.newBatch(operations{form: link.Request{Op: op}, keys: keys})
			require.NoError(t, err)
			require.True(t, b.next())
			was := b.shares[0]
			b.shares[1].Err = failed
			require.True(t, b.next())
			kept := op == link.Get && &was.Keys[0] == &b.shares[0].Keys[0] ||
				op == link.Delete && &was.Reqs[0] == &b.shares[0].Reqs[0]
			assert.Equal(t, failed == nil, kept, "%v after %v", op, failed)
			assert.False(t, b.next())
		}
	}
}
