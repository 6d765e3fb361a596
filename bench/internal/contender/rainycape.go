package contender

import "github.com/rainycape/memcache"

// openRainycape opens github.com/rainycape/memcache: a pool of connections, binary
// protocol.
func openRainycape(t Target) (*client, error) {
	switch {
	case t.Dial != nil:
		return nil, errNoDial
	case t.Route == Tagged:
		return nil, errNoTag
	}
	c, err := memcache.New(t.Addrs...)
	if err != nil {
		return nil, err
	}
	c.SetTimeout(t.Timeout)
	c.SetMaxIdleConnsPerAddr(t.Callers)
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
