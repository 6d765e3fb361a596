package contender

import "github.com/bradfitz/gomemcache/memcache"

// openGomemcache opens github.com/bradfitz/gomemcache: a pool of connections, classic
// protocol.
func openGomemcache(t Target) (*client, error) {
	c := memcache.New(t.Addrs...)
	c.Timeout, c.MaxIdleConns, c.DialContext = timeout, t.Callers, t.Dial
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
