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
func openVaqueroFunc(t Target) (*client, error) {
	c := memcache.New(t.Addrs...)
	c.Timeout, c.DialContext = timeout, t.Dial
	return &client{
		multi: func(w Batches) run.Caller {
			places := make(map[string]int, len(w.Set.Keys))
			for i, key := range w.Set.Keys {
				places[key] = i
			}
			return &shown{work: w, client: c, places: places}
		},
		close: func() { c.Close() },
	}, nil
}

// shown is a run.Caller around GetMultiFunc. The values are gone when the call
// returns, so the call keeps a copy of each, as a program does that decodes it.
type shown struct {
	work   Batches
	client *memcache.Client
	places map[string]int // of keys in the set

	batch  *workload.Batch
	keys   []string
	values []byte
	ends   []int
}

func (s *shown) Call() error {
	s.batch = s.work.take()
	s.keys, s.values, s.ends = s.keys[:0], s.values[:0], s.ends[:0]
	return s.client.GetMultiFunc(context.Background(), s.batch.Keys, s.take)
}

func (s *shown) take(h memcache.Hit) bool {
	s.keys = append(s.keys, h.Key)
	s.values = append(s.values, h.Value...)
	s.ends = append(s.ends, len(s.values))
	return true
}

func (s *shown) Check() error {
	if len(s.keys) != len(s.batch.Keys) {
		return fmt.Errorf("%d hits for %d keys", len(s.keys), len(s.batch.Keys))
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
