package memwire

import (
	"bufio"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/fleet"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

func dialMemory(t *testing.T, set *workload.Set) net.Conn {
	c, err := NewServer(set).Dial(t.Context(), "tcp", "")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// exchange returns everything up to the answer to mn.
func exchange(t *testing.T, c net.Conn, request string) string {
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := io.WriteString(c, request+"mn\r\n")
	require.NoError(t, err)
	var all strings.Builder
	for r := bufio.NewReader(c); !strings.HasSuffix(all.String(), "MN\r\n"); {
		line, err := r.ReadString('\n')
		require.NoError(t, err, "after %q", all.String())
		all.WriteString(line)
	}
	return all.String()
}

// A version is the server's own; all else must be the same to the byte.
var versions = regexp.MustCompile(`(?m)( c\d+|^(VALUE \S+ \d+ \d+) \d+)`)

func TestAnswersAsMemcachedDoes(t *testing.T) {
	realserver.Start(t, realserver.Config{}) // says so where there is none
	servers, err := fleet.Start(t.Context(), 1)
	require.NoError(t, err)
	t.Cleanup(servers.Stop)
	set := workload.NewSet(100)
	require.NoError(t, servers.Fill(set))
	real, err := net.Dial("tcp", servers.Addrs(1)[0])
	require.NoError(t, err)
	t.Cleanup(func() { real.Close() })
	memory := dialMemory(t, set)

	for _, request := range []string{
		"get key:1\r\n",
		"get key:1 key:4095 key:4096 nokey\r\n",
		"gets key:7 key:8\r\n",
		"mg key:1 v\r\n",
		"mg key:1 s v f c O1a\r\n",
		"mg key:1 k t f\r\n",
		"mg key:1\r\n",
		"mg key:9999 v\r\n",
		"mg gap:1 v f c O1a\r\n",
		"mg gap:1 k O1a s v\r\n",
		"mg key:1 v O1\r\nmg key:2 v O2\r\nget key:3\r\n",
	} {
		want := versions.ReplaceAllString(exchange(t, real, request), "$2 c")
		got := versions.ReplaceAllString(exchange(t, memory, request), "$2 c")
		assert.Equal(t, want, got, "%q", request)
	}
}

func TestLinesInPieces(t *testing.T) {
	set := workload.NewSet(10)
	c := dialMemory(t, set)
	for _, piece := range []string{"mg ke", "y:1", " v\r", "\nmn", "\r\n"} {
		_, err := io.WriteString(c, piece)
		require.NoError(t, err)
	}
	got, err := io.ReadAll(io.LimitReader(c, int64(len("VA 10\r\n0123456789\r\nMN\r\n"))))
	require.NoError(t, err)
	assert.Equal(t, "VA 10\r\n"+string(set.Values[1])+"\r\nMN\r\n", string(got))
}

func TestReadEnds(t *testing.T) {
	for name, end := range map[string]struct {
		by   func(net.Conn) error
		want error
	}{
		"close":         {net.Conn.Close, io.EOF},
		"past deadline": {func(c net.Conn) error { return c.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"deadline": {func(c net.Conn) error { return c.SetReadDeadline(time.Now().Add(time.Millisecond)) },
			os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialMemory(t, workload.NewSet(10))
			failed := make(chan error)
			go func() {
				_, err := c.Read(make([]byte, 1))
				failed <- err
			}()
			require.NoError(t, end.by(c))
			assert.ErrorIs(t, <-failed, end.want)
		})
	}
}
