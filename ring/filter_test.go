package ring

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFilters(t *testing.T) {
	tests := []struct {
		name      string
		placement Placement
		key       string
		hashed    string
	}{
		{"no filter", Default, "a{b}c", "a{b}c"},
		{"tag", Default.HashTag("{}"), "a{b}c{d}", "b"},
		{"tag of equal ends", Default.HashTag("$$"), "$u1$x", "u1"},
		{"empty tag hashes the key", Default.HashTag("{}"), "a{}b{c}", "a{}b{c}"},
		{"tag without end", Default.HashTag("{}"), "}a{b", "}a{b"},
		{"end before start", Default.HashTag("{}"), "}{b}", "b"},
		{"proxy's tag", Default.FilterTags("{}"), "a{b}c", "b"},
		{"proxy's empty tag is hashed", Default.FilterTags("{}"), "a{}b{c}", ""},
		{"proxy's tag without end", Default.FilterTags("{}"), "a{b", "a{b"},
		{"stop", Default.FilterStop("|#|"), "a|#|b|#|c", "a"},
		{"stop at the start", Default.FilterStop("|#|"), "|#|b", ""},
		{"no stop", Default.FilterStop("|#|"), "a|#b", "a|#b"},
		{"prefix", Default.IgnorePrefix("app:"), "app:k", "k"},
		{"prefix elsewhere", Default.IgnorePrefix("app:"), "k:app:", "k:app:"},
		{"prefix, then tag", Default.IgnorePrefix("{x}").HashTag("{}"), "{x}a{b}", "b"},
		{"mcrouter's routing key", McrouterCh3, "/r/c/k|#|x", "k"},
		{"mcrouter, two slashes", McrouterCh3, "/r/k", "/r/k"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustNew(t, tt.placement, equalServers(5)...)
			var buf [saltedSize]byte
			assert.Equal(t, tt.hashed, r.hashed(tt.key, &buf))
			whole := tt.placement
			whole.filter = filter{}
			assert.Equal(t, mustNew(t, whole, equalServers(5)...).Pick(tt.hashed), r.Pick(tt.key))
		})
	}
}

func TestSaltIsHashedAfterKey(t *testing.T) {
	servers := equalServers(50)
	plain, salted := mustNew(t, McrouterCh3, servers...), mustNew(t, McrouterCh3.Salt("-salt"), servers...)
	for _, key := range userKeys(200) {
		assert.Equal(t, plain.Pick(key+"-salt"), salted.Pick(key))
	}
}

func TestNewRefusesOptions(t *testing.T) {
	tests := []struct {
		name      string
		placement Placement
		text      string
	}{
		{"hash the peer has not", LibmemcachedKetama(HashNative), "LibmemcachedKetama has no hash native"},
		{"no such hash", TwemproxyKetama(200), "Hash(200)"},
		{"hash left out", TwemproxyKetama(0), "TwemproxyKetama has no hash xxh64"},
		{"seed", Dalli.Seed("x"), "Dalli has no seed"},
		{"salt", Dalli.Salt("x"), "Dalli has no salt"},
		{"buckets", Dalli.Buckets(3), "Dalli has no buckets"},
		{"negative buckets", ProxyRingKetama(HashMD5).Buckets(-4), "-4"},
		{"short tag", Default.HashTag("{"), `"{"`},
		{"empty tag setting", Default.HashTag(""), `""`},
		{"long stop", Default.FilterStop("123456"), "123456"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.placement, equalServers(3)...)
			assert.ErrorIs(t, err, ErrOption)
			assert.ErrorContains(t, err, tt.text)
		})
	}
}

func TestPlacementPrintsAsWritten(t *testing.T) {
	assert.Equal(t, "Default", Placement{}.String())
	assert.Equal(t, `TwemproxyKetama(md5).HashTag("{}")`, TwemproxyKetama(HashMD5).HashTag("{}").String())
	assert.Equal(t, `ProxyRingKetama(xxh3).Buckets(80).Seed("s").FilterStop("|#|").IgnorePrefix("a:")`,
		ProxyRingKetama(HashXXH3).Buckets(80).Seed("s").FilterStop("|#|").IgnorePrefix("a:").String())
	assert.True(t, Dalli == Dalli.Seed(""))
}
