//go:build unix

package outage

// The late store: a server is stopped, a store is sent to it and given up with
// its connection, the key is deleted, the server goes on. It reads connections in
// any order, so the store may be carried out after the deletion.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
)

// Without a fence old values do stand, with one they do not: it is the fence that
// the other trials prove.
func TestLateStoresNeedAFence(t *testing.T) {
	t.Parallel()
	s := realserver.Start(t, realserver.Config{})
	trials := count(t, "FENCE_TRIALS", 10)
	late := 0
	for n := 0; n < trials || late == 0 && n < 20*trials; n++ {
		if lateStoreStands(t, s, fmt.Sprint("without", n), false) {
			late++
		}
	}
	t.Logf("without a fence the old value stood after %d of %d trials", late, trials)
	require.NotZero(t, late)
	late = 0
	for n := range trials {
		if lateStoreStands(t, s, fmt.Sprint("with", n), true) {
			late++
		}
	}
	t.Logf("with a fence it stood after %d of %d", late, trials)
	require.Zero(t, late)
}

func lateStoreStands(t *testing.T, s *realserver.Server, key string, fenced bool) bool {
	dial := new(net.Dialer).DialContext
	first, second := dialRaw(t, dial, s.Addr()), dialRaw(t, dial, s.Addr())
	defer second.Close()
	halt(t, s)
	first.send(t, "ms "+key+" 3\r\nold\r\n")
	if !fenced {
		first.Close()
		second.send(t, "md "+key+"\r\n")
		proceed(t, s)
	} else {
		require.NoError(t, first.Conn.(*net.TCPConn).CloseWrite())
		proceed(t, s)
		_, err := io.Copy(io.Discard, first.r)
		require.NoError(t, err)
		first.Close()
		second.send(t, "md "+key+"\r\n")
	}
	second.line(t)
	alone(t, second)
	second.send(t, "mg "+key+"\r\n")
	return second.line(t) != "EN"
}

// alone waits until c is the only connection that the server has: until then it
// may not have read what another has left it.
func alone(t *testing.T, c *rawConn) {
	for end := time.Now().Add(10 * time.Second); ; {
		c.send(t, "stats\r\n")
		var connections string
		for line := c.line(t); line != "END"; line = c.line(t) {
			if n, ok := strings.CutPrefix(line, "STAT curr_connections "); ok {
				connections = n
			}
		}
		if connections == "1" { // listeners are not counted
			return
		}
		require.True(t, time.Now().Before(end), "%s connections", connections)
		pause(nil, time.Millisecond)
	}
}

// rawConn speaks the text protocol past the client.
type rawConn struct {
	net.Conn
	r *bufio.Reader
}

func dialRaw(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error), address string) *rawConn {
	c, err := dial(t.Context(), "tcp", address)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	r := &rawConn{c, bufio.NewReader(c)}
	r.send(t, "version\r\n") // a thread of the server has it
	r.line(t)
	return r
}

func (c *rawConn) send(t *testing.T, text string) {
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

func (c *rawConn) line(t *testing.T) string {
	line, err := c.r.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\r\n")
}
