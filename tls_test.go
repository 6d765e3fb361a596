package memcache_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// tlsServerName is the name in the certificate of the tests' servers.
const tlsServerName = "cache.test"

// authority returns the certificate of a server, with its key, and the pool that
// trusts it.
func authority(t testing.TB) (tls.Certificate, *x509.CertPool) {
	cert, pool, err := newAuthority()
	require.NoError(t, err)
	return cert, pool
}

func newAuthority() (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: tlsServerName},
		DNSNames:     []string{tlsServerName},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IsCA:         true,

		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool, nil
}

// dialTLS is what a program writes: the address is an "ip:port", so the name to
// expect is its own to say.
func dialTLS(pool *x509.CertPool) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: tlsServerName}}
	return d.DialContext
}

// eachTLSServer is eachServer with servers that speak TLS only.
func eachTLSServer(t *testing.T, f func(t *testing.T, address string, pool *x509.CertPool)) {
	cert, pool := authority(t)
	t.Run("embedded", func(t *testing.T) {
		s := memcachetest.NewServer(t, memcachetest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
		f(t, s.Addr(), pool)
	})
	t.Run("memcached", func(t *testing.T) {
		der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
		require.NoError(t, err)
		dir := t.TempDir()
		certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Leaf.Raw}), 0o600))
		require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			if help, _ := exec.Command(b.Path, "-h").Output(); !bytes.Contains(help, []byte("--enable-ssl")) {
				t.Skip("built without TLS")
			}
			s := realserver.Start(t, realserver.Config{
				Version: b.Version,
				Args:    []string{"-Z", "-o", "ssl_chain_cert=" + certFile + ",ssl_key=" + keyFile},
			})
			f(t, s.Addr(), pool)
		})
	})
}

func TestTLS(t *testing.T) {
	eachTLSServer(t, func(t *testing.T, address string, pool *x509.CertPool) {
		c := newClient(t, address)
		c.DialContext = dialTLS(pool)
		keys := make([]string, 300)
		for i := range keys {
			keys[i] = fmt.Sprint("key:", i)
			require.NoError(t, c.Set(&memcache.Item{Key: keys[i], Value: stamp(keys[i], 2000)}))
		}
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		requireStamped(t, items, keys, 2000)

		value := bytes.Repeat([]byte("0123456789"), 100_000)
		require.NoError(t, c.Set(&memcache.Item{Key: "large", Value: value}))
		assert.True(t, bytes.Equal(value, mustGet(t, c, "large").Value))
		_, err = c.Get("absent")
		assert.Equal(t, memcache.ErrCacheMiss, err)
		require.NoError(t, c.Close())
		require.NoError(t, c.Ping())
	})
}

// Session tickets that arrive unasked do not make an idle connection a dead one.
func TestTLSConnectionIsKeptWhileIdle(t *testing.T) {
	eachTLSServer(t, func(t *testing.T, address string, pool *x509.CertPool) {
		c := newClient(t, address)
		dials := 0
		c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dialTLS(pool)(ctx, network, address)
		}
		for range 5 {
			require.NoError(t, c.Ping())
			time.Sleep(20 * time.Millisecond) // long enough to be looked at before the next use
		}
		assert.Equal(t, 1, dials)
	})
}

func TestTLSErrorComesThrough(t *testing.T) {
	cert, _ := authority(t)
	s := memcachetest.NewServer(t, memcachetest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	c := newClient(t, s.Addr())
	_, stranger := authority(t)
	c.DialContext = dialTLS(stranger)
	_, err := c.Get("key")
	var unknown x509.UnknownAuthorityError
	assert.ErrorAs(t, err, &unknown)
	assert.Contains(t, err.Error(), s.Addr())
}
