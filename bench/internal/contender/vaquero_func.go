package contender

import (
	"context"
	"fmt"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// openVaqueroFunc opens this project's client for GetMultiFunc, which shows each
// item where it lies and makes no map.
func openVaqueroFunc(t Target) (*client, error) { return shownBy(t, memcache.Auto), nil }

func openVaqueroMetaFunc(t Target) (*client, error) { return shownBy(t, memcache.Meta), nil }

func shownBy(t Target, p memcache.Protocol) *client {
	return streaming(t, p, func(c *memcache.Client, keys []string, s *shown) error {
		return c.GetMultiFunc(context.Background(), keys, s.take)
	})
}

// openVaqueroStream opens it for GetMultiSeq, which yields items of the caller's.
func openVaqueroStream(t Target) (*client, error) { return yieldedBy(t, memcache.Auto), nil }

func openVaqueroMetaStream(t Target) (*client, error) { return yieldedBy(t, memcache.Meta), nil }

func yieldedBy(t Target, p memcache.Protocol) *client {
	return streaming(t, p, func(c *memcache.Client, keys []string, s *shown) error {
		for item, err := range c.GetMultiSeq(context.Background(), keys) {
			if err != nil {
				return err
			}
			s.items = append(s.items, item)
		}
		return nil
	})
}

func streaming(t Target, p memcache.Protocol, get func(*memcache.Client, []string, *shown) error) *client {
	c := newVaquero(t, p)
	return &client{
		multi: func(w Batches) run.Caller {
			places := make(map[string]int, len(w.Set.Keys))
			for i, key := range w.Set.Keys {
				places[key] = i
			}
			s := &shown{work: w, places: places}
			s.get = func() error { return get(c, s.batch.Keys, s) }
			return s
		},
		close: func() { c.Close() },
	}
}

// shown is a run.Caller around a stream. The values that GetMultiFunc shows are gone
// when it returns, so the call keeps a copy of each, as a program does that decodes
// it; those that GetMultiSeq yields are kept as they are.
type shown struct {
	work   Batches
	get    func() error
	places map[string]int // of keys in the set

	batch  *workload.Batch
	items  []*memcache.Item
	keys   []string
	values []byte
	ends   []int
}

func (s *shown) Call() error {
	s.batch = s.work.take()
	s.keys, s.values, s.ends, s.items = s.keys[:0], s.values[:0], s.ends[:0], s.items[:0]
	return s.get()
}

func (s *shown) take(h memcache.Hit) bool {
	s.keys = append(s.keys, h.Key)
	s.values = append(s.values, h.Value...)
	s.ends = append(s.ends, len(s.values))
	return true
}

func (s *shown) Check() error {
	for _, item := range s.items {
		s.take(memcache.Hit{Key: item.Key, Value: item.Value})
	}
	if len(s.keys) != s.batch.Hits {
		return fmt.Errorf("%d hits, want %d", len(s.keys), s.batch.Hits)
	}
	start := 0
	for i, key := range s.keys {
		place, ok := s.places[key]
		if !ok {
			return fmt.Errorf("a hit for %s, which was not asked for", key)
		}
		if err := s.work.Set.Check(place, s.values[start:s.ends[i]]); err != nil {
			return err
		}
		start = s.ends[i]
	}
	return nil
}
