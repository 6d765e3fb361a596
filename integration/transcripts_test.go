package integration

// The recorded transcripts against real servers, which guards the recordings and
// the replayer.

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/internal/transcript"
)

// transcriptsDir is where the recordings are: those named by the environment, or
// the ones that the embedded server is tested with.
func transcriptsDir() string {
	if dir := os.Getenv("MEMCACHE_VECTORS"); dir != "" {
		return filepath.Join(dir, "transcripts")
	}
	return filepath.Join("..", "memcachetest", "testdata", "transcripts")
}

// realExceptions names cases that a version answers differently from both recorded
// ones, and why.
var realExceptions = map[string]string{}

func TestVectorsAgainstRealServers(t *testing.T) {
	realserver.Each(t, func(t *testing.T, b realserver.Binary) {
		var versions []string
		switch b.Version {
		case "1.6.45", "1.6.18":
			versions = []string{b.Version}
		default:
			versions = recordedVersions // in between: at each step either answer may be right
		}
		replayAgainst(t, versions, func(kind string) server { return serverOfKind(t, b.Version, kind) })
	})
}

func TestVectorsThroughMemcachedProxy(t *testing.T) {
	const version = "1.6.45" // the one that was recorded
	proxy := startMemcachedProxy(t, version)
	replayAgainst(t, []string{"proxy"}, func(string) server { return proxy })
}

// startMemcachedProxy starts memcached as a proxy in front of another one.
func startMemcachedProxy(t *testing.T, version string) *realserver.Server {
	t.Helper()
	backend := realserver.Start(t, realserver.Config{Version: version, Args: []string{"-t", "1"}})
	config := filepath.Join(t.TempDir(), "proxy.lua")
	_, port, err := net.SplitHostPort(backend.Addr())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
function mcp_config_pools()
  return mcp.pool({ mcp.backend("b", "127.0.0.1", %s) })
end
function mcp_config_routes(pool)
  local fg = mcp.funcgen_new()
  local handle = fg:new_handle(pool)
  fg:ready({ n = "all", f = function(rctx)
    return function(r) return rctx:enqueue_and_wait(r, handle) end
  end })
  mcp.attach(mcp.CMD_ANY_STORAGE, fg)
end
`, port), 0o644))
	return realserver.Start(t, realserver.Config{
		Version: version, Args: []string{"-t", "1", "-o", "proxy_config=" + config},
	})
}

// replayAgainst runs every case that holds one of the versions' answers, on the
// server of its kind.
func replayAgainst(t *testing.T, versions []string, of func(kind string) server) {
	cases, err := transcript.Load(transcriptsDir())
	require.NoError(t, err)
	servers := map[string]server{}
	checked, skipped := 0, 0
	for _, c := range cases {
		if !c.RecordedOn(versions[0]) {
			continue
		}
		if reason := realExceptions[c.Name]; reason != "" {
			t.Logf("skipped %s: %s", c.Name, reason)
			skipped++
			continue
		}
		s, ok := servers[c.Server]
		if !ok {
			s = of(c.Server)
			servers[c.Server] = s
		}
		if s == nil {
			skipped++
			continue
		}
		checked++
		err := c.Replay(transcript.Target{
			Dial:     func() (net.Conn, error) { return net.Dial(s.Network(), s.Addr()) },
			Versions: versions,
		})
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("%s: %d cases checked, %d skipped", strings.Join(versions, " or "), checked, skipped)
}

// serverOfKind starts the server that cases were recorded on, or returns nil, and
// says why, where this machine cannot.
func serverOfKind(t *testing.T, version, kind string) server {
	args := []string{"-t", "1"}
	var env []string
	switch kind {
	case "":
	case "auth":
		users := filepath.Join(t.TempDir(), "users")
		require.NoError(t, os.WriteFile(users, []byte("alice:secret\nbob:pa ss\n"), 0o644))
		args = append(args, "-Y", users)
	case "sasl":
		dir := saslConfig(t)
		args, env = append(args, "-S"), []string{"SASL_CONF_PATH=" + dir}
	default:
		t.Fatalf("unknown kind of server %q", kind)
	}
	s := realserver.Start(t, realserver.Config{Version: version, Args: args, Env: env})
	if kind == "sasl" && !offersPlain(t, s) {
		t.Logf("skipped: memcached %s has no SASL PLAIN here (package libsasl2-modules)", version)
		return nil
	}
	return s
}

// offersPlain asks a SASL server for its mechanisms.
func offersPlain(t *testing.T, s server) bool {
	nc, err := net.Dial(s.Network(), s.Addr())
	require.NoError(t, err)
	defer nc.Close()
	const list = 0x20
	header := make([]byte, 24)
	header[0], header[1] = 0x80, list
	_, err = nc.Write(header)
	require.NoError(t, err)
	_, err = io.ReadFull(nc, header)
	require.NoError(t, err)
	mechanisms := make([]byte, binary.BigEndian.Uint32(header[8:]))
	_, err = io.ReadFull(nc, mechanisms)
	require.NoError(t, err)
	return slices.Contains(strings.Fields(string(mechanisms)), "PLAIN")
}

// saslConfig makes a folder with the configuration of a SASL library that asks a
// saslauthd of ours for passwords.
func saslConfig(t *testing.T) string {
	// Not t.TempDir: the path of a socket must be short.
	dir, err := os.MkdirTemp("", "sasl")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	config := fmt.Sprintf("mech_list: plain\npwcheck_method: saslauthd\nsaslauthd_path: %s/mux\n", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memcached.conf"), []byte(config), 0o644))

	ln, err := net.Listen("unix", filepath.Join(dir, "mux"))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(dir, "mux"), 0o777))
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { answerPassword(nc) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return dir
}

// answerPassword speaks saslauthd's protocol: user, password, service and realm come,
// each behind its length in two bytes; the answer goes the same way.
func answerPassword(nc net.Conn) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	var fields [4]string
	for i := range fields {
		var length [2]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return
		}
		field := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(r, field); err != nil {
			return
		}
		fields[i] = string(field)
	}
	verdict := "NO"
	if fields[0] == "alice" && fields[1] == "secret" {
		verdict = "OK"
	}
	nc.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(verdict))), verdict...))
}
