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
					hugeBatch(t, c, hugeKeys(t, 8_000))
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
				hugeBatch(t, c, hugeKeys(t, 2_000))
			})
		}
	}
}

// Replies that trickle through a proxy with small buffers of its own. With a million
// keys the pieces are larger, or each form of batch would take a quarter of an hour.
func TestHugeBatchesThatDrip(t *testing.T) {
	keys := hugeKeys(t, 200)
	drip := memcachetest.Drip(1<<10+len(keys)/32, time.Millisecond)
	for _, servers := range []int{1, 4} {
		list := hugeServers(t, servers)
		for _, protocol := range []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Binary} {
			t.Run(fmt.Sprintf("%d servers, protocol %d", servers, protocol), func(t *testing.T) {
				var dripping []memcache.Server
				for _, s := range list {
					p := memcachetest.NewProxy(t, s.Addr, memcachetest.ProxyConfig{SocketBuffer: 4 << 10})
					p.Inject(memcachetest.Fault{Do: drip})
					dripping = append(dripping, memcache.Server{Addr: p.Addr()})
				}
				c := hugeClient(t, dripping)
				c.Protocol = protocol
				c.Conn.ReadBuffer, c.Conn.WriteBuffer = 4<<10, 4<<10
				hugeBatch(t, c, keys)
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

// hugeKeys are n keys, or as many as HUGE says, by hand 1000000.
func hugeKeys(t *testing.T, n int) []string {
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

// hugeHeap is what a batch of a million keys may take, beside what it is given
// and what it returns.
const hugeHeap = 64 << 20

// hugeBatch uses keys in each form of batch, and then deletes them again when
// they are gone.
func hugeBatch(t *testing.T, c *memcache.Client, keys []string) {
	ctx := context.Background()
	items, counters := make([]*memcache.Item, len(keys)), make([]*memcache.Item, len(keys))
	value := make([]byte, 1<<10)
	for i, key := range keys {
		items[i] = &memcache.Item{Key: key, Value: value, Flags: uint32(i)}
		counters[i] = &memcache.Item{Key: key, Value: []byte{'1'}}
	}
	bounded(t, "SetMulti", func() any {
		require.NoError(t, c.SetMulti(items))
		return nil
	})
	bounded(t, "AddMulti of present keys", func() any {
		err := c.AddMulti(items)
		requireEach(t, err, memcache.ErrNotStored, len(keys))
		return err
	})
	bounded(t, "GetMultiFunc", func() any {
		hits := 0
		require.NoError(t, c.GetMultiFunc(ctx, keys, func(h memcache.Hit) bool {
			hits++
			return len(h.Value) == len(value)
		}))
		require.Equal(t, len(keys), hits)
		return nil
	})
	bounded(t, "GetMultiSeq", func() any {
		hits := 0
		for item, err := range c.GetMultiSeq(ctx, keys) {
			require.NoError(t, err)
			if len(item.Value) == len(value) {
				hits++
			}
		}
		require.Equal(t, len(keys), hits)
		return nil
	})
	bounded(t, "GetMulti", func() any {
		got, err := c.GetMulti(keys)
		require.NoError(t, err)
		require.Len(t, got, len(keys))
		for i, key := range keys {
			if got[key].Flags != uint32(i) || len(got[key].Value) != len(value) {
				t.Fatalf("wrong item for %s", key)
			}
		}
		return got
	})
	bounded(t, "TouchMulti", func() any {
		require.NoError(t, c.TouchMulti(keys, 3600))
		return nil
	})
	bounded(t, "DeleteMulti", func() any {
		require.NoError(t, c.DeleteMulti(keys))
		return nil
	})
	bounded(t, "GetMulti of absent keys", func() any {
		got, err := c.GetMulti(keys)
		require.NoError(t, err)
		require.Empty(t, got)
		return got
	})
	bounded(t, "AddMulti", func() any {
		require.NoError(t, c.AddMulti(counters))
		return nil
	})
	bounded(t, "IncrementMulti", func() any {
		numbers, err := c.IncrementMulti(keys, 1)
		require.NoError(t, err)
		require.Len(t, numbers, len(keys))
		require.EqualValues(t, 2, numbers[keys[len(keys)-1]])
		return numbers
	})
	for _, outcome := range []error{nil, memcache.ErrCacheMiss} {
		p := c.Pipeline()
		results := make([]memcache.Result, len(keys))
		for i, key := range keys {
			results[i] = p.Delete(key)
		}
		bounded(t, fmt.Sprintf("Pipeline of deletes: %v", outcome), func() any {
			require.NoError(t, p.Do(ctx))
			for i := range results {
				if results[i].Err() != outcome {
					t.Fatalf("%v for %s", results[i].Err(), keys[i])
				}
			}
			return results
		})
	}
	bounded(t, "DeleteMulti of absent keys", func() any {
		err := c.DeleteMulti(keys)
		requireEach(t, err, memcache.ErrCacheMiss, len(keys))
		return err
	})
	require.NoError(t, c.Ping(), "nothing is marked down")
	runtime.KeepAlive(items) // all the while, or their end would count for the batches
	runtime.KeepAlive(counters)
}

// requireEach checks that err says outcome of n keys, and nothing else.
func requireEach(t *testing.T, err, outcome error, n int) {
	var failed *memcache.MultiError
	require.ErrorAs(t, err, &failed)
	keys := 0
	for _, f := range failed.Failures {
		require.True(t, f.Err == outcome, f.Err)
		keys += len(f.Keys)
	}
	require.Equal(t, n, keys)
}

// bounded checks that the heap grows no further than by hugeHeap and the result
// while do runs.
func bounded(t *testing.T, form string, do func() (result any)) {
	start := time.Now()
	grown := heapPeak()
	result := do()
	took := time.Since(start)
	peak, kept := grown()
	runtime.KeepAlive(result)
	assert.LessOrEqual(t, peak-kept, int64(hugeHeap), form)
	t.Logf("%-34s heap %4d MiB above its result of %4d, %v", form, (peak-kept)>>20, kept>>20, took.Round(time.Millisecond))
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
