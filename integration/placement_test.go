package integration

// Keys stored through other programs, into real servers, are found by this module
// on the servers where those programs put them.

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/ring"
)

const placedKeys = 500

// placementKeys returns keys of several lengths, some with tags, some beyond ASCII.
func placementKeys() []string {
	var keys []string
	for i := range placedKeys {
		switch i % 5 {
		case 0:
			keys = append(keys, fmt.Sprintf("{user%d}:name", i))
		case 1:
			keys = append(keys, fmt.Sprintf("ключ:%d", i))
		case 2:
			keys = append(keys, strconv.Itoa(i))
		default:
			keys = append(keys, fmt.Sprintf("user:%d:profile%s", i, strings.Repeat("x", i%100)))
		}
	}
	return keys
}

// fourServers starts four servers and returns them as a ring has them.
func fourServers(t *testing.T) []ring.Server {
	t.Helper()
	servers := make([]ring.Server, 4)
	for i := range servers {
		servers[i] = ring.Server{Addr: realserver.Start(t, realserver.Config{}).Addr(), Weight: 1}
	}
	return servers
}

// conversation is a connection that speaks the classic protocol, a line at a time.
type conversation struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func converse(t *testing.T, network, addr string) *conversation {
	t.Helper()
	conn, err := net.DialTimeout(network, addr, 5*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &conversation{t, conn, bufio.NewReader(conn)}
}

// ask sends a request and returns the first line of the reply.
func (c *conversation) ask(request string) string {
	c.t.Helper()
	_, err := c.conn.Write([]byte(request + "\r\n"))
	require.NoError(c.t, err)
	line, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	return strings.TrimSuffix(line, "\r\n")
}

// checkPlaces asks each server for each key: r's choice must have it, the others
// not. It empties the servers afterwards.
func checkPlaces(t *testing.T, r *ring.Ring, keys []string) {
	t.Helper()
	perServer := make([]int, r.Len())
	for i, s := range r.Servers() {
		c := converse(t, "tcp", s.Addr)
		for _, key := range keys {
			reply := c.ask("touch " + key + " 0")
			if r.Pick(key) == i {
				perServer[i]++
				assert.Equal(t, "TOUCHED", reply, "%v", r.Explain(key))
			} else {
				assert.Equal(t, "NOT_FOUND", reply, "on %s: %v", s.Addr, r.Explain(key))
			}
		}
		require.Equal(t, "OK", c.ask("flush_all"))
	}
	t.Logf("%v: %d keys found where they belong, %v on each server", r.Placement(), len(keys), perServer)
}

func TestKeysStoredThroughTwemproxy(t *testing.T) {
	program := nutcracker(t)
	type pool struct {
		name      string
		options   string // lines of the pool's configuration
		placement ring.Placement
		named     bool
		weights   []float64
	}
	equal, unequal := []float64{1, 1, 1, 1}, []float64{3, 1, 2, 5}
	pools := []pool{
		{"defaults", "", ring.TwemproxyKetama(ring.HashFNV64a), false, equal},
		{"ketama_md5", "hash: md5", ring.TwemproxyKetama(ring.HashMD5), false, equal},
		{"ketama_weights", "hash: md5", ring.TwemproxyKetama(ring.HashMD5), false, unequal},
		{"ketama_names", "hash: murmur", ring.TwemproxyKetama(ring.HashMurmur), true, unequal},
		{"ketama_tag", "hash: fnv1_32\n  hash_tag: \"{}\"", ring.TwemproxyKetama(ring.HashFNV32).HashTag("{}"), false, equal},
		{"modula", "distribution: modula\n  hash: crc32", ring.TwemproxyModula(ring.HashCRC), false, equal},
		{"modula_weights", "distribution: modula\n  hash: one_at_a_time", ring.TwemproxyModula(ring.HashOneAtATime), true, unequal},
	}
	servers := fourServers(t)
	dir := t.TempDir()
	lists := make([][]ring.Server, len(pools))
	sockets := make([]string, len(pools))
	var config bytes.Buffer
	for i, p := range pools {
		sockets[i] = filepath.Join(dir, p.name)
		fmt.Fprintf(&config, "%s:\n  listen: %s\n  timeout: 5000\n  %s\n  servers:\n", p.name, sockets[i], p.options)
		for j, s := range servers {
			s.Weight = p.weights[j]
			line := fmt.Sprintf("%s:%v", s.Addr, s.Weight)
			if p.named {
				s.Name = "cache-" + strings.Repeat("z", 4-j)
				line += " " + s.Name
			}
			fmt.Fprintf(&config, "   - %s\n", line)
			lists[i] = append(lists[i], s)
		}
	}
	startNutcracker(t, program, dir, config.Bytes(), sockets)
	keys := placementKeys()
	for i, p := range pools {
		t.Run(p.name, func(t *testing.T) {
			r, err := ring.New(p.placement, lists[i]...)
			require.NoError(t, err)
			proxy := converse(t, "unix", sockets[i])
			for _, key := range keys {
				require.Equal(t, "STORED", proxy.ask("set "+key+" 0 0 1\r\nv"), key)
			}
			checkPlaces(t, r, keys)
		})
	}
}

// nutcracker returns the path of the proxy's program, or skips the test.
func nutcracker(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("NUTCRACKER"), "nutcracker", "/usr/sbin/nutcracker"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("skipped: no nutcracker (twemproxy) in $NUTCRACKER, PATH or /usr/sbin")
	return ""
}

// startNutcracker runs the proxy until the end of the test, once the sockets that
// its configuration names take connections.
func startNutcracker(t *testing.T, program, dir string, config []byte, sockets []string) {
	t.Helper()
	file := filepath.Join(dir, "nutcracker.yml")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	stats, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(stats.Addr().String())
	require.NoError(t, err)
	require.NoError(t, stats.Close()) // it cannot do without a port of its own
	cmd := exec.CommandContext(t.Context(), program, "-c", file, "-a", "127.0.0.1", "-s", port,
		"-o", filepath.Join(dir, "log"), "-p", filepath.Join(dir, "pid"))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // ended with the test's context
	require.Eventually(t, func() bool {
		for _, socket := range sockets {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				return false
			}
			conn.Close()
		}
		return true
	}, 10*time.Second, 20*time.Millisecond, "nutcracker does not start")
}

