package memcache

import (
	"context"
	"crypto/tls"
	"net"
	"strings"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file makes connections private.

// secure returns nc under TLS, if the client has that set and nc is not yet.
func (s *server) secure(ctx context.Context, nc net.Conn) (net.Conn, error) {
	if _, done := nc.(*tls.Conn); done || s.client.TLS == nil {
		return nc, nil
	}
	config := s.client.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = s.host()
	}
	if cache := config.ClientSessionCache; cache != nil {
		config.ClientSessionCache = sessions{cache, s.addr.String()}
	}
	choose, asked := clientCertificate(config), false
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = true
		return choose(request)
	}
	conn := tls.Client(nc, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	if asked && conn.ConnectionState().Version >= tls.VersionTLS13 {
		// What the server thinks of our certificate comes behind the handshake.
		return link.Unproven{Conn: conn}, nil
	}
	return conn, nil
}

// host is the name that the server's certificate must have: the host in its
// address as it was configured, or "" for the path of a socket.
func (s *server) host() string {
	network, address := s.addr.Network(), s.addr.String()
	if own, ok := s.addr.(*serverAddr); ok {
		address = own.address
	}
	if network == "unix" {
		return ""
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	host, _, _ = strings.Cut(host, "%") // the zone of an IPv6 address is ours alone
	return host
}

// clientCertificate returns how crypto/tls chooses the client's certificate
// with config.
func clientCertificate(config *tls.Config) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if config.GetClientCertificate != nil {
		return config.GetClientCertificate
	}
	return func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range config.Certificates {
			if request.SupportsCertificate(&config.Certificates[i]) == nil {
				return &config.Certificates[i], nil
			}
		}
		return new(tls.Certificate), nil // none
	}
}

// sessions keeps the sessions of servers apart that share a name, by which
// crypto/tls alone would tell them.
type sessions struct {
	tls.ClientSessionCache
	server string
}

func (s sessions) Get(name string) (*tls.ClientSessionState, bool) {
	return s.ClientSessionCache.Get(s.server + " " + name)
}

func (s sessions) Put(name string, session *tls.ClientSessionState) {
	s.ClientSessionCache.Put(s.server+" "+name, session)
}
