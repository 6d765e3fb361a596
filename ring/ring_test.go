package ring

import (
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNewRefuses(t *testing.T) {
	ok := Server{Addr: "a:1", Weight: 1}
	tests := []struct {
		name    string
		servers []Server
		err     error
		text    string
	}{
		{"no servers", nil, ErrNoServers, "no servers"},
		{"weight 0", []Server{ok, {Addr: "b:1"}}, ErrWeight, `server 1 ("b:1")`},
		{"negative weight", []Server{{Addr: "b:1", Weight: -1}}, ErrWeight, "-1"},
		{"weight not a number", []Server{{Addr: "b:1", Weight: math.NaN()}}, ErrWeight, "NaN"},
		{"infinite weight", []Server{{Addr: "b:1", Weight: math.Inf(1)}}, ErrWeight, "Inf"},
		{"no identity", []Server{{Weight: 1}}, ErrNoAddr, "server 0"},
		{"same address", []Server{ok, ok}, ErrDuplicate, "server 1"},
		{"same name", []Server{{Addr: "a:1", Name: "x", Weight: 1}, {Addr: "b:1", Name: "x", Weight: 1}}, ErrDuplicate, `"x"`},
		{"name equals address", []Server{ok, {Addr: "b:1", Name: "a:1", Weight: 1}}, ErrDuplicate, `"a:1"`},
		{"too many", equalServers(4097), ErrTooManyServers, "too many"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := New(Default, tt.servers...)
			assert.Nil(t, r)
			assert.ErrorIs(t, err, tt.err)
			assert.ErrorContains(t, err, tt.text)
		})
	}
}

func TestGomemcacheIsChecksumModuloList(t *testing.T) {
	r := mustNew(t, Gomemcache, equalServers(7)...)
	for _, key := range []string{"", "k", "user:1:profile", strings.Repeat("x", 256), strings.Repeat("x", 300)} {
		hashed := key[:min(len(key), 256)]
		assert.Equal(t, int(crc32.ChecksumIEEE([]byte(hashed))%7), r.Pick(key), key)
	}
}

func TestPickBytesLeavesKeyAlone(t *testing.T) {
	for _, p := range []Placement{Default, Gomemcache} {
		t.Run(p.String(), func(t *testing.T) {
			r := mustNew(t, p, equalServers(16)...)
			for _, key := range userKeys(100) {
				b := []byte(key)
				assert.Equal(t, r.Pick(key), r.PickBytes(b))
				assert.Equal(t, key, string(b))
			}
		})
	}
}

func TestOneServerTakesAll(t *testing.T) {
	for _, p := range []Placement{Default, Gomemcache} {
		assert.Zero(t, mustNew(t, p, equalServers(1)...).Pick("k"), p)
	}
}
