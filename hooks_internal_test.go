package memcache

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/vaquero-cache/memcache/internal/link"
)

// A share whose caller gives up in the moment in which its last reply is handed
// out has all of its replies, and an error.
func TestHooksOfAShareThatFailedAfterItsLastReply(t *testing.T) {
	var ended OpResult
	c := New("127.0.0.1:1")
	c.Hooks = &Hooks{OpEnded: func(_ context.Context, _ OpInfo, result OpResult) { ended = result }}
	b, err := c.newBatch(operations{form: link.Request{Op: link.Delete}, keys: []string{"a", "b"}})
	assert.NoError(t, err)
	assert.True(t, b.next())
	b.ctx = context.Background()
	watches := b.started()
	b.shares[0].Replies = make([]link.Reply, 2)
	b.shares[0].Err = context.Canceled
	b.ended(watches)
	assert.NoError(t, ended.Err)
}
