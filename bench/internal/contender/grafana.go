package contender

import (
	"context"
	"net"
	"time"

	"github.com/grafana/gomemcache/memcache"
)

// openGrafana opens github.com/grafana/gomemcache, a fork of gomemcache.
func openGrafana(t Target) (*client, error) {
	if t.Route == Tagged {
		return nil, errNoTag
	}
	c := memcache.New(t.Addrs...)
	c.Timeout, c.ConnectTimeout, c.MaxIdleConns = t.Timeout, t.Timeout, t.Callers
	c.MinIdleConnsHeadroomPercentage = -1 // keep idle connections
	if t.Dial != nil {
		c.DialTimeout = func(network, address string, _ time.Duration) (net.Conn, error) {
			return t.Dial(context.Background(), network, address)
		}
	}
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
		multi: multiOf(
			func(keys []string) (map[string]*memcache.Item, error) {
				return c.GetMulti(context.Background(), keys)
			},
			func(it *memcache.Item) []byte { return it.Value }),
		close: c.Close,
	}, nil
}
