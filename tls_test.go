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
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
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

// authority signs the certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool // trusts it
}

func newAuthority(t testing.TB) *authority {
	a, err := makeAuthority()
	require.NoError(t, err)
	return a
}

func makeAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "authority of the test"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageCertSign,
		IsCA:         true,

		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, pool: x509.NewCertPool()}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.pool.AddCert(a.cert)
	return a, nil
}

// sign returns a certificate with its key for names and addresses, or for a
// client's name.
func (a *authority) sign(end time.Time, names ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: names[0]},
		NotBefore:    end.Add(-2 * time.Hour),
		NotAfter:     end,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (a *authority) mustSign(t testing.TB, names ...string) tls.Certificate {
	cert, err := a.sign(time.Now().Add(time.Hour), names...)
	require.NoError(t, err)
	return cert
}

// expects is the Config of a client that trusts a.
func (a *authority) expects(name string) *tls.Config {
	return &tls.Config{RootCAs: a.pool, ServerName: name}
}

// serverTLS says how a server of the tests speaks TLS.
type serverTLS struct {
	cert    tls.Certificate
	clients *authority // if not nil, clients must show a certificate of it
}

// eachTLSServer runs f on servers that speak TLS only: an embedded one and each
// memcached of this machine that was built with it.
func eachTLSServer(t *testing.T, how serverTLS, f func(t *testing.T, address string)) {
	t.Run("embedded", func(t *testing.T) {
		config := &tls.Config{Certificates: []tls.Certificate{how.cert}}
		if how.clients != nil {
			config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, how.clients.pool
		}
		f(t, memcachetest.NewServer(t, memcachetest.Config{TLS: config}).Addr())
	})
	t.Run("memcached", func(t *testing.T) {
		key, err := x509.MarshalPKCS8PrivateKey(how.cert.PrivateKey)
		require.NoError(t, err)
		dir := t.TempDir()
		options := "ssl_chain_cert=" + writePEM(t, dir, "CERTIFICATE", how.cert.Certificate[0]) +
			",ssl_key=" + writePEM(t, dir, "PRIVATE KEY", key)
		if how.clients != nil {
			options += ",ssl_verify_mode=2,ssl_ca_cert=" + writePEM(t, dir, "CERTIFICATE", how.clients.cert.Raw)
		}
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			if help, _ := exec.Command(b.Path, "-h").Output(); !bytes.Contains(help, []byte("--enable-ssl")) {
				t.Skip("built without TLS")
			}
			f(t, realserver.Start(t, realserver.Config{Version: b.Version, Args: []string{"-Z", "-o", options}}).Addr())
		})
	})
}

func writePEM(t testing.TB, dir, kind string, der []byte) (path string) {
	f, err := os.CreateTemp(dir, "*.pem")
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, pem.Encode(f, &pem.Block{Type: kind, Bytes: der}))
	return f.Name()
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	eachTLSServer(t, serverTLS{cert: a.mustSign(t, tlsServerName)}, func(t *testing.T, address string) {
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				c := newClient(t, address)
				var spoken atomic.Uint32
				c.TLS = a.expects(tlsServerName)
				c.TLS.MinVersion, c.TLS.MaxVersion = version, version
				c.TLS.VerifyConnection = func(s tls.ConnectionState) error {
					spoken.Store(uint32(s.Version))
					return nil
				}
				keys := fill(t, c, 300, 2000)
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
				assert.EqualValues(t, version, spoken.Load())
			})
		}
	})
}

