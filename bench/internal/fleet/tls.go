package fleet

// Servers that speak TLS, and what a client needs to believe them.

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// serverName is the name in the certificate.
const serverName = "memcached.test"

// StartTLS starts n servers that speak TLS.
func StartTLS(ctx context.Context, n int, args ...string) (_ *Fleet, err error) {
	dir, err := os.MkdirTemp("", "vbench-tls-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool, err := certify(cert, key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: pool, ServerName: serverName, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	f := &Fleet{dir: dir, tls: config, dial: (&tls.Dialer{Config: config}).DialContext}
	return f, f.start(ctx, n, append([]string{"-Z", "-o", "ssl_chain_cert=" + cert, "-o", "ssl_key=" + key}, args...))
}

// TLS is what a client needs for the servers of a fleet that speaks TLS.
func (f *Fleet) TLS() *tls.Config { return f.tls }

// Dial connects to a server of a fleet that speaks TLS; it is nil for others.
func (f *Fleet) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	return f.dial
}

// certify writes a certificate and its key, and returns the pool that trusts it.
func certify(certFile, keyFile string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: serverName}, DNSNames: []string{serverName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, certPEM, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool, nil
}
