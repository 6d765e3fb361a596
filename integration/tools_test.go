package integration

// libmemcached's own programs against the embedded server.

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// tool runs one of libmemcached's programs and returns what it printed. Where the
// program is missing the test is skipped, or fails where servers are required.
func tool(t *testing.T, name string, args ...string) (output string, err error) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		why := "no " + name + " here (package libmemcached-tools)"
		if os.Getenv("REQUIRE_MEMCACHED") == "1" {
			t.Fatal(why)
		}
		t.Skip("skipped: " + why)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

func mustTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := tool(t, name, args...)
	require.NoError(t, err, out)
	return out
}

var capable = regexp.MustCompile(`(?m)^(.*?)\s+\[(pass|FAIL)\]`)

// memccapable runs the protocol's test program and returns the names of the tests
// that passed and failed.
func memccapable(t *testing.T, s server, protocol string) (passed, failed []string) {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	out, _ := tool(t, "memccapable", "-h", host, "-p", port, "-t", "10", protocol) // its status is that of the tests
	for _, m := range capable.FindAllStringSubmatch(out, -1) {
		if m[2] == "pass" {
			passed = append(passed, m[1])
		} else {
			failed = append(failed, m[1])
		}
	}
	return passed, failed
}

// TestMemccapable: all 54 tests pass with the answers of 1.6.18. Two of them want
// ERROR for a delete without a key, which 1.6.45 no longer says; there the embedded
// server must fail where the real one fails.
func TestMemccapable(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"-a", "-b"} {
		t.Run(protocol, func(t *testing.T) {
			old := memcachetest.NewServer(t, memcachetest.Config{Version: "1.6.18"})
			passed, failed := memccapable(t, old, protocol)
			assert.Empty(t, failed)
			assert.Len(t, passed, 27)
		})
		t.Run(protocol+" as the newest", func(t *testing.T) {
			real := realserver.Start(t, realserver.Config{Version: memcachetest.DefaultVersion})
			wantPassed, wantFailed := memccapable(t, real, protocol)
			passed, failed := memccapable(t, memcachetest.NewServer(t), protocol)
			assert.Equal(t, wantPassed, passed)
			assert.Equal(t, wantFailed, failed)
		})
	}
}

func TestLibmemcachedTools(t *testing.T) {
	s := memcachetest.NewServer(t)
	servers := "--servers=" + s.Addr()
	file := filepath.Join(t.TempDir(), "hello")
	value := []byte("hello\r\nworld\x00")
	require.NoError(t, os.WriteFile(file, value, 0o644))

	for _, protocol := range [][]string{nil, {"--binary"}} {
		t.Run("copy and read"+strings.Join(protocol, ""), func(t *testing.T) {
			s.Flush()
			mustTool(t, "memccp", append(protocol, servers, file)...)
			stored, ok := s.Get("hello")
			require.True(t, ok)
			assert.Equal(t, value, stored.Value)
			out := mustTool(t, "memccat", append(protocol, servers, "hello")...)
			assert.True(t, bytes.HasPrefix([]byte(out), value), "%q", out)
		})
	}
	t.Run("statistics", func(t *testing.T) {
		out := mustTool(t, "memcstat", servers)
		assert.Contains(t, out, "curr_items: 1")
		assert.Contains(t, out, "version: "+memcachetest.DefaultVersion)
	})
	t.Run("keys", func(t *testing.T) {
		assert.Equal(t, "hello\n", mustTool(t, "memcdump", servers))
	})
	for _, load := range []string{"get", "set", "mget"} {
		t.Run("load "+load, func(t *testing.T) {
			out := mustTool(t, "memcslap", servers, "--concurrency=4", "--execute-number=500", "--test="+load)
			assert.Contains(t, out, "Time total")
		})
	}
}
