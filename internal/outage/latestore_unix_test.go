//go:build unix

package outage

// The client and the late store of fence_unix_test.go: however a store was given
// up, when its key has been deleted the old value is gone for good.

import (
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
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

func TestLateStoresDoNotStand(t *testing.T) {
	type store = func(c *memcache.Client, item *memcache.Item) error
	set := (*memcache.Client).Set
	cancelled := func(c *memcache.Client, item *memcache.Item) error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		return c.SetContext(ctx, item)
	}
	for _, row := range []struct {
		name     string
		conns    int
		protocol memcache.Protocol
		tls      bool
		store    store
	}{
		{"set", 1, memcache.Auto, false, set},
		{"set, two connections", 2, memcache.Auto, false, set},
		{"set, classic", 2, memcache.Classic, false, set},
		{"set, binary", 2, memcache.Binary, false, set},
		{"set over TLS", 2, memcache.Auto, true, set},
		{"add", 2, memcache.Auto, false, (*memcache.Client).Add},
		{"many", 2, memcache.Auto, false, func(c *memcache.Client, item *memcache.Item) error {
			return c.SetMulti([]*memcache.Item{item, {Key: item.Key + "x"}})
		}},
		{"given up by its caller", 1, memcache.Auto, false, cancelled},
		{"given up by its caller, two connections", 2, memcache.Auto, false, cancelled},
		{"given up by Close", 2, memcache.Auto, false, func(c *memcache.Client, item *memcache.Item) error {
			result := make(chan error)
			go func() { result <- c.Set(item) }()
			pause(nil, 5*time.Millisecond) // that it was sent is likely
			c.Close()
			return <-result
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rng := seeded(t)(0)
			var cfg realserver.Config
			dial := new(net.Dialer).DialContext
			if row.tls {
				cfg, dial = secure(t)
			}
			server := realserver.Start(t, cfg)
			outcomes := map[string]int{}
			for n := range count(t, "FENCE_TRIALS", 10) {
				c := memcache.New(server.Addr())
				c.Timeout, c.MaxConns, c.Protocol, c.DialContext = timeout, row.conns, row.protocol, dial
				c.Failover.ProbeDelay, c.Failover.MaxProbeDelay = probeDelay, maxProbeDelay
				key := fmt.Sprint("key", n)
				for range 2 * row.conns { // all connections are there
					until(t, "a miss", func() bool {
						_, err := c.Get(key)
						return err == memcache.ErrCacheMiss
					})
				}

				halt(t, server)
				require.Error(t, row.store(c, &memcache.Item{Key: key, Value: []byte("late")}))
				deleted := make(chan error)
				go func() { deleted <- c.Delete(key) }()
				pause(nil, time.Duration(rng.Int64N(int64(2*timeout))))
				proceed(t, server)
				err := <-deleted
				if isOwed(err) {
					outcomes["owed"]++
					until(t, "nothing owed", func() bool {
						c.Get("another")
						return c.Health()[0].Owed == 0
					})
				} else {
					require.True(t, err == nil || err == memcache.ErrCacheMiss, "%v", err)
					outcomes["deleted"]++
				}
				until(t, "an answer", func() bool {
					item, err := c.Get(key)
					assert.Error(t, err, "%v", item)
					return err == nil || err == memcache.ErrCacheMiss
				})
				require.NoError(t, c.Close())
				raw := dialRaw(t, dial, server.Addr())
				alone(t, raw)
				raw.send(t, "get "+key+"\r\n")
				require.Equal(t, "END", raw.line(t), "trial %d, after %v", n, err)
				raw.Close()
			}
			t.Log(outcomes)
		})
	}
}

// secure returns a server with a certificate of its own, and who trusts it.
func secure(t *testing.T) (realserver.Config, func(ctx context.Context, network, address string) (net.Conn, error)) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, content []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return file
	}
	chain, secret := write("cert", "CERTIFICATE", der), write("key", "PRIVATE KEY", private)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	d := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
	return realserver.Config{Args: []string{"-Z", "-o", "ssl_chain_cert=" + chain + ",ssl_key=" + secret}}, d.DialContext
}
