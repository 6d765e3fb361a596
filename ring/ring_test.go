package ring

import (
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// equalServers returns n servers of weight 1.
func equalServers(n int) []Server {
	servers := make([]Server, n)
	for i := range servers {
		servers[i] = Server{Addr: fmt.Sprintf("10.0.%d.%d:11211", i/250, i%250+1), Weight: 1}
	}
	return servers
}

func mustNew(t testing.TB, p Placement, servers ...Server) *Ring {
	t.Helper()
	r, err := New(p, servers...)
	require.NoError(t, err)
	return r
}

// owners maps each of the keys to the identity of its server.
func owners(r *Ring, keys []string) []string {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = r.servers[r.Pick(key)].ID()
	}
	return ids
}

func userKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d:profile", i)
	}
	return keys
}

// allPlacements holds every placement once, functions with the hash their
// client uses by default.
var allPlacements = []Placement{
	Default, Default.HashTag("{}"), Gomemcache, Pior, Dskit, AliExpress,
	LibmemcachedModula(HashOneAtATime), LibmemcachedSortedModula(HashOneAtATime), LibmemcachedKetama(HashOneAtATime),
	LibmemcachedKetamaWeighted(HashMD5), LibmemcachedKetamaSpy(HashOneAtATime), LibmemcachedKetamaSpyWeighted(HashMD5),
	LibmemcachedKetama(HashMurmur3), LibmemcachedKetama(HashJenkins), LibmemcachedKetama(HashHsieh),
	PHPConsistent(HashOneAtATime), PHPLibketama(HashMD5),
	Dalli, TwemproxyKetama(HashFNV64a), TwemproxyModula(HashFNV64a), TwemproxyKetama(HashCRC16),
	SpymemcachedArrayMod(HashNative), SpymemcachedKetama(HashMD5), SpymemcachedKetamaWeighted(HashMD5),
	SpymemcachedLibmemcached(HashFNV32a), SpymemcachedLibmemcachedWeighted(HashMD5),
	McrouterCh3, McrouterCh3.Salt("salt"), McrouterWeightedCh3, McrouterCRC32, McrouterRendezvous, McrouterWeightedRendezvous,
	ProxyJump(HashXXH3), ProxyJump(HashMD5).Seed("seed"), ProxyRing(HashXXH3), ProxyRingKetama(HashMD5),
	ProxyRingTwemproxy(HashMD5), ProxyRingEVCache(HashMD5), PymemcacheStr, PymemcacheBytes,
}

