package ring

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMovedByNewServer(t *testing.T) {
	m := Moved(mustNew(t, Default, equalServers(16)...), mustNew(t, Default, equalServers(17)...))
	assert.InDelta(t, 1.0/17, m.Moved, 0.005)
	assert.Len(t, m.Servers, 17)
	for i, s := range m.Servers[:16] {
		assert.Equal(t, equalServers(17)[i].Addr, s.ID)
		assert.InDelta(t, 1.0/16, s.Before, 0.005)
		assert.InDelta(t, 1.0/17, s.After, 0.005)
		assert.InDelta(t, s.Before-s.After, s.Lost, 1e-9)
		assert.Zero(t, s.Gained)
	}
	assert.Zero(t, m.Servers[16].Before)
	assert.InDelta(t, m.Moved, m.Servers[16].Gained, 1e-9)
}

func TestMovedByReplacement(t *testing.T) {
	servers := equalServers(4)
	from := mustNew(t, Gomemcache, servers...)
	servers[2] = Server{Addr: "10.9.9.9:11211", Weight: 1}
	m := Moved(from, mustNew(t, Gomemcache, servers...))
	assert.InDelta(t, 0.25, m.Moved, 0.01)
	assert.InDelta(t, m.Moved, m.Servers[2].Lost, 1e-9)
	assert.Equal(t, "10.9.9.9:11211", m.Servers[4].ID)
	assert.InDelta(t, m.Moved, m.Servers[4].Gained, 1e-9)
}

func TestMovedByNothing(t *testing.T) {
	r := mustNew(t, Dalli, equalServers(5)...)
	assert.Zero(t, Moved(r, r).Moved)
}

func TestUnplaced(t *testing.T) {
	extreme := []Server{{Addr: "a", Weight: 1000}, {Addr: "b", Weight: 1}, {Addr: "c", Weight: 1}}
	vanishing := []Server{{Addr: "a", Weight: 1e9}, {Addr: "b", Weight: 1}}
	assert.Equal(t, []int{1, 2}, mustNew(t, LibmemcachedKetamaWeighted(HashMD5), extreme...).Unplaced())
	assert.Empty(t, mustNew(t, Default, extreme...).Unplaced())
	assert.Equal(t, []int{1}, mustNew(t, Default, vanishing...).Unplaced())
	for _, p := range allPlacements {
		assert.Empty(t, mustNew(t, p, equalServers(7)...).Unplaced(), p)
	}
}

func TestExplain(t *testing.T) {
	for _, p := range allPlacements {
		t.Run(p.String(), func(t *testing.T) {
			for _, n := range []int{1, 5} {
				r := mustNew(t, p, equalServers(n)...)
				for _, key := range userKeys(20) {
					e := r.Explain(key)
					assert.Equal(t, r.Pick(key), e.Server)
					assert.Equal(t, r.servers[e.Server].Addr, e.ID)
					assert.Equal(t, n == 1, e.Alone)
					assert.Contains(t, e.String(), e.ID)
					if e.HasPoint && r.continuum != nil {
						assert.Equal(t, e.Server, r.lookUp(e.Point), "the point belongs to the server")
					}
				}
			}
		})
	}
	two := equalServers(2)
	assert.Equal(t, `Gomemcache: "k" hashes to 0x862575d, server 1 (10.0.0.2:11211)`, mustNew(t, Gomemcache, two...).Explain("k").String())
	assert.Contains(t, mustNew(t, Dalli.HashTag("{}"), two...).Explain("{k}x").String(), `"{k}x" (as "k") hashes to 0x`)
	assert.Contains(t, mustNew(t, Dalli, two...).Explain("k").String(), ", point 0x")
	assert.Equal(t, `Dalli: "k" belongs to the only server, 10.0.0.1:11211`, mustNew(t, Dalli, two[:1]...).Explain("k").String())
}
