package ring

// The proxy built into memcached 1.6: pools made by mcp.pool.

import "github.com/zeebo/xxh3"

// proxyHashes are the key hashes of the proxy: XXH3 unless the pool's option
// "hash" is mcp.dist_ring_hash.hash, which is MD5.
var proxyHashes = []Hash{HashXXH3, HashMD5}

var proxyJump = &peer{
	name: "ProxyJump", hashes: proxyHashes, label: plainLabel, seed: true, build: buildJump,
}

// ProxyJump is a pool of memcached's proxy with the default distribution
// (mcp.dist_jump_hash), over the list in its order. The default for hash is
// [HashXXH3]; a pool with "hash = mcp.dist_ring_hash.hash" has [HashMD5]. For
// the options "seed" and "filter" see [Placement.Seed], [Placement.FilterStop]
// and [Placement.FilterTags].
func ProxyJump(hash Hash) Placement { return Placement{peer: proxyJump, hash: hash} }

func newProxyRing(name string, label labeler, build func(*Ring, []member) error) *peer {
	return &peer{name: name, hashes: proxyHashes, label: label, seed: true, buckets: true, build: build}
}

var (
	proxyRing          = newProxyRing("ProxyRing", hostPortLabel, buildProxyDefault)
	proxyRingKetama    = newProxyRing("ProxyRingKetama", hostPortLabel, buildProxyMD5)
	proxyRingTwemproxy = newProxyRing("ProxyRingTwemproxy", shortLabel(""), buildProxyMD5)
	proxyRingEVCache   = newProxyRing("ProxyRingEVCache", evcacheLabel, buildProxyMD5)
)

// ProxyRing is a pool of memcached's proxy with "dist = mcp.dist_ring_hash" and
// no "omode". The hash of keys is [HashXXH3], or [HashMD5] if the pool says
// "hash = mcp.dist_ring_hash.hash". For "obuckets" see [Placement.Buckets].
func ProxyRing(hash Hash) Placement { return Placement{peer: proxyRing, hash: hash} }

// ProxyRingKetama is [ProxyRing] with "omode = 'ketama'". No mode changes the
// hash of keys: it matches other clients with [HashMD5] only.
func ProxyRingKetama(hash Hash) Placement { return Placement{peer: proxyRingKetama, hash: hash} }

// ProxyRingTwemproxy is [ProxyRing] with "omode = 'twemproxy'".
func ProxyRingTwemproxy(hash Hash) Placement { return Placement{peer: proxyRingTwemproxy, hash: hash} }

// ProxyRingEVCache is [ProxyRing] with "omode = 'evcache'".
func ProxyRingEVCache(hash Hash) Placement { return Placement{peer: proxyRingEVCache, hash: hash} }

// perServer returns the points of a server that the option "obuckets" asks for.
func perServer(r *Ring) int {
	if r.placement.buckets == 0 {
		return 160
	}
	return r.placement.buckets
}

func buildProxyDefault(r *Ring, members []member) error {
	n := perServer(r)
	if n*len(members) > MaxPoints {
		return ErrTooManyPoints
	}
	return setPoints(r, members, hashPoints(members, n, func(text string) uint32 {
		return uint32(xxh3.HashString(text))
	}))
}

func buildProxyMD5(r *Ring, members []member) error {
	n := perServer(r)
	if n*len(members) > MaxPoints {
		return ErrTooManyPoints
	}
	var points []point
	for i, m := range members {
		points = md5Points(points, i, m.label, n/4)
	}
	return setPoints(r, members, points)
}
