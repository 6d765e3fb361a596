package contender

// What an adapter makes of a client.

import (
	"errors"
	"hash/crc32"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// timeout is what all clients are given: far above anything that a loaded machine
// should need, so that a slow operation is measured and not failed.
const timeout = 2 * time.Second

// client is a memcached client as the tables use it. One that is there for its
// batches alone has no get and no set.
type client struct {
	get   func(key string) ([]byte, error)
	set   func(key string, value []byte) error
	multi func(Batches) run.Caller
	close func()
}

// opener returns a Kind's Open.
func opener(open func(Target) (*client, error)) func(Target, *workload.Set) (*Opened, error) {
	return func(t Target, set *workload.Set) (*Opened, error) {
		c, err := open(t)
		if err != nil {
			return nil, err
		}
		o := &Opened{
			Multi: func(b Batches) (run.Caller, error) { return c.multi(b), nil },
			Close: c.close,
		}
		if c.get != nil {
			o.Getter = func(i int) (run.Caller, error) { return newGetter(c, set, i), nil }
			o.Setter = func(i int) (run.Caller, error) { return newSetter(c, set, i, t.Callers), nil }
		}
		return o, nil
	}
}

// errNoDial is what a client says that cannot be given a connection.
var errNoDial = errors.New("has no way to be given a connection")

// placed returns the server of key among n, as gomemcache places it. Adapters of
// clients for one server use it, so that all contenders split a batch alike.
func placed(key string, n int) int {
	if n == 1 {
		return 0
	}
	return int(crc32.ChecksumIEEE([]byte(key)) % uint32(n))
}
