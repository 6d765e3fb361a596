package fleet

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

// What the servers count must be what a client sent and got, to the byte.
func TestTraffic(t *testing.T) {
	realserver.Start(t, realserver.Config{}).Close() // skips where there is none
	f, err := Start(t.Context(), 2)
	require.NoError(t, err)
	t.Cleanup(f.Stop)
	require.NoError(t, f.Fill(workload.NewSet(100)))
	traffic := f.Traffic(2)
	before, err := traffic()
	require.NoError(t, err)
	for range 3 {
		again, err := traffic()
		require.NoError(t, err)
		assert.Equal(t, run.Traffic{}, again.Sub(before), "reading counts nothing")
	}

	const request, reply = "mg key:1 v\r\n", "VA 100\r\n" + "\r\n"
	for _, addr := range f.Addrs(2) {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, request)
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, len(reply)+100))
		require.NoError(t, err)
	}
	after, err := traffic()
	require.NoError(t, err)
	assert.Equal(t, run.Traffic{Received: 2 * int64(len(request)), Sent: 2 * int64(len(reply)+100)}, after.Sub(before))
}

func TestTLS(t *testing.T) {
	realserver.Start(t, realserver.Config{}).Close() // skips where there is none
	f, err := StartTLS(t.Context(), 1)
	require.NoError(t, err)
	t.Cleanup(f.Stop)
	require.NoError(t, f.Fill(workload.NewSet(10)))
	c, err := f.Dial()(t.Context(), "tcp", f.Addrs(1)[0])
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "mn\r\n")
	require.NoError(t, err)
	reply := make([]byte, 4)
	_, err = io.ReadFull(c, reply)
	require.NoError(t, err)
	assert.Equal(t, "MN\r\n", string(reply))
}
