package contender

import "github.com/vaquero-cache/memcache"

// openVaquero opens this project's client with its settings as they are.
func openVaquero(t Target) (*client, error) { return vaquero(t, memcache.Auto), nil }

// These fix the protocol.
func openVaqueroMeta(t Target) (*client, error)    { return vaquero(t, memcache.Meta), nil }
func openVaqueroClassic(t Target) (*client, error) { return vaquero(t, memcache.Classic), nil }
func openVaqueroBinary(t Target) (*client, error)  { return vaquero(t, memcache.Binary), nil }

func vaquero(t Target, p memcache.Protocol) *client {
	c := memcache.New(t.Addrs...)
	c.Timeout, c.DialContext, c.Protocol = timeout, t.Dial, p
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
	}
}
