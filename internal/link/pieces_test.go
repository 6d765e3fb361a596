package link

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file reads every reply of every protocol in pieces of every size.

// pieces is a connection that brings at most so many bytes at a time.
type pieces struct {
	net.Conn
	most int
}

func (c *pieces) Read(b []byte) (int, error) { return c.Conn.Read(b[:min(len(b), c.most)]) }

func TestRepliesInPieces(t *testing.T) {
	for _, protocol := range []Protocol{Meta, Classic, Binary, Auto} {
		for _, most := range []int{1, 2, 3, 5, 24, 25, 100, 4096} {
			t.Run(fmt.Sprintf("%v, %d", protocol, most), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
					l := New(Config{
						Dial: func(ctx context.Context) (net.Conn, error) {
							nc, err := s.Dial(ctx, "", "")
							return &pieces{nc, most}, err
						},
						Protocol: protocol,
						Timeout:  func() time.Duration { return time.Second },
						MaxValue: 1 << 20,
						Activity: new(Activity),
					})
					defer l.Close()
					testEveryOperation(t, l)
					ctx := context.Background()
					share := &Share{Link: l}
					sizes := []int{0, 1, 50, 500, 1000, directSize - 1, 1, directSize, 100 * most}
					for i := range fewKeys + 5 {
						key := fmt.Sprintf("key:%d", i)
						share.Keys = append(share.Keys, key)
						if i%3 == 0 {
							continue
						}
						value := stamp(key, sizes[i%len(sizes)])[:sizes[i%len(sizes)]]
						_, err := l.Do(ctx, &Request{Op: Set, Key: key, Flags: 1, Value: value})
						require.NoError(t, err)
						reply, err := l.Do(ctx, &Request{Op: Get, Key: key})
						require.NoError(t, err)
						require.True(t, string(value) == string(reply.Value), key)
					}
					Gather(ctx, []*Share{share})
					require.NoError(t, share.Err)
					for i, reply := range share.Replies {
						key := share.Keys[i]
						if i%3 == 0 {
							assert.Equal(t, Miss, reply.Status, key)
						} else {
							assert.True(t, string(reply.Value) == string(stamp(key, sizes[i%len(sizes)])[:sizes[i%len(sizes)]]), key)
						}
					}
				})
			})
		}
	}
}