// Session tickets that arrive unasked do not make an idle connection a dead one.
// A dialer that speaks TLS by itself is left alone.
func TestTLSConnectionIsKeptWhileIdle(t *testing.T) {
	a := newAuthority(t)
	eachTLSServer(t, serverTLS{cert: a.mustSign(t, tlsServerName)}, func(t *testing.T, address string) {
		for name, dialer := range map[string]func(ctx context.Context, network, address string) (net.Conn, error){
			"wrapped":  new(net.Dialer).DialContext,
			"as it is": (&tls.Dialer{Config: a.expects(tlsServerName)}).DialContext,
		} {
			t.Run(name, func(t *testing.T) {
				c := newClient(t, address)
				c.TLS = a.expects(tlsServerName)
				dials := 0
				c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					dials++
					return dialer(ctx, network, address)
				}
				for range 5 {
					require.NoError(t, c.Ping())
					time.Sleep(20 * time.Millisecond) // long enough to be looked at before the next use
				}
				assert.Equal(t, 1, dials)
			})
		}
	})
}

// What is wrong with a certificate is in the error, by its type, and the server
// is not dialled again at once.
func TestTLSRefusesCertificates(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	good := a.mustSign(t, tlsServerName)
	expired, err := a.sign(time.Now().Add(-time.Minute), tlsServerName)
	require.NoError(t, err)
	rows := map[string]struct {
		server tls.Certificate
		client *tls.Config
		want   any // to a pointer for errors.As
	}{
		"wrong authority":     {good, stranger.expects(tlsServerName), new(x509.UnknownAuthorityError)},
		"wrong name":          {good, a.expects("other.test"), new(x509.HostnameError)},
		"the host's own name": {good, a.expects(""), new(x509.HostnameError)},
		"expired":             {expired, a.expects(tlsServerName), new(x509.CertificateInvalidError)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			eachTLSServer(t, serverTLS{cert: row.server}, func(t *testing.T, address string) {
				for version, number := range tlsVersions {
					c := newClient(t, address)
					c.TLS = row.client.Clone()
					c.TLS.MinVersion, c.TLS.MaxVersion = number, number
					dials := countDials(c)
					for range 20 {
						_, err := c.Get("key")
						var op *memcache.OpError
						require.ErrorAs(t, err, &op, version)
						assert.False(t, op.Timeout())
						assert.False(t, op.OutcomeUnknown)
						assert.Contains(t, err.Error(), address)
						var refused *tls.CertificateVerificationError
						assert.ErrorAs(t, err, &refused)
						assert.ErrorAs(t, err, row.want)
					}
					assert.Less(t, dials.Load(), int64(20))
				}
			})
		})
	}
}

// A server may want to know the client's certificate. Under TLS 1.3 it says that
// it does not like it only when the client thinks that all is well.
func TestTLSWithClientCertificates(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	how := serverTLS{cert: a.mustSign(t, tlsServerName), clients: a}
	shown := map[string][]tls.Certificate{
		"good":  {a.mustSign(t, "client")},
		"wrong": {stranger.mustSign(t, "client")},
		"none":  nil,
	}
	eachTLSServer(t, how, func(t *testing.T, address string) {
		for version, number := range tlsVersions {
			for name, certs := range shown {
				for _, p := range []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Classic, memcache.Binary} {
					t.Run(fmt.Sprint(version, name, p), func(t *testing.T) {
						c := newClient(t, address)
						c.Protocol = p
						c.TLS = a.expects(tlsServerName)
						c.TLS.MinVersion, c.TLS.MaxVersion, c.TLS.Certificates = number, number, certs
						dials := countDials(c)
						if name == "good" {
							mustSet(t, c, "key", "v")
							assert.Equal(t, "v", string(mustGet(t, c, "key").Value))
							wantDials(t, c, 1, dials)
							return
						}
						for range 20 {
							err := c.Set(&memcache.Item{Key: "key"})
							var op *memcache.OpError
							require.ErrorAs(t, err, &op)
							assert.False(t, op.OutcomeUnknown, "no request can have reached the server: %v", err)
							assert.False(t, op.Timeout(), "%v", err)
						}
						assert.Less(t, dials.Load(), int64(20))
					})
				}
			}
		}
	})
}

