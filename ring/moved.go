package ring

// What a change of servers does, before it is done.

// Movement says which share of the keys a change of rings moves. Shares are
// between 0 and 1. They are counted over 100,000 made-up keys, so they are right
// within about 0.3 percentage points.
type Movement struct {
	Moved   float64 // keys whose server is another one afterwards
	Servers []Shift // each server of either ring: those of the first, then new ones
}

// Shift is what a change of rings means to one server.
type Shift struct {
	ID     string  // Name, or Addr without one: what makes it the same in both rings
	Before float64 // its share of all keys in the old ring
	After  float64 // its share of all keys in the new ring
	Lost   float64 // share of all keys that leave it
	Gained float64 // share of all keys that come to it
}

const sampleKeys = 100_000

// Moved compares two rings, which may differ in their servers, weights and
// placements. Servers are the same if their identities are: see [Server.ID].
func Moved(from, to *Ring) Movement {
	var m Movement
	place := map[string]int{}
	shift := func(id string) int {
		if _, ok := place[id]; !ok {
			place[id] = len(m.Servers)
			m.Servers = append(m.Servers, Shift{ID: id})
		}
		return place[id]
	}
	var before, after []int // from a ring's index of a server to its Shift
	for _, s := range from.servers {
		before = append(before, shift(s.ID()))
	}
	for _, s := range to.servers {
		after = append(after, shift(s.ID()))
	}
	const each = 1.0 / sampleKeys
	for i := range sampleKeys {
		key := sampleKey(i)
		leaves, joins := before[from.PickBytes(key[:])], after[to.PickBytes(key[:])]
		m.Servers[leaves].Before += each
		m.Servers[joins].After += each
		if leaves != joins {
			m.Moved += each
			m.Servers[leaves].Lost += each
			m.Servers[joins].Gained += each
		}
	}
	return m
}

// sampleKey returns key i of a fixed list of keys without a pattern.
func sampleKey(i int) (key [16]byte) {
	const digits = "0123456789abcdef"
	x := splitmix64(0, uint64(i))
	for j := range key {
		key[j] = digits[x&15]
		x >>= 4
	}
	return key
}

// Unplaced returns the indexes of the servers that no key belongs to. Several
// clients give a server of small weight no point at all, and so does this
// package where it follows them; by [Default] it takes a weight of less than a
// 65536th of the sum.
func (r *Ring) Unplaced() []int {
	placed := make([]bool, len(r.servers))
	switch r.table {
	case tableArcs:
		for _, server := range r.arcs {
			placed[server] = true
		}
	case tablePoints, tablePointsDown:
		for _, p := range r.continuum.list() {
			placed[p.server()] = true
		}
	default: // everyone has a place
		return nil
	}
	var unplaced []int
	for i, ok := range placed {
		if !ok && len(r.servers) > 1 {
			unplaced = append(unplaced, i)
		}
	}
	return unplaced
}
