package memcachetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerAnswersAPipelinedBatch(t *testing.T) {
	c := dial(t, NewServer(t))
	c.send("ms k 3 T90 F7\r\nbar\r\nmg k v t f k O1\r\nmg miss q\r\nmn\r\nget k\r\nquit\r\n")
	c.wantClosed("HD\r\nVA 3 t90 f7 kk O1\r\nbar\r\nMN\r\nVALUE k 7 3\r\nbar\r\nEND\r\n")
}

func TestNetworks(t *testing.T) {
	certificate, roots := selfSigned(t)
	for name, cfg := range map[string]Config{
		"tcp":  {},
		"tcp4": {Network: "tcp4"},
		"tcp6": {Network: "tcp6"},
		"unix": {Network: "unix"},
		"tls":  {TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Start(cfg)
			if name == "tcp6" && err != nil {
				t.Skip("no IPv6 here:", err)
			}
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			nc, err := net.Dial(s.Network(), s.Addr())
			require.NoError(t, err)
			if cfg.TLS != nil {
				nc = tls.Client(nc, &tls.Config{RootCAs: roots, ServerName: "localhost"})
			}
			c := newClient(t, nc)
			c.send("ms k 2\r\nhi\r\nmg k v\r\n")
			c.want("HD\r\nVA 2\r\nhi\r\n")

			require.NoError(t, s.Close())
			_, err = net.Dial(s.Network(), s.Addr())
			require.Error(t, err)
		})
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func TestUnixSocketIsRemoved(t *testing.T) {
	s, err := Start(Config{Network: "unix"})
	require.NoError(t, err)
	require.FileExists(t, s.Addr())
	require.NoError(t, s.Close())
	_, err = os.Stat(s.Addr())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStartFails(t *testing.T) {
	s := NewServer(t)
	for name, configs := range map[string][]Config{
		"address in use":    {{Addr: s.Addr()}},
		"unknown network":   {{Network: "carrier pigeon"}},
		"two configs":       {{}, {}},
		"directory is gone": {{Network: "unix", Addr: "/nonexistent/sock"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(configs...)
			require.Error(t, err)
		})
	}
}

func TestCloseEndsConnections(t *testing.T) {
	s := NewServer(t)
	idle, stalled := dial(t, s), dial(t, s)
	idle.send("mn\r\n")
	idle.want("MN\r\n")
	s.Inject(Fault{Conn: 2, Do: Stall()})
	stalled.send("mn\r\n")
	stalled.wantNothing()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second time")
	idle.wantClosed("")
	stalled.wantClosed("")
	_, err := s.Dial(t.Context(), "", "")
	require.Error(t, err)
}

func TestServeConn(t *testing.T) {
	s := NewServer(t, Config{Network: NetworkPipe})
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ServeConn(far)
	}()
	c := newClient(t, near)
	c.send("version\r\n")
	c.want("VERSION 1.6.45\r\n")
	near.Close()
	<-served
	assert.Empty(t, s.Connections())
}

func TestTTLInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(t, Config{Network: NetworkPipe})
		nc, err := s.Dial(t.Context(), "", "")
		require.NoError(t, err)
		c := newClient(t, nc)
		require.NoError(t, nc.SetDeadline(time.Time{}))
		c.send("ms k 1 T10\r\nx\r\n")
		c.want("HD\r\n")
		time.Sleep(10*time.Second - 1)
		c.send("mg k t\r\n")
		c.want("HD t1\r\n")
		time.Sleep(1 * time.Nanosecond)
		c.send("mg k t\r\n")
		c.want("EN\r\n")
	})
}

func TestFastForward(t *testing.T) {
	s := NewServer(t)
	c := dial(t, s)
	c.send("ms relative 1 T100\r\nx\r\nms for_ever 1\r\nx\r\n")
	c.want("HD\r\nHD\r\n")
	c.send(fmt.Sprintf("ms absolute 1 T%d\r\nx\r\n", time.Now().Unix()+3000))
	c.want("HD\r\n")
	s.FastForward(101 * time.Second)
	c.send("mg relative\r\nmg absolute\r\n")
	c.want("EN\r\nHD\r\n")
	s.FastForward(time.Hour)
	c.send("mg absolute\r\nmg for_ever t\r\n")
	c.want("EN\r\nHD t-1\r\n")
}

