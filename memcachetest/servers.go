package memcachetest

// Several servers in one call.

import (
	"context"
	"net"
	"testing"
)

// Servers are servers that were started together.
type Servers []*Server

// NewServers starts n servers for a test, each as NewServer does. A Config that
// names an address fits only n = 1.
func NewServers(t testing.TB, n int, config ...Config) Servers {
	t.Helper()
	all := make(Servers, n)
	for i := range all {
		all[i] = NewServer(t, config...)
	}
	return all
}

// Addrs returns the addresses in order.
func (all Servers) Addrs() []string {
	addrs := make([]string, len(all))
	for i, s := range all {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Dial connects in memory to the server with that address, as Server.Dial does. It
// fails with connection refused when there is none.
func (all Servers) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for _, s := range all {
		if s.Addr() == addr {
			return s.Dial(ctx, network, addr)
		}
	}
	return nil, refused(addr)
}

// Keys returns the keys of each server, in the order of the servers.
func (all Servers) Keys() [][]string {
	keys := make([][]string, len(all))
	for i, s := range all {
		keys[i] = s.Keys()
	}
	return keys
}
