//go:build !race

package memcache

import (
	"bytes"
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllocationsWithBackgroundContext(t *testing.T) {
	c := New(frugalServer(t))
	c.Protocol = Meta
	defer c.Close()
	item := &Item{Key: "key", Value: make([]byte, 100)}
	require.NoError(t, c.Set(item))

	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.Get("key") }), 2.0, "the Item and its Value")
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Set(item) }))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Delete("key") }))
}

func TestAllocationsWithANamespace(t *testing.T) {
	c := New(frugalServer(t))
	c.Protocol = Meta
	c.Keys.Namespace = "app:"
	defer c.Close()
	item := &Item{Key: "key", Value: make([]byte, 100)}
	require.NoError(t, c.Set(item))

	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.Get("key") }), 3.0, "the key, the Item and its Value")
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.Set(item) }), 1.0, "the key")
}

func TestAllocationsWithHooks(t *testing.T) {
	c := New(frugalServer(t))
	c.Protocol = Meta
	hits := 0
	c.Hooks = &Hooks{
		OpStarted: func(ctx context.Context, _ OpInfo) context.Context { return ctx },
		OpEnded:   func(_ context.Context, _ OpInfo, r OpResult) { hits += r.Hits },
	}
	defer c.Close()
	item := &Item{Key: "key", Value: make([]byte, 100)}
	require.NoError(t, c.Set(item))

	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.Get("key") }), 2.0)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Set(item) }))
	assert.Greater(t, hits, 2000)
}

func TestAllocationsWithCancellableContext(t *testing.T) {
	c := New(frugalServer(t))
	c.Protocol = Meta
	defer c.Close()
	item := &Item{Key: "key", Value: make([]byte, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	require.NoError(t, c.SetContext(ctx, item))

	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.GetContext(ctx, "key") }), 4.0)
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { c.SetContext(ctx, item) }), 2.0)
}

// What is refused because its server is down costs its caller nothing. A change is
// remembered, and says so.
func TestAllocationsOfAFastFailure(t *testing.T) {
	for _, mode := range []FailoverMode{FailFast, NextServer} {
		c := New("127.0.0.1:1")
		c.Failover.Mode = mode
		require.NoError(t, c.SetServerState(c.Health()[0].Server, ServerForcedDown))
		_, err := c.Get("key")
		require.ErrorIs(t, err, ErrServerDown)

		assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Get("key") }), mode)
		assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Touch("key", 1) }), mode)
	}
}

// frugalServer answers each mg with a value and each ms and md with HD, without
// allocating, so that what is counted is the client's.
func frugalServer(t testing.TB) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	value := bytes.Repeat([]byte{'v'}, 100)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in, out := make([]byte, 0, 4096), make([]byte, 0, 4096)
		for {
			n, err := c.Read(in[len(in):cap(in)])
			if err != nil {
				return
			}
			in = in[:len(in)+n]
			end := bytes.IndexByte(in, '\n')
			if in[1] == 's' && len(in) < end+len(value)+3 {
				continue // the value is still to come
			}
			opaque := in[bytes.IndexByte(in, 'O'):]
			opaque = opaque[:bytes.IndexAny(opaque, " \r")]
			out = out[:0]
			if in[1] == 'g' {
				out = append(append(append(out, "VA 100 f0 c1 "...), opaque...), "\r\n"...)
				out = append(append(out, value...), "\r\n"...)
			} else {
				out = append(append(append(out, "HD "...), opaque...), "\r\n"...)
			}
			in = in[:0]
			c.Write(out)
		}
	}()
	return l.Addr().String()
}
