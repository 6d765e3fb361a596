package contender

// GET and SET of one key, the same for all clients.

import (
	"bytes"
	"fmt"

	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// getter is a run.Caller that gets random keys.
type getter struct {
	get  func(key string) ([]byte, error)
	set  *workload.Set
	pick workload.Picker

	i   int
	got []byte
}

// newGetter returns caller i of client c.
func newGetter(c *client, set *workload.Set, i int) *getter {
	return &getter{get: c.get, set: set, pick: workload.NewPicker(i)}
}

func (g *getter) Call() (err error) {
	g.i = g.pick.Next()
	g.got, err = g.get(g.set.Keys[g.i])
	return err
}

func (g *getter) Check() error { return g.set.Check(g.i, g.got) }

// setter is a run.Caller that stores a value, new in each slice, at keys of its
// own, and reads the last one back.
type setter struct {
	client *client
	set    *workload.Set
	keys   []string

	i     int
	value []byte
}

// newSetter returns caller i of n callers of client c.
func newSetter(c *client, set *workload.Set, i, n int) *setter {
	return &setter{client: c, set: set, keys: ownKeys(set, i, n)}
}

// ownKeys are the keys that caller i of n stores at.
func ownKeys(set *workload.Set, i, n int) []string {
	var keys []string
	for ; i < len(set.Puts); i += n {
		keys = append(keys, set.Puts[i])
	}
	return keys
}

func (s *setter) Begin(slice int) { s.value = s.set.NewValue(slice) }

func (s *setter) Call() error {
	s.i++
	return s.client.set(s.keys[s.i%len(s.keys)], s.value)
}

// Check has nothing to look at: a store answers with an error or not at all.
func (s *setter) Check() error { return nil }

// End reads the last key back.
func (s *setter) End() error { return s.client.holds(s.keys[s.i%len(s.keys)], s.value) }

// holds checks that value is stored at key.
func (c *client) holds(key string, value []byte) error {
	got, err := c.get(key)
	if err != nil {
		return err
	}
	return same(key, got, value)
}

// same compares what was got for key with what was stored.
func same(key string, got, stored []byte) error {
	if !bytes.Equal(got, stored) {
		return fmt.Errorf("%s does not hold what was stored last: %.40q", key, got)
	}
	return nil
}

// storer is a run.Caller that stores a batch of one value, new in each slice, and
// reads one of them back.
type storer struct {
	client *client
	work   Batches

	batch *workload.Batch
	keys  []string
	value []byte
}

func (s *storer) Begin(slice int) { s.value = s.work.Set.NewValue(slice) }

func (s *storer) Call() error {
	s.batch = s.work.take()
	s.keys = s.keys[:0]
	for _, i := range s.batch.Index {
		s.keys = append(s.keys, s.work.Set.Puts[i])
	}
	return s.client.store(s.keys, s.value)
}

// Check has nothing to look at, as that of a setter.
func (s *storer) Check() error { return nil }

// End reads the last key back. Other callers store the same value in this slice.
func (s *storer) End() error { return s.client.holds(s.keys[len(s.keys)-1], s.value) }
