package contender

import (
	"net"

	"github.com/bradfitz/gomemcache/memcache"
)

// openGomemcache opens github.com/bradfitz/gomemcache: a pool of connections, classic
// protocol.
func openGomemcache(t Target) (*client, error) {
	list := new(memcache.ServerList)
	if err := list.SetServers(t.Addrs...); err != nil {
		return nil, err
	}
	c := memcache.NewFromSelector(list)
	if t.Route == Tagged {
		c = memcache.NewFromSelector(byTag{list})
	}
	c.Timeout, c.MaxIdleConns, c.DialContext = t.Timeout, t.Callers, t.Dial
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
		close: func() { c.Close() },
	}, nil
}

// byTag places a key by its tag.
type byTag struct{ *memcache.ServerList }

func (s byTag) PickServer(key string) (net.Addr, error) { return s.ServerList.PickServer(tagOf(key)) }