func TestDelayedFlush(t *testing.T) {
	s := NewServer(t)
	c := dial(t, s)
	c.send("set before 0 0 1\r\nx\r\nflush_all 10\r\nset after 0 0 1\r\nx\r\nget before after\r\n")
	c.want("STORED\r\nOK\r\nSTORED\r\nVALUE before 0 1\r\nx\r\nVALUE after 0 1\r\nx\r\nEND\r\n")
	s.FastForward(11 * time.Second)
	c.send("get before after\r\nset new 0 0 1\r\nx\r\nget new\r\n")
	c.want("END\r\nSTORED\r\nVALUE new 0 1\r\nx\r\nEND\r\n")

	c.send("flush_all 2592001\r\nget new\r\n")
	c.want("OK\r\nVALUE new 0 1\r\nx\r\nEND\r\n")
	c.send(fmt.Sprintf("flush_all %d\r\nget new\r\n", time.Now().Unix()))
	c.want("OK\r\nEND\r\n")
}

func TestMemoryLimitEvictsWhatWasUsedLongestAgo(t *testing.T) {
	const size = 100
	perItem := int64(new(store).itemSize(len("k0"), size, 0))
	s := NewServer(t, Config{MemoryLimit: 3 * perItem})
	c := dial(t, s)
	value := strings.Repeat("v", size)
	for i := range 3 {
		c.send(fmt.Sprintf("ms k%d %d\r\n%s\r\n", i, size, value))
		c.want("HD\r\n")
	}
	c.send("get k0\r\n")
	c.want("VALUE k0 0 100\r\n" + value + "\r\nEND\r\n")
	c.send(fmt.Sprintf("ms k3 %d\r\n%s\r\n", size, value))
	c.want("HD\r\n")
	assert.Equal(t, []string{"k0", "k2", "k3"}, s.Keys())
	assert.Equal(t, "1", s.stat("evictions"))
}

// stat reads one of the general statistics.
func (s *Server) stat(name string) string {
	for _, st := range s.generalStats() {
		if st.name == name {
			return st.value
		}
	}
	return ""
}

func TestOptions(t *testing.T) {
	for name, row := range map[string]struct {
		cfg          Config
		script, want string
	}{
		"no evictions": {
			Config{MemoryLimit: 100, DisableEvictions: true},
			"ms a 1\r\nx\r\nms b 1\r\nx\r\nset b 0 0 1\r\nx\r\nmg a\r\n",
			"HD\r\nSERVER_ERROR out of memory storing object\r\nSERVER_ERROR out of memory storing object\r\nHD\r\n",
		},
		"no CAS": {
			Config{DisableCAS: true},
			"ms a 1 c\r\nx\r\ngets a\r\nmg a c\r\n",
			"HD c0\r\nVALUE a 0 1 0\r\nx\r\nEND\r\nHD c0\r\n",
		},
		"no CAS, and the room for it": {
			Config{DisableCAS: true}, "ms a 1\r\nx\r\nme a\r\n",
			"HD\r\nME a exp=-1 la=0 cas=0 fetch=no cls=1 size=53\r\n",
		},
		"small items": {
			Config{MaxItemSize: 1024},
			"ms a 1000\r\n" + strings.Repeat("x", 1000) + "\r\nmn\r\n",
			"SERVER_ERROR object too large for cache\r\nMN\r\n",
		},
		"any version": {Config{Version: "9.9.9"}, "version\r\n", "VERSION 9.9.9\r\n"},
		"old version": {Config{Version: "1.6.18"}, "version\r\nget\r\n", "VERSION 1.6.18\r\nERROR\r\n"},
		// The newer one takes the key for the option, too.
		"delete noreply":     {Config{}, "delete noreply\r\ndelete noreply 0\r\n", "NOT_FOUND\r\n"},
		"old delete noreply": {Config{Version: "1.6.18"}, "delete noreply\r\ndelete noreply 0\r\n", "NOT_FOUND\r\nNOT_FOUND\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, NewServer(t, row.cfg))
			c.send(row.script)
			c.want(row.want)
		})
	}
}

func TestStatistics(t *testing.T) {
	s := NewServer(t)
	c := dial(t, s)
	c.send("set a:1 0 0 1\r\n5\r\nget a:1 b\r\nincr a:1 1\r\nincr b 1\r\ndelete b\r\ntouch a:1 0\r\n")
	c.want("STORED\r\nVALUE a:1 0 1\r\n5\r\nEND\r\n6\r\nNOT_FOUND\r\nNOT_FOUND\r\nTOUCHED\r\n")
	for name, want := range map[string]string{
		"cmd_get": "2", "get_hits": "1", "get_misses": "1", "cmd_set": "1", "incr_hits": "1", "incr_misses": "1",
		"delete_misses": "1", "touch_hits": "1", "curr_items": "1", "curr_connections": "1",
	} {
		assert.Equal(t, want, s.stat(name), name)
	}
	c.send("stats reset\r\nstats detail on\r\nget a:1\r\nget a:2\r\nstats detail dump\r\nstats detail off\r\n")
	c.want("RESET\r\nOK\r\nVALUE a:1 0 1\r\n6\r\nEND\r\nEND\r\nPREFIX a get 2 hit 1 set 0 del 0\r\nEND\r\nOK\r\n")
	c.send("stats cachedump 1 10\r\nlru_crawler mgdump all\r\n")
	c.want("ITEM a:1 [1 b; 0 s]\r\nEND\r\nOK\r\nmg a:1\r\nEN\r\n")
	c.send("lru_crawler metadump all\r\n")
	c.want("OK\r\nkey=a%3A1 exp=-1 la=")
}

