package memcachetest

// The counts of `stats detail`: by the part of a key in front of a colon.

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

type prefixCount struct{ get, hit, set, del uint64 }

type prefixStats struct {
	on     bool
	counts map[string]*prefixCount
}

// of returns the counts that key belongs to, or nil when none are kept.
func (p *prefixStats) of(key []byte) *prefixCount {
	if !p.on {
		return nil
	}
	prefix, _, found := bytes.Cut(key, []byte(":"))
	if !found {
		return nil
	}
	n := p.counts[string(prefix)]
	if n == nil {
		if p.counts == nil {
			p.counts = map[string]*prefixCount{}
		}
		n = &prefixCount{}
		p.counts[string(prefix)] = n
	}
	return n
}

func (p *prefixStats) get(key []byte, hit bool) {
	n := p.of(key)
	if n == nil {
		return
	}
	n.get++
	if hit {
		n.hit++
	}
}

func (p *prefixStats) set(key []byte) {
	if n := p.of(key); n != nil {
		n.set++
	}
}

// noteStore counts an attempt to store, be it refused. It takes store.mu. The meta
// commands are not counted.
func (st *store) noteStore(key []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.detail.set(key)
}

func (p *prefixStats) delete(key []byte) {
	if n := p.of(key); n != nil {
		n.del++
	}
}

// dump is the answer to `stats detail dump`, its END not included.
func (p *prefixStats) dump() string {
	var b []byte
	for _, prefix := range slices.Sorted(maps.Keys(p.counts)) {
		n := p.counts[prefix]
		b = fmt.Appendf(b, "PREFIX %s get %d hit %d set %d del %d\r\n", prefix, n.get, n.hit, n.set, n.del)
	}
	return string(b)
}
