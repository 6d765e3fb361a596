package integration

// Batches far larger than any buffer between client and server, through buffers
// that are far too small: a client that only writes would wait for a server that
// waits for it to read.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

func TestHugeBatches(t *testing.T) {
	for _, servers := range []int{1, 4} {
		list := hugeServers(t, servers)
		for _, buffer := range []int{4 << 10, 16 << 10} {
			for _, protocol := range []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Binary} {
				t.Run(fmt.Sprintf("%d servers, %d bytes of buffer, protocol %d", servers, buffer, protocol), func(t *testing.T) {
					c := hugeClient(t, list)
					c.Protocol = protocol
					c.Conn.ReadBuffer, c.Conn.WriteBuffer = buffer, buffer
					hugeBatch(t, c, hugeKeys(t))
				})
			}
		}
	}
}

// Over TLS no write can be tried without blocking, and what has arrived may lie
// in the TLS library, where the socket does not show it.
func TestHugeBatchesOverTLS(t *testing.T) {
	newest := realserver.Available()
	if len(newest) > 0 {
		help, err := exec.Command(newest[len(newest)-1].Path, "-h").Output()
		require.NoError(t, err)
		if !bytes.Contains(help, []byte("--enable-ssl")) {
			t.Skip("skipped: this memcached is built without TLS")
		}
	}
	certificate, key := certificate(t)
	for _, servers := range []int{1, 4} {
		list := hugeServers(t, servers, "-Z", "-o", "ssl_chain_cert="+certificate+",ssl_key="+key)
		for _, buffer := range []int{4 << 10, 16 << 10} {
			t.Run(fmt.Sprintf("%d servers, %d bytes of buffer", servers, buffer), func(t *testing.T) {
				c := hugeClient(t, list)
				c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					d := tls.Dialer{NetDialer: &net.Dialer{Control: buffers(buffer)}, Config: &tls.Config{InsecureSkipVerify: true}}
					return d.DialContext(ctx, network, address)
				}
				keys := hugeKeys(t)
				hugeBatch(t, c, keys[:len(keys)/4])
			})
		}
	}
}

// Replies that trickle through a proxy with small buffers of its own.
func TestHugeBatchesThatDrip(t *testing.T) {
	for _, servers := range []int{1, 4} {
		list := hugeServers(t, servers)
		for _, protocol := range []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Binary} {
			t.Run(fmt.Sprintf("%d servers, protocol %d", servers, protocol), func(t *testing.T) {
				var dripping []memcache.Server
				for _, s := range list {
					p := memcachetest.NewProxy(t, s.Addr, memcachetest.ProxyConfig{SocketBuffer: 4 << 10})
					p.Inject(memcachetest.Fault{Do: memcachetest.Drip(1<<10, 10*time.Millisecond)})
					dripping = append(dripping, memcache.Server{Addr: p.Addr()})
				}
				c := hugeClient(t, dripping)
				c.Protocol = protocol
				c.Conn.ReadBuffer, c.Conn.WriteBuffer = 4<<10, 4<<10
				keys := hugeKeys(t)
				hugeBatch(t, c, keys[:len(keys)/500])
			})
		}
	}
}

// hugeServers starts n servers that hold every key.
func hugeServers(t *testing.T, n int, args ...string) (list []memcache.Server) {
	for range n {
		s := realserver.Start(t, realserver.Config{Args: append([]string{"-m", "4096"}, args...)})
		list = append(list, memcache.Server{Addr: s.Addr()})
	}
	return list
}

func hugeClient(t *testing.T, servers []memcache.Server) *memcache.Client {
	continuum, err := memcache.NewContinuum(ring.Default, servers...)
	require.NoError(t, err)
	c := memcache.NewFromSelector(continuum)
	c.Timeout = 30 * time.Second // of a machine that does other things as well
	t.Cleanup(func() { c.Close() })
	return c
}

// hugeKeys are as many as HUGE says, by hand 1000000, or fewer by default.
func hugeKeys(t *testing.T) []string {
	n := 20_000
	if text := os.Getenv("HUGE"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("huge:%d", i)
	}
	return keys
}

// hugeBatch stores keys, reads them in each form, deletes them, and deletes them
// again when they are gone.
func hugeBatch(t *testing.T, c *memcache.Client, keys []string) {
	value := make([]byte, 1<<10)
	items := make([]*memcache.Item, len(keys))
	for i := range items {
		items[i] = &memcache.Item{Key: keys[i], Value: value, Flags: uint32(i)}
	}
	require.NoError(t, c.SetMulti(items))
	items = nil

	grown := heapPeak()
	hits := 0
	require.NoError(t, c.GetMultiFunc(context.Background(), keys, func(h memcache.Hit) bool {
		hits++
		return len(h.Value) == len(value)
	}))
	peak, _ := grown()
	assert.Equal(t, len(keys), hits)
	// Beside the windows there are the keys once more, by server, and their places.
	assert.Less(t, peak, int64(64<<20+48*len(keys)), "GetMultiFunc")

	grown = heapPeak()
	got, err := c.GetMulti(keys)
	peakAll, results := grown()
	require.NoError(t, err)
	require.Len(t, got, len(keys))
	for i, key := range keys {
		if got[key].Flags != uint32(i) || len(got[key].Value) != len(value) {
			t.Fatalf("wrong item for %s", key)
		}
	}
	got = nil

	require.NoError(t, c.DeleteMulti(keys))
	grown = heapPeak()
	err = c.DeleteMulti(keys)
	peakAbsent, missing := grown()
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, memcache.ErrCacheMiss)
	absent := 0
	for _, f := range failed.Failures {
		absent += len(f.Keys)
	}
	assert.Equal(t, len(keys), absent)
	require.NoError(t, c.Ping(), "nothing is marked down")
	t.Logf("heap: GetMultiFunc %d MiB; GetMulti %d above its results of %d; DeleteMulti of absent keys %d above its error of %d",
		peak>>20, (peakAll-results)>>20, results>>20, (peakAbsent-missing)>>20, missing>>20)
}

// heapPeak samples the heap until the returned function is called, which tells
// how far it grew, and how much of that is still in use. What is garbage is
// collected early meanwhile.
func heapPeak() (grown func() (peak, kept int64)) {
	percent := debug.SetGCPercent(3)
	runtime.GC()
	alloc := func() int64 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	base := alloc()
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			most.Store(max(most.Load(), alloc()-base))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() (peak, kept int64) {
		close(stop)
		<-done
		runtime.GC()
		debug.SetGCPercent(percent)
		return most.Load(), alloc() - base
	}
}

// buffers gives a socket small buffers before it connects: later is too late for
// what the other side has been told.
func buffers(size int) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) {
			err = cmp.Or(
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, size),
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, size),
			)
		})
		return cmp.Or(err, failed)
	}
}

// certificate makes the files of a certificate and its key.
func certificate(t *testing.T) (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	file := func(name, kind string, b []byte) string {
		name = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o644))
		return name
	}
	return file("cert.pem", "CERTIFICATE", public), file("key.pem", "PRIVATE KEY", secret)
}
