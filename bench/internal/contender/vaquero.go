package contender

import (
	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

// openVaquero opens this project's client with its settings as they are.
func openVaquero(t Target) (*client, error) { return vaquero(t, memcache.Auto), nil }

// These fix the protocol.
func openVaqueroMeta(t Target) (*client, error)    { return vaquero(t, memcache.Meta), nil }
func openVaqueroClassic(t Target) (*client, error) { return vaquero(t, memcache.Classic), nil }
func openVaqueroBinary(t Target) (*client, error)  { return vaquero(t, memcache.Binary), nil }

// openVaqueroTwo opens it with two connections to a server.
func openVaqueroTwo(t Target) (*client, error) {
	c := newVaquero(t, memcache.Auto)
	c.MaxConns = 2
	return adapted(c), nil
}

func newVaquero(t Target, p memcache.Protocol) *memcache.Client {
	c := routed(t)
	if t.Selector != nil {
		c = memcache.NewFromSelector(t.Selector)
	}
	c.Timeout, c.DialContext, c.Protocol, c.Failover = t.Timeout, t.Dial, p, t.Failover
	if t.TLS != nil {
		c.DialContext, c.TLS = nil, t.TLS
	}
	return c
}

// routed returns a client that places keys by the route.
func routed(t Target) *memcache.Client {
	placement := ring.Default
	switch t.Route {
	case Modulo:
		return memcache.New(t.Addrs...)
	case Tagged:
		placement = placement.HashTag("{}")
	}
	var servers []memcache.Server
	for _, addr := range t.Addrs {
		servers = append(servers, memcache.Server{Addr: addr, Weight: 1})
	}
	continuum, err := memcache.NewContinuum(placement, servers...)
	if err != nil {
		panic(err) // for addresses that make no sense; these are of servers that run
	}
	return memcache.NewFromSelector(continuum)
}

func vaquero(t Target, p memcache.Protocol) *client { return adapted(newVaquero(t, p)) }

// adapted is c as the tables use it.
func adapted(c *memcache.Client) *client {
	return &client{
		get: func(key string) ([]byte, error) {
			item, err := c.Get(key)
			if err != nil {
				return nil, err
			}
			return item.Value, nil
		},
		set: func(key string, value []byte) error {
			return c.Set(&memcache.Item{Key: key, Value: value})
		},
		multi: multiOf(c.GetMulti, func(it *memcache.Item) []byte { return it.Value }),
		store: func(keys []string, value []byte) error {
			items := make([]*memcache.Item, len(keys))
			for i, key := range keys {
				items[i] = &memcache.Item{Key: key, Value: value}
			}
			return c.SetMulti(items)
		},
		close: func() { c.Close() },
	}
}
