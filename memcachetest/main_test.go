package memcachetest

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a connection of a test.
type client struct {
	t  *testing.T
	nc net.Conn
	r  *bufio.Reader
}

// dial connects to a server or proxy; the connection is closed with the test, and
// nothing on it takes longer than ten seconds.
func dial(t *testing.T, s interface {
	Network() string
	Addr() string
}) *client {
	t.Helper()
	nc, err := net.Dial(s.Network(), s.Addr())
	require.NoError(t, err)
	return newClient(t, nc)
}

func newClient(t *testing.T, nc net.Conn) *client {
	t.Helper()
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(10*time.Second)))
	return &client{t, nc, bufio.NewReader(nc)}
}

func (c *client) send(script string) {
	c.t.Helper()
	_, err := io.WriteString(c.nc, script)
	require.NoError(c.t, err)
}

// want reads as many bytes as are wanted and compares them.
func (c *client) want(reply string) {
	c.t.Helper()
	got := make([]byte, len(reply))
	n, err := io.ReadFull(c.r, got)
	require.Equal(c.t, reply, string(got[:n]))
	require.NoError(c.t, err)
}

// wantClosed reads to the end and compares what came before it.
func (c *client) wantClosed(reply string) {
	c.t.Helper()
	got, err := io.ReadAll(c.r)
	require.Equal(c.t, reply, string(got))
	require.NoError(c.t, err)
}

// wantNothing makes sure that nothing comes for a short while.
func (c *client) wantNothing() {
	c.t.Helper()
	require.NoError(c.t, c.nc.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	_, err := c.r.ReadByte()
	var timeout net.Error
	require.ErrorAs(c.t, err, &timeout)
	require.True(c.t, timeout.Timeout())
	require.NoError(c.t, c.nc.SetReadDeadline(time.Now().Add(10*time.Second)))
}