// The client's certificate is asked for at each new connection.
func TestTLSCertificateIsReplaced(t *testing.T) {
	a := newAuthority(t)
	shown := make(chan string, 10)
	s := memcachetest.NewServer(t, memcachetest.Config{TLS: &tls.Config{
		Certificates: []tls.Certificate{a.mustSign(t, tlsServerName)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: a.pool,
		VerifyConnection: func(s tls.ConnectionState) error {
			shown <- s.PeerCertificates[0].Subject.CommonName
			return nil
		},
	}})
	c := newClient(t, s.Addr())
	current := a.mustSign(t, "first")
	c.TLS = a.expects(tlsServerName)
	c.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &current, nil }
	require.NoError(t, c.Ping())
	current = a.mustSign(t, "second")
	require.NoError(t, c.Ping())
	require.NoError(t, c.Close())
	require.NoError(t, c.Ping())
	assert.Equal(t, "first", <-shown)
	assert.Equal(t, "second", <-shown)
	assert.Empty(t, shown)
}

// Two servers under one name keep their own sessions.
func TestTLSSessionsAreResumed(t *testing.T) {
	a := newAuthority(t)
	cert := a.mustSign(t, tlsServerName)
	for name, version := range tlsVersions {
		t.Run(name, func(t *testing.T) {
			addresses := make([]string, 2)
			for i := range addresses {
				addresses[i] = memcachetest.NewServer(t, memcachetest.Config{TLS: &tls.Config{
					Certificates: []tls.Certificate{cert}, MaxVersion: version,
				}}).Addr()
			}
			c := newClient(t, addresses...)
			var resumed, all atomic.Int32
			c.TLS = a.expects(tlsServerName)
			c.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(0)
			c.TLS.VerifyConnection = func(s tls.ConnectionState) error {
				all.Add(1)
				if s.DidResume {
					resumed.Add(1)
				}
				return nil
			}
			for range 3 {
				require.NoError(t, c.Ping())
				require.NoError(t, c.Close())
			}
			assert.EqualValues(t, 6, all.Load())
			assert.EqualValues(t, 4, resumed.Load())
		})
	}
}

// The certificate must be for the host as it was given, whatever it resolves to.
func TestTLSServerName(t *testing.T) {
	a := newAuthority(t)
	var asked atomic.Value // the name that the client said
	config := &tls.Config{Certificates: []tls.Certificate{a.mustSign(t, "fleet.test", "127.0.0.1", tlsServerName)}}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		asked.Store(hello.ServerName)
		return nil, nil
	}
	s := memcachetest.NewServer(t, memcachetest.Config{TLS: config})
	_, port, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	socket := memcachetest.NewServer(t, memcachetest.Config{TLS: config, Network: "unix"})
	withNames(t, map[string][]string{
		"fleet.test": {"127.0.0.254", "127.0.0.1"}, // the first does not answer
		"other.test": {"127.0.0.1"},
	})
	foreign := &foreignSelector{pick: func(string) (net.Addr, error) { return tcpAddr("fleet.test:" + port), nil }}
	use := func(c *memcache.Client, config *tls.Config) error {
		defer c.Close()
		c.Timeout, c.TLS = fast, config
		return c.Set(&memcache.Item{Key: "key"})
	}
	custom := func(c *memcache.Client) *memcache.Client {
		c.DialContext = new(net.Dialer).DialContext
		return c
	}
	rows := []struct {
		name     string
		c        *memcache.Client
		config   *tls.Config
		ok       bool
		wantName string
	}{
		{"name", memcache.New("fleet.test:" + port), a.expects(""), true, "fleet.test"},
		{"name, custom dialer", custom(memcache.New("fleet.test:" + port)), a.expects(""), true, "fleet.test"},
		{"name of a resolved list", memcache.NewFromSelector(list(t, "fleet.test:"+port)), a.expects(""), true, "fleet.test"},
		{"name from another selector", memcache.NewFromSelector(foreign), a.expects(""), true, "fleet.test"},
		{"another name for the same address", memcache.New("other.test:" + port), a.expects(""), false, "other.test"},
		{"address", memcache.New(s.Addr()), a.expects(""), true, ""},
		{"address, custom dialer", custom(memcache.New(s.Addr())), a.expects(""), true, ""},
		{"name of the Config", memcache.New(s.Addr()), a.expects(tlsServerName), true, tlsServerName},
		{"wrong name of the Config", memcache.New("fleet.test:" + port), a.expects("other.test"), false, "other.test"},
		{"socket", memcache.New(socket.Addr()), a.expects(tlsServerName), true, tlsServerName},
		{"socket without a name", memcache.New(socket.Addr()), a.expects(""), false, "not asked"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			asked.Store("not asked")
			err := use(row.c, row.config)
			if row.ok {
				assert.NoError(t, err)
			} else {
				var op *memcache.OpError
				assert.ErrorAs(t, err, &op)
			}
			assert.Equal(t, row.wantName, asked.Load())
		})
	}
}

