package contender

// GetMulti of the clients that answer with a map of items.

import (
	"fmt"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// mapped is a run.Caller around a GetMulti that returns map[string]I.
type mapped[I any] struct {
	work  Batches
	get   func(keys []string) (map[string]I, error)
	value func(I) []byte

	batch *workload.Batch
	got   map[string]I
}

// multiOf returns the client.multi that calls get.
func multiOf[I any](get func([]string) (map[string]I, error), value func(I) []byte) func(Batches) run.Caller {
	return func(w Batches) run.Caller { return &mapped[I]{work: w, get: get, value: value} }
}

func (m *mapped[I]) Call() (err error) {
	m.batch = m.work.take()
	m.got, err = m.get(m.batch.Keys)
	return err
}

func (m *mapped[I]) Check() error {
	if len(m.got) != m.batch.Hits {
		return fmt.Errorf("%d hits, want %d", len(m.got), m.batch.Hits)
	}
	for i, key := range m.batch.Keys {
		place := m.batch.Index[i]
		if place == workload.NoPlace {
			continue // one too many shows in the number
		}
		item, ok := m.got[key]
		if !ok {
			return fmt.Errorf("no hit for %s", key)
		}
		if err := m.work.Set.Check(place, m.value(item)); err != nil {
			return err
		}
	}
	return nil
}
