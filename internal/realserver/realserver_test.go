package realserver

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// launchEnv turns this test binary into a program that launches a server, tells
// its address and waits to be killed.
const launchEnv = "REALSERVER_TEST_LAUNCH"

func TestMain(m *testing.M) {
	if os.Getenv(launchEnv) != "" {
		s, err := Launch(context.Background(), Config{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.Addr())
		select {}
	}
	goleak.VerifyTestMain(m)
}

func TestEachVersionAnswers(t *testing.T) {
	Each(t, func(t *testing.T, b Binary) {
		for _, unix := range []bool{false, true} {
			t.Run(fmt.Sprintf("unix=%v", unix), func(t *testing.T) {
				s := Start(t, Config{Version: b.Version, Unix: unix})
				assert.Equal(t, b.Version, s.Version())
				assert.Equal(t, "VERSION "+b.Version+"\r\n", ask(t, s, "version\r\n"))
			})
		}
	})
}

func TestReadinessFollowsArguments(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	require.NoError(t, os.WriteFile(users, []byte("user:password"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memcached.conf"), []byte("mech_list: plain\n"), 0o600))
	cert, key := selfSigned(t, dir)

	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"text with authentication", Config{Args: []string{"-Y", users}}},
		{"binary only", Config{Args: []string{"-B", "binary"}}},
		{"SASL", Config{Args: []string{"-S"}, Env: []string{"SASL_CONF_PATH=" + dir}}},
		{"TLS", Config{Args: []string{"-Z", "-o", "ssl_chain_cert=" + cert + ",ssl_key=" + key}}},
		{"IPv6", Config{Host: "::1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if host := c.cfg.Host; host != "" {
				l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
				if err != nil {
					t.Skipf("this machine has no %s: %v", host, err)
				}
				l.Close()
			}
			assert.NotEmpty(t, Start(t, c.cfg).Version())
		})
	}
}

func TestStopAndRestartKeepTheAddress(t *testing.T) {
	for _, unix := range []bool{false, true} {
		t.Run(fmt.Sprintf("unix=%v", unix), func(t *testing.T) {
			s := Start(t, Config{Unix: unix})
			addr, pid := s.Addr(), s.Pid()
			require.Equal(t, "STORED\r\n", ask(t, s, "set k 0 0 1\r\nv\r\n"))

			s.Stop()
			_, err := net.Dial(s.Network(), addr)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			require.ErrorIs(t, s.Signal(os.Interrupt), os.ErrProcessDone)

			require.NoError(t, s.Restart(t.Context()))
			assert.Equal(t, addr, s.Addr())
			assert.NotEqual(t, pid, s.Pid())
			assert.Equal(t, "END\r\n", ask(t, s, "get k\r\n"), "it starts empty")
		})
	}
}

func TestRestartWaitsForItsPort(t *testing.T) {
	s := Start(t, Config{})
	s.Stop()
	thief, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, s.Restart(ctx), errAddressInUse)

	restarted := make(chan error)
	go func() { restarted <- s.Restart(t.Context()) }()
	thief.Close()
	require.NoError(t, <-restarted)
}

func TestErrors(t *testing.T) {
	binary, err := find(Config{})
	if err != nil {
		skip(t, err.Error())
	}
	for _, c := range []struct {
		name, memcached string
		cfg             Config
		want            string
	}{
		{"version that is not there", binary.Path, Config{Version: "0.0.1"}, "no memcached 0.0.1 here: found [" + binary.Version},
		{"nothing new enough", binary.Path, Config{MinVersion: "99.0"}, "no memcached of at least 99.0 here"},
		{"MEMCACHED names nothing", "/no/such/program", Config{}, "MEMCACHED=/no/such/program: "},
		{"MEMCACHED is something else", "/bin/true", Config{}, "/bin/true -V: no version in"},
		{"the server refuses its arguments", binary.Path, Config{Args: []string{"--no-such-option"}}, "it ended by itself (exit status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("MEMCACHED", c.memcached)
			t.Setenv("MEMCACHED_VERSIONS_DIR", t.TempDir())
			_, err := Launch(t.Context(), c.cfg)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// TestSkip runs this binary again, because a skip or failure ends the test that
// asks for the server.
func TestSkip(t *testing.T) {
	for _, c := range []struct{ require, want string }{
		{"", "--- SKIP: TestEachVersionAnswers"},
		{"1", "--- FAIL: TestEachVersionAnswers"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEachVersionAnswers$", "-test.v")
		cmd.Env = append(os.Environ(), "MEMCACHED=/no/such/program", "REQUIRE_MEMCACHED="+c.require)
		out, _ := cmd.CombinedOutput() // the exit code is that of the test wanted
		assert.Contains(t, string(out), c.want)
		assert.Contains(t, string(out), "none found; MEMCACHED=/no/such/program")
	}
}

func TestPreference(t *testing.T) {
	fake := func(dir, version string) string {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		path := filepath.Join(dir, "memcached")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho memcached "+version+"\n"), 0o755))
		return path
	}
	root := t.TempDir()
	named := fake(filepath.Join(root, "named"), "1.6.9")
	inPath := fake(filepath.Join(root, "path"), "1.6.18")
	fake(filepath.Join(root, "cache", "memcached-1.6.18"), "1.6.18")
	cached := fake(filepath.Join(root, "cache", "memcached-1.6.45"), "1.6.45")
	t.Setenv("PATH", filepath.Dir(inPath)+":/usr/bin:/bin")
	t.Setenv("MEMCACHED_VERSIONS_DIR", filepath.Join(root, "cache"))

	t.Setenv("MEMCACHED", "")
	var paths []string
	for _, b := range Available() {
		paths = append(paths, b.Path)
	}
	assert.Equal(t, []string{inPath, cached}, paths, "each version once, the oldest first")

	for _, c := range []struct {
		name, memcached string
		cfg             Config
		want            string
	}{
		{"newest by default", "", Config{}, cached},
		{"oldest", "", Config{Version: Oldest}, inPath},
		{"oldest of the new ones", "", Config{Version: Oldest, MinVersion: "1.6.30"}, cached},
		{"by number", "", Config{Version: "1.6.18"}, inPath},
		{"MEMCACHED first", named, Config{}, named},
		{"a wish beats MEMCACHED", named, Config{Version: Newest}, cached},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("MEMCACHED", c.memcached)
			got, err := find(c.cfg)
			require.NoError(t, err)
			assert.Equal(t, c.want, got.Path)
		})
	}
}

func TestRelativePath(t *testing.T) {
	binary, err := find(Config{})
	if err != nil {
		skip(t, err.Error())
	}
	t.Chdir(filepath.Dir(binary.Path))
	t.Setenv("MEMCACHED", "./"+filepath.Base(binary.Path))
	assert.NotEmpty(t, Start(t, Config{}).Version())
}

// ask sends one request and returns the first line of the reply.
func ask(t *testing.T, s *Server, request string) string {
	t.Helper()
	conn, err := net.Dial(s.Network(), s.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return line
}

// selfSigned writes a certificate for localhost and its key.
func selfSigned(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", keyBytes)
}
