package main

// The servers that the demo runs on, and how one of them is taken away.

import (
	"context"
	"fmt"
	"strings"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

const (
	fleetSize = 4
	victim    = 1 // index of the server that is taken away
)

// fleet is a set of running servers.
type fleet struct {
	about   string // one line for the reader
	servers []memcache.Server
	stop    func() // takes the victim away; called once, halfway
	closers []func()
}

// close ends what was started here.
func (f *fleet) close() {
	for _, c := range f.closers {
		c()
	}
}

// openFleet connects to the servers in addresses when there are any, else starts
// real memcached processes if asked to, else servers inside this process.
func openFleet(ctx context.Context, realServers bool, addresses string) (*fleet, error) {
	switch {
	case addresses != "":
		return givenFleet(ctx, strings.Split(addresses, ","))
	case realServers:
		return realFleet(ctx)
	default:
		return embeddedFleet()
	}
}

// add appends a server with the next weight of 1, 2, 3, 4, 1, …
func (f *fleet) add(name, addr string) {
	f.servers = append(f.servers, memcache.Server{Name: name, Addr: addr, Weight: 1 + len(f.servers)%fleetSize})
}

func embeddedFleet() (*fleet, error) {
	f := &fleet{}
	for i := range fleetSize {
		server, err := memcachetest.Start()
		if err != nil {
			f.close()
			return nil, err
		}
		end := func() { _ = server.Close() } // its error is always nil
		f.closers = append(f.closers, end)
		if i == victim {
			f.stop = end
		}
		// A name keeps the keys in place although the port differs in each run.
		f.add(fmt.Sprintf("cache-%d", i+1), server.Addr())
	}
	f.about = fmt.Sprintf("%d servers inside this process (memcachetest)", fleetSize)
	return f, nil
}

func realFleet(ctx context.Context) (*fleet, error) {
	f := &fleet{}
	for i := range fleetSize {
		server, err := realserver.Launch(ctx, realserver.Config{})
		if err != nil {
			f.close()
			return nil, err
		}
		f.closers = append(f.closers, server.Close)
		if i == victim {
			f.stop = server.Stop
		}
		f.add(fmt.Sprintf("cache-%d", i+1), server.Addr())
		f.about = fmt.Sprintf("%d processes of memcached %s", fleetSize, server.Version())
	}
	return f, nil
}

// givenFleet uses servers that belong to somebody: none is stopped. The victim
// is reached through a relay in this process, and the relay is cut instead.
func givenFleet(ctx context.Context, addresses []string) (*fleet, error) {
	if len(addresses) < 2 {
		return nil, fmt.Errorf("MEMCACHE_SERVERS=%s: the demo takes one server away and needs another to go on", addresses[0])
	}
	f := &fleet{}
	for i, address := range addresses {
		address = strings.TrimSpace(address)
		dialed := address
		if i == victim {
			relay, err := startRelay(ctx, address)
			if err != nil {
				return nil, err
			}
			f.closers = append(f.closers, relay.cut)
			f.stop = relay.cut
			dialed = relay.addr()
			f.about = fmt.Sprintf("%d servers from MEMCACHE_SERVERS; %s is reached through a relay on %s,\n"+
				"because it is not ours to stop: the relay is cut in its place", len(addresses), address, dialed)
		}
		f.add(address, dialed)
	}
	return f, nil
}

// networkOf tells a socket path from host:port.
func networkOf(address string) string {
	if strings.Contains(address, "/") {
		return "unix"
	}
	return "tcp"
}