func TestConnectionLimit(t *testing.T) {
	s := NewServer(t, Config{MaxConns: 1})
	first := dial(t, s)
	first.send("mn\r\n")
	first.want("MN\r\n")
	dial(t, s).wantClosed("ERROR Too many open connections\r\n")
	s.LimitConns(2)
	second := dial(t, s)
	second.send("mn\r\n")
	second.want("MN\r\n")
	assert.Equal(t, "1", s.stat("rejected_connections"))
}

func TestServersDialByAddress(t *testing.T) {
	all := NewServers(t, 3, Config{Network: NetworkPipe})
	addrs := all.Addrs()
	require.Len(t, addrs, 3)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(addrs))), 3, "addresses differ")
	for i, addr := range addrs {
		nc, err := all.Dial(t.Context(), "tcp", addr)
		require.NoError(t, err)
		c := newClient(t, nc)
		c.send(fmt.Sprintf("ms k%d 1\r\nx\r\n", i))
		c.want("HD\r\n")
	}
	assert.Equal(t, [][]string{{"k0"}, {"k1"}, {"k2"}}, all.Keys())
	_, err := all.Dial(t.Context(), "tcp", "192.0.2.255:11211")
	require.Error(t, err)
}

func TestStartIsFast(t *testing.T) {
	times := make([]time.Duration, 50)
	for i := range times {
		start := time.Now()
		s, err := Start()
		times[i] = time.Since(start)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	slices.Sort(times)
	median := times[len(times)/2]
	t.Logf("start takes %v", median)
	assert.Less(t, median, time.Millisecond)
}

func TestManyClients(t *testing.T) {
	s := NewServer(t)
	var wg sync.WaitGroup
	for i := range 16 {
		c := dial(t, s)
		wg.Go(func() {
			for j := range 200 {
				script := fmt.Sprintf("ms k%d 3\r\n%03d\r\nmg k%d v\r\nma n N0\r\n", i, j, i)
				if _, err := io.WriteString(c.nc, script); !assert.NoError(t, err) {
					return
				}
				got := make([]byte, len("HD\r\nVA 3\r\n000\r\nHD\r\n"))
				_, err := io.ReadFull(c.r, got)
				if !assert.NoError(t, err) || !assert.Equal(t, fmt.Sprintf("HD\r\nVA 3\r\n%03d\r\nHD\r\n", j), string(got)) {
					return
				}
			}
		})
	}
	wg.Wait()
	n, ok := s.Get("n")
	require.True(t, ok)
	assert.Equal(t, "3199", string(n.Value))
}

// BenchmarkGet is a pipelined reader over loopback.
func BenchmarkGet(b *testing.B) {
	s := NewServer(b)
	s.Set(Item{Key: "key", Value: make([]byte, 100)})
	nc, err := net.Dial(s.Network(), s.Addr())
	require.NoError(b, err)
	defer nc.Close()
	const batch = 20
	request := []byte(strings.Repeat("mg key v\r\n", batch))
	reply := make([]byte, batch*len("VA 100\r\n\r\n")+batch*100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := nc.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(nc, reply); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "gets/s")
}

// A reply holds its item until it is sent, and decr then stores another item: the
// number is not padded. Replies are sent after 21 requests that came together, and
// then after each 20.
func TestReplyHoldsItsItemForATurn(t *testing.T) {
	for earlier, want := range map[int]string{0: "5", 19: "5", 20: "5 ", 21: "5", 39: "5", 40: "5 "} {
		c := dial(t, NewServer(t))
		c.send("set a 0 0 2\r\n10\r\n")
		c.want("STORED\r\n")
		c.send(strings.Repeat("mg x\r\n", earlier) + "get a\r\ndecr a 5\r\nget a\r\n")
		c.want(strings.Repeat("EN\r\n", earlier) + fmt.Sprintf("VALUE a 0 2\r\n10\r\nEND\r\n5\r\nVALUE a 0 %d\r\n%s\r\nEND\r\n", len(want), want))
	}
}
