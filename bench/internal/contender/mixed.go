package contender

// Nine GETs to a SET, at keys that are wanted as often as Zipf's law says. A SET
// stores what the key holds already, so that every GET can be checked.

import (
	"sync"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// setEvery is how many operations have one SET among them.
const setEvery = 10

// zipf is the sequence that all contenders follow.
var zipf = sync.OnceValue(func() *workload.Zipf { return workload.NewZipf(workload.KeyCount) })

// mixed is a run.Caller of that kind.
type mixed struct {
	getter
	store func(key string, value []byte) error
	next  func() int
	n     int
	isSet bool
}

func newMixed(c *client, set *workload.Set, i int) *mixed {
	return &mixed{getter: getter{get: c.get, set: set}, store: c.set, next: zipf().From(i), n: i}
}

func (m *mixed) Call() (err error) {
	m.n++
	m.i, m.isSet = m.next(), m.n%setEvery == 0
	if m.isSet {
		return m.store(m.set.Keys[m.i], m.set.Values[m.i])
	}
	m.got, err = m.get(m.set.Keys[m.i])
	return err
}

func (m *mixed) Check() error {
	if m.isSet {
		return nil
	}
	return m.getter.Check()
}

// mixer makes the same exchanges as a floor.
func (o *openFloor) mixer(i int) (run.Caller, error) {
	if o.mixes == nil {
		for k, key := range o.set.Keys {
			o.mixes = append(o.mixes, o.getOf(k, key))
		}
		for k, key := range o.set.Keys {
			o.mixes = append(o.mixes, exchange{
				server:  o.target.Place(key),
				request: o.floor.set(nil, key, o.set.Values[k]),
				reply:   []byte(o.stored),
			})
		}
	}
	w, err := o.dial()
	next, n := zipf().From(i), i
	pick := func() int {
		n++
		place := next()
		if n%setEvery == 0 {
			place += len(o.set.Keys)
		}
		return place
	}
	return &floorSingle{wires: w, work: o.mixes, pick: pick}, err
}
