package contender

// What an adapter makes of a client.

import (
	"errors"
	"hash/crc32"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// timeout is what all clients are given if Target.Timeout is 0.
const timeout = 2 * time.Second

// client is a memcached client as the tables use it. One that is there for its
// batches alone has no get and no set.
type client struct {
	get   func(key string) ([]byte, error)
	set   func(key string, value []byte) error
	multi func(Batches) run.Caller
	close func()

	// store stores the same value at many keys; nil if that is not to be had.
	store func(keys []string, value []byte) error
}

// opener returns a Kind's Open.
func opener(open func(Target) (*client, error)) func(Target, *workload.Set) (*Opened, error) {
	return func(t Target, set *workload.Set) (*Opened, error) {
		if t.Timeout == 0 {
			t.Timeout = timeout
		}
		c, err := open(t)
		if err != nil {
			return nil, err
		}
		o := &Opened{
			Multi: func(b Batches) (run.Caller, error) { return c.multi(b), nil },
			Close: c.close,
			Store: c.set,
			Fetch: c.get,
		}
		if c.get != nil {
			o.Getter = func(i int) (run.Caller, error) { return newGetter(c, set, i), nil }
			o.Setter = func(i int) (run.Caller, error) { return newSetter(c, set, i, t.Callers), nil }
			o.Mixer = func(i int) (run.Caller, error) { return newMixed(c, set, i), nil }
			o.Louder = func(i int) (run.Caller, error) {
				if i == 0 {
					return newLoud(c)
				}
				return newGetter(c, set, i), nil
			}
		}
		if c.store != nil {
			o.Storer = func(b Batches) (run.Caller, error) { return &storer{client: c, work: b}, nil }
		}
		return o, nil
	}
}

// errNoDial is what a client says that cannot be given a connection, errNoTag one
// that cannot place keys by a part of them.
var (
	errNoDial = errors.New("has no way to be given a connection")
	errNoTag  = errors.New("has no way to place keys by a tag")
)

// Place returns the server of key, as gomemcache places it. Adapters of clients for
// one server use it, so that all contenders split a batch alike; Ring differs.
func (t *Target) Place(key string) int {
	if len(t.Addrs) == 1 {
		return 0
	}
	if t.Route == Tagged {
		key = tagOf(key)
	}
	return int(crc32.ChecksumIEEE([]byte(key)) % uint32(len(t.Addrs)))
}

// tagOf returns what stands between the braces of key, or all of it.
func tagOf(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}