func TestNewRefuses(t *testing.T) {
	ok := Server{Addr: "a:1", Weight: 1}
	tests := []struct {
		name      string
		placement Placement
		servers   []Server
		err       error
		text      string
	}{
		{"no servers", Default, nil, ErrNoServers, "no servers"},
		{"weight 0", Default, []Server{ok, {Addr: "b:1"}}, ErrWeight, `server 1 ("b:1")`},
		{"negative weight", Default, []Server{{Addr: "b:1", Weight: -1}}, ErrWeight, "-1"},
		{"weight not a number", Default, []Server{{Addr: "b:1", Weight: math.NaN()}}, ErrWeight, "NaN"},
		{"infinite weight", Default, []Server{{Addr: "b:1", Weight: math.Inf(1)}}, ErrWeight, "Inf"},
		{"no identity", Default, []Server{{Weight: 1}}, ErrNoAddr, "server 0"},
		{"same address", Default, []Server{ok, ok}, ErrDuplicate, "server 1"},
		{"same name", Default, []Server{{Addr: "a:1", Name: "x", Weight: 1}, {Addr: "b:1", Name: "x", Weight: 1}}, ErrDuplicate, `"x"`},
		{"name equals address", Default, []Server{ok, {Addr: "b:1", Name: "a:1", Weight: 1}}, ErrDuplicate, `"a:1"`},
		{"too many", Default, equalServers(4097), ErrTooManyServers, "too many"},
		{"fraction for a client of whole weights", Dalli, []Server{{Addr: "a", Weight: 1.5}}, ErrWeight, "1.5"},
		{"weights for a client without", Pior, []Server{ok, {Addr: "b", Weight: 2}}, ErrWeight, "no weights"},
		{"weight above 1 for mcrouter", McrouterWeightedCh3, []Server{{Addr: "b", Weight: 2}}, ErrWeight, "1 at most"},
		{"host name spymemcached would resolve", SpymemcachedKetama(HashMD5), []Server{ok}, ErrNoName, `"a:1"`},
		{"host name aliexpress would resolve", AliExpress, []Server{ok}, ErrNoName, `"a:1"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := New(tt.placement, tt.servers...)
			assert.Nil(t, r)
			assert.ErrorIs(t, err, tt.err)
			assert.ErrorContains(t, err, tt.text)
		})
	}
}

func TestNewKeepsItsOwnServers(t *testing.T) {
	servers := equalServers(3)
	r := mustNew(t, Default, servers...)
	servers[0].Addr = "changed"
	r.Servers()[1].Addr = "changed"
	assert.Equal(t, equalServers(3), r.Servers())
	assert.Equal(t, 3, r.Len())
	assert.Equal(t, Default, r.Placement())
}

func TestGomemcacheIsChecksumModuloList(t *testing.T) {
	r := mustNew(t, Gomemcache, equalServers(7)...)
	for _, key := range []string{"", "k", "user:1:profile", strings.Repeat("x", 256), strings.Repeat("x", 300)} {
		hashed := key[:min(len(key), 256)]
		assert.Equal(t, int(crc32.ChecksumIEEE([]byte(hashed))%7), r.Pick(key), key)
	}
}

// Keys of every length and of odd bytes have a server, in either form, and stay
// as they are.
func TestPickBytesLeavesKeyAlone(t *testing.T) {
	keys := append(userKeys(20), "", "\xff\xfe", "ключ", "🚀'\"\\\t\r\n", strings.Repeat("k", 250), strings.Repeat("é", 1000))
	for _, p := range allPlacements {
		t.Run(p.String(), func(t *testing.T) {
			for _, n := range []int{1, 2, 16} {
				r := mustNew(t, p, equalServers(n)...)
				for _, key := range keys {
					b := []byte(key)
					got := r.PickBytes(b)
					assert.Equal(t, r.Pick(key), got)
					assert.True(t, 0 <= got && got < n)
					assert.Equal(t, key, string(b))
				}
			}
		})
	}
}

func TestAddressesInRings(t *testing.T) {
	tests := []struct {
		name  string
		label labeler
		texts map[string]string
	}{
		{"libmemcached", shortLabel(libmemcachedSocket), map[string]string{
			"h:11211": "h", "h:1": "h:1", "h": "h", "[fd00::1]:11211": "fd00::1", "[fd00::1]": "fd00::1", "fd00::1": "fd00::1",
			"[fd00::1]:1": "fd00::1:1", "/tmp/s": "/tmp/s:0",
		}},
		{"php", shortLabel(""), map[string]string{"h:11211": "h", "/tmp/s": "/tmp/s"}},
		{"twemproxy", shortLabel(twemproxySocket), map[string]string{"h:11211": "h", "/tmp/s": "/tmp/s:"}},
		{"libmemcached spy", slashLabel, map[string]string{"h": "/h:11211", "h:1": "/h:1", "/tmp/s": "//tmp/s:0"}},
		{"dalli", hostPortLabel, map[string]string{"h": "h:11211", "[fd00::1]:1": "fd00::1:1", "/tmp/s": "/tmp/s"}},
		{"evcache", evcacheLabel, map[string]string{"h:1": "h/h:1", "/s": "/s//s"}},
		{"spymemcached", javaLabel, map[string]string{
			"10.0.0.1": "10.0.0.1:11211", "[fd00::1]:1": "[fd00:0:0:0:0:0:0:1]:1", "[2001:db8::ff00:42]:2": "[2001:db8:0:0:0:0:ff00:42]:2",
		}},
		{"aliexpress", resolvedLabel, map[string]string{"10.0.0.1:1": "10.0.0.1:1", "[fd00:0::1]:1": "[fd00::1]:1", "/s": "/s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for addr, want := range tt.texts {
				got, err := tt.label(addr)
				require.NoError(t, err)
				assert.Equal(t, want, got, addr)
			}
		})
	}
}

func TestDskitSortsAddressesNaturally(t *testing.T) {
	tests := []struct {
		name          string
		lower, higher string
	}{
		{"numbers", "mc-9:11211", "mc-10:11211"},
		{"text", "mc-a9:1", "mc-b1:1"},
		{"shorter first", "mc-1", "mc-1:1"},
		{"number before text", "10.0.0.1", "a"},
		{"second number", "10.0.2.1:1", "10.0.10.1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := member{label: tt.lower}, member{label: tt.higher}
			assert.Negative(t, byNaturalOrder(a, b))
			assert.Positive(t, byNaturalOrder(b, a))
			assert.Zero(t, byNaturalOrder(a, a))
		})
	}
}