// A server that accepts and shakes no hands costs DialTimeout, or the time until
// Close.
func TestTLSHandshakeIsBounded(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	c := newClient(t, address)
	c.TLS = &tls.Config{ServerName: tlsServerName}
	c.Conn.DialTimeout = 50 * time.Millisecond
	_, err := c.Get("key")
	var late *memcache.ConnectTimeoutError
	assert.ErrorAs(t, err, &late)

	c = newClient(t, address)
	c.TLS = &tls.Config{ServerName: tlsServerName}
	c.Timeout = time.Hour
	dials := countDials(c)
	failed := make(chan error)
	go func() {
		_, err := c.Get("key")
		failed <- err
	}()
	require.Eventually(t, func() bool { return dials.Load() == 1 }, fast, time.Millisecond)
	require.NoError(t, c.Close())
	var op *memcache.OpError
	assert.ErrorAs(t, <-failed, &op)
}

// Each side may speak another language than the other thinks.
func TestTLSOnOneSideOnly(t *testing.T) {
	a := newAuthority(t)
	plain := newClient(t, embedded(t, 1)...)
	plain.TLS = a.expects(tlsServerName)
	_, err := plain.Get("key")
	var header tls.RecordHeaderError
	assert.ErrorAs(t, err, &header)

	eachTLSServer(t, serverTLS{cert: a.mustSign(t, tlsServerName)}, func(t *testing.T, address string) {
		c := newClient(t, address)
		c.Timeout = time.Second
		_, err := c.Get("key")
		require.Error(t, err)
		assert.NotEqual(t, memcache.ErrCacheMiss, err)
	})
}

// withNames makes the names of hosts known, and no others, until the end of the
// test: a name server in memory.
func withNames(t testing.TB, names map[string][]string) {
	withoutNames(t)
	net.DefaultResolver.Dial = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe() // no packet connection: messages have their length before them
		go func() {
			defer far.Close()
			for {
				var length [2]byte
				if _, err := io.ReadFull(far, length[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := io.ReadFull(far, question); err != nil {
					return
				}
				reply := nameReply(question, names)
				far.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}
		}()
		return near, nil
	}
}

// nameReply answers a DNS question by the addresses of IP version 4.
func nameReply(question []byte, names map[string][]string) []byte {
	const header, typeA = 12, 1
	var labels []string
	at := header
	for n := int(question[at]); n > 0; n = int(question[at]) {
		labels = append(labels, string(question[at+1:at+1+n]))
		at += 1 + n
	}
	end := at + 5 // the last label, type and class
	addresses, known := names[strings.Join(labels, ".")]
	if question[at+2] != typeA {
		addresses = nil
	}
	reply := append([]byte(nil), question[:end]...)
	reply[2], reply[3] = 0x81, 0x80 // an answer, without an error
	if !known {
		reply[3] = 0x83 // no such name
	}
	copy(reply[4:], []byte{0, 1, 0, byte(len(addresses)), 0, 0, 0, 0})
	for _, address := range addresses {
		reply = append(reply, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4)
		reply = append(reply, net.ParseIP(address).To4()...)
	}
	return reply
}