// memccp of libmemcached stores files under their names, and takes the hash as an
// option; its distribution is always modula.
func TestKeysStoredByLibmemcached(t *testing.T) {
	program, err := exec.LookPath("memccp")
	if err != nil {
		t.Skip("skipped: no memccp (libmemcached-tools) in PATH")
	}
	servers := fourServers(t)
	var addrs, files, keys []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	dir := t.TempDir()
	for _, key := range placementKeys() {
		file := filepath.Join(dir, key)
		require.NoError(t, os.WriteFile(file, []byte("v"), 0o600))
		files, keys = append(files, file), append(keys, key)
	}
	hashes := []ring.Hash{
		ring.HashOneAtATime, ring.HashMD5, ring.HashCRC, ring.HashFNV64, ring.HashFNV64a,
		ring.HashFNV32, ring.HashFNV32a, ring.HashMurmur, ring.HashJenkins,
	}
	for _, hash := range hashes {
		t.Run(hash.String(), func(t *testing.T) {
			r, err := ring.New(ring.LibmemcachedModula(hash), servers...)
			require.NoError(t, err)
			args := []string{"--servers=" + strings.Join(addrs, ",")}
			if hash != ring.HashOneAtATime { // the default, which has no name here
				args = append(args, "--hash="+strings.ToUpper(hash.String()))
			}
			output, err := exec.CommandContext(t.Context(), program, append(args, files...)...).CombinedOutput()
			require.NoError(t, err, "%s", output)
			checkPlaces(t, r, keys)
		})
	}
}
