package ring

// spymemcached, the Java client.

import "slices"

// spymemcachedHashes are the constants of DefaultHashAlgorithm.
var spymemcachedHashes = []Hash{
	HashMD5, HashNative, HashCRC, hashJavaFNV64, hashJavaFNV64a, hashJavaFNV32, hashJavaFNV32a,
}

// spymemcachedHash returns spymemcached's variant of a hash: it computes FNV
// over UTF-16, which differs from the others for keys beyond ASCII.
func spymemcachedHash(h Hash) Hash {
	switch h {
	case HashFNV64:
		return hashJavaFNV64
	case HashFNV64a:
		return hashJavaFNV64a
	case HashFNV32:
		return hashJavaFNV32
	case HashFNV32a:
		return hashJavaFNV32a
	}
	return h
}

var spymemcachedArrayMod = &peer{
	name: "SpymemcachedArrayMod", hashes: spymemcachedHashes, label: plainLabel,
	failover: failoverList, build: buildModulo,
}

// SpymemcachedArrayMod is spymemcached with ArrayModNodeLocator, the locator of
// DefaultConnectionFactory: the hash modulo the list in its order. Its default
// for hash is [HashNative].
func SpymemcachedArrayMod(hash Hash) Placement {
	return Placement{peer: spymemcachedArrayMod, hash: spymemcachedHash(hash)}
}

func newSpymemcached(name string, label labeler, weights weightRule, build func(*Ring, []member) error) *peer {
	return &peer{
		name: name, hashes: spymemcachedHashes, label: label, weights: weights,
		failover: failoverSpymemcached, build: build,
	}
}

var (
	spymemcachedKetama = newSpymemcached("SpymemcachedKetama",
		javaLabel, weightsNone, buildSpymemcached)
	spymemcachedKetamaWeighted = newSpymemcached("SpymemcachedKetamaWeighted",
		javaLabel, weightsWhole, buildSpymemcachedWeighted)
	spymemcachedLibmemcached = newSpymemcached("SpymemcachedLibmemcached",
		shortLabel(""), weightsNone, buildSpymemcached)
	spymemcachedLibmemcachedWeighted = newSpymemcached("SpymemcachedLibmemcachedWeighted",
		shortLabel(""), weightsWhole, buildSpymemcachedWeighted)
)

// SpymemcachedKetama is spymemcached with KetamaNodeLocator, without a map of
// weights, and with node keys in Format.SPYMEMCACHED, as KetamaConnectionFactory
// has it; its hash is [HashMD5] (KETAMA_HASH).
//
// Node keys are resolved addresses as Java 14 and later print them, such as
// "10.0.0.1:11211", after the host name if there is one, as in
// "cache1.example.com/10.0.0.1:11211". So Addr must be an IP address, or Name
// must hold that text.
func SpymemcachedKetama(hash Hash) Placement {
	return Placement{peer: spymemcachedKetama, hash: spymemcachedHash(hash)}
}

// SpymemcachedKetamaWeighted is [SpymemcachedKetama] with a map of weights,
// which are whole numbers.
func SpymemcachedKetamaWeighted(hash Hash) Placement {
	return Placement{peer: spymemcachedKetamaWeighted, hash: spymemcachedHash(hash)}
}

// SpymemcachedLibmemcached is spymemcached with KetamaNodeLocator, without a map
// of weights, and with node keys in Format.LIBMEMCACHED: the host name, and the
// port unless it is 11211.
func SpymemcachedLibmemcached(hash Hash) Placement {
	return Placement{peer: spymemcachedLibmemcached, hash: spymemcachedHash(hash)}
}

// SpymemcachedLibmemcachedWeighted is [SpymemcachedLibmemcached] with a map of
// weights, which are whole numbers.
func SpymemcachedLibmemcachedWeighted(hash Hash) Placement {
	return Placement{peer: spymemcachedLibmemcachedWeighted, hash: spymemcachedHash(hash)}
}

func buildSpymemcached(r *Ring, members []member) error {
	var points []point
	if r.placement.hash == HashMD5 {
		for i, m := range members {
			points = md5Points(points, i, m.label, 40)
		}
	} else {
		points = hashPoints(members, 160, func(text string) uint32 {
			return uint32(r.placement.hash.sum(text, 0))
		})
	}
	return setPoints(r, members, lastOfEqual(points))
}

func buildSpymemcachedWeighted(r *Ring, members []member) error {
	return setPoints(r, members, lastOfEqual(weightedMD5Points(members)))
}

// lastOfEqual leaves the last server of those with equal points, as
// spymemcached's map of points does.
func lastOfEqual(points []point) []point {
	slices.Sort(points)
	kept := points[:0]
	for i, p := range points {
		if i+1 == len(points) || points[i+1].value() != p.value() {
			kept = append(kept, p)
		}
	}
	return kept
}
