package memcache

import (
	"context"
	"net"
	"slices"
	"strings"
)

// This file knows what an address of a server means: the path of a unix socket,
// or a host and a port.

// serverAddr is an address as our own selectors hand it out.
type serverAddr struct {
	network string
	address string // as configured, for dialling: "host:port" or a path
	text    string // as shown: address, or what it resolved to
}

func (a *serverAddr) Network() string { return a.network }
func (a *serverAddr) String() string  { return a.text }

// newServerAddr returns the address of a server, also if it makes no sense:
// see check.
func newServerAddr(address string) *serverAddr {
	network := "tcp"
	if strings.Contains(address, "/") {
		network = "unix"
	}
	return &serverAddr{network: network, address: address, text: address}
}

// check reports an address that can never be connected to. A host name need not
// resolve.
func (a *serverAddr) check() error {
	if a.network == "unix" {
		return nil
	}
	_, _, err := splitHostPort(context.Background(), a.address)
	return err
}

// resolve returns the addresses behind a in the form that a custom DialContext
// gets: "ip:port", or the path of a socket. There is at least one, and those of
// IP version 4 come first.
func (a *serverAddr) resolve(ctx context.Context) ([]string, error) {
	if a.network == "unix" {
		return []string{a.address}, nil
	}
	host, port, err := splitHostPort(ctx, a.address)
	if err != nil {
		return nil, err
	}
	ips := []net.IPAddr{{}} // without a host: this machine, as net.Dial understands it
	if host != "" {
		if ips, err = net.DefaultResolver.LookupIPAddr(ctx, host); err != nil {
			return nil, err
		}
	}
	if len(ips) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	slices.SortStableFunc(ips, func(x, y net.IPAddr) int { return ipVersion(x) - ipVersion(y) })
	addresses := make([]string, len(ips))
	for i, ip := range ips {
		addresses[i] = (&net.TCPAddr{IP: ip.IP, Zone: ip.Zone, Port: port}).String()
	}
	return addresses, nil
}

// splitHostPort is net.SplitHostPort for a port that is a number or the name of
// a service.
func splitHostPort(ctx context.Context, address string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = net.DefaultResolver.LookupPort(ctx, "tcp", service)
	return host, port, err
}

func ipVersion(a net.IPAddr) int {
	if a.IP.To4() != nil {
		return 4
	}
	return 6
}
