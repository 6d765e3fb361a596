package ring

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What the package comment says about clients that agree, and some that do not.
func TestPlacementsThatAgree(t *testing.T) {
	weighted := equalServers(16)
	for i := range weighted {
		weighted[i].Weight = float64(1 + i%5)
	}
	ipv6 := []Server{{Addr: "[fd00::1]:11211", Weight: 1}, {Addr: "[fd00::2]:11211", Weight: 1}}
	hosts := make([]Server, 25) // a number at which rounding leaves 156 points
	for i := range hosts {
		hosts[i] = Server{Addr: fmt.Sprintf("cache%d.example.net:11311", i), Weight: 1}
	}
	tests := []struct {
		name    string
		a, b    Placement
		servers []Server
		agree   bool
	}{
		{"pylibmc and libmemcached", PylibmcKetamaWeighted(HashMD5), LibmemcachedKetamaWeighted(HashMD5), weighted, true},
		{"PHP and libmemcached", PHPLibketama(HashMD5), LibmemcachedKetamaWeighted(HashMD5), weighted, true},
		{"twemproxy and libmemcached", TwemproxyKetama(HashMD5), LibmemcachedKetamaWeighted(HashMD5), weighted, true},
		{"spymemcached and libmemcached", SpymemcachedLibmemcachedWeighted(HashMD5), LibmemcachedKetamaWeighted(HashMD5), weighted, true},
		{"twemproxy and libmemcached by another hash", TwemproxyKetama(HashMurmur), LibmemcachedKetamaWeighted(HashMurmur), weighted, true},
		{"proxy and twemproxy", ProxyRingTwemproxy(HashMD5), TwemproxyKetama(HashMD5), hosts[:24], true},
		{"proxy and twemproxy where rounding tells", ProxyRingTwemproxy(HashMD5), TwemproxyKetama(HashMD5), hosts, false},
		{"proxy and spymemcached", ProxyRingKetama(HashMD5), SpymemcachedKetama(HashMD5), equalServers(16), true},
		{"proxy and spymemcached over IPv6", ProxyRingKetama(HashMD5), SpymemcachedKetama(HashMD5), ipv6, false},
		{"proxy and pior", ProxyJump(HashXXH3), Pior, equalServers(16), true},
		{"libmemcached and spymemcached by modulo", LibmemcachedModula(HashMD5), SpymemcachedArrayMod(HashMD5), equalServers(16), true},
		{"libmemcached with and without weights", LibmemcachedKetama(HashMD5), LibmemcachedKetamaWeighted(HashMD5), equalServers(16), false},
		{"libmemcached with weights either way", LibmemcachedKetama(HashMD5), LibmemcachedKetamaWeighted(HashMD5), weighted, true},
		{"mcrouter without weights", McrouterCh3, McrouterWeightedCh3, equalServers(16), true},
		{"pymemcache's two kinds of key", PymemcacheStr, PymemcacheBytes, equalServers(16), false},
	}
	keys := userKeys(2000)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := owners(mustNew(t, tt.a, tt.servers...), keys), owners(mustNew(t, tt.b, tt.servers...), keys)
			assert.Equal(t, tt.agree, assert.ObjectsAreEqual(a, b))
		})
	}
}
