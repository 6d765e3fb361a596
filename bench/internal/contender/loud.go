package contender

// One caller that gets a large value again and again, beside others that get small
// ones.

import "github.com/vaquero-cache/memcache/bench/internal/run"

// LargeSize is the size of the large value in bytes: just under what a memcached
// with its usual settings stores.
const LargeSize = 1_000_000

const largeKey = "large"

// loud is the run.Caller that gets the large value.
type loud struct {
	client *client
	value  []byte
	got    []byte
}

// newLoud stores the large value and returns its caller.
func newLoud(c *client) (run.Caller, error) {
	l := &loud{client: c, value: make([]byte, LargeSize)}
	for i := range l.value {
		l.value[i] = byte(i % 251)
	}
	return l, c.set(largeKey, l.value)
}

func (l *loud) Call() (err error) {
	l.got, err = l.client.get(largeKey)
	return err
}

func (l *loud) Check() error { return same(largeKey, l.got, l.value) }
