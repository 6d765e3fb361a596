package ring

// libmemcached (MEMCACHED_BEHAVIOR_…) and the clients built on it: pylibmc and
// PHP's memcached extension.

import (
	"cmp"
	"slices"
)

// libmemcachedHashes are the key hashes of MEMCACHED_BEHAVIOR_HASH.
var libmemcachedHashes = []Hash{
	HashOneAtATime, HashMD5, HashCRC, HashFNV64, HashFNV64a, HashFNV32, HashFNV32a,
	HashHsieh, HashMurmur, HashMurmur3, HashJenkins,
}

// libmemcachedSocket is what libmemcached adds to the path of a socket given to
// memcached_server_add_unix_socket: port 0. PHP adds sockets in another way.
const libmemcachedSocket = ":0"

var libmemcachedModula = &peer{
	name: "LibmemcachedModula", hashes: libmemcachedHashes,
	label: plainLabel, weights: weightsIgnored, build: buildModulo,
}

// LibmemcachedModula is libmemcached as it comes: distribution MODULA, the hash
// of the key modulo the list in its order, weights ignored. The default of
// libmemcached for hash is [HashOneAtATime].
func LibmemcachedModula(hash Hash) Placement {
	return Placement{peer: libmemcachedModula, hash: hash}
}

var libmemcachedSortedModula = &peer{
	name: "LibmemcachedSortedModula", hashes: libmemcachedHashes,
	label: plainLabel, weights: weightsIgnored, sort: byHostThenPort, build: buildModulo,
}

// LibmemcachedSortedModula is [LibmemcachedModula] with SORT_HOSTS set: the
// list is sorted by host text, then by port number, before use.
func LibmemcachedSortedModula(hash Hash) Placement {
	return Placement{peer: libmemcachedSortedModula, hash: hash}
}

func byHostThenPort(a, b member) int {
	hostA, portA, _ := splitAddr(a.label)
	hostB, portB, _ := splitAddr(b.label)
	return cmp.Or(cmp.Compare(hostA, hostB), cmp.Compare(len(portA), len(portB)), cmp.Compare(portA, portB))
}

var libmemcachedKetama = &peer{
	name: "LibmemcachedKetama", hashes: libmemcachedHashes,
	label: shortLabel(libmemcachedSocket), weights: weightsWhole, build: buildLibmemcachedKetama,
}

// LibmemcachedKetama is KETAMA=1, DISTRIBUTION=CONSISTENT or
// CONSISTENT_KETAMA, set before the servers are added. While no weight is above
// 1, a server has 100 points, each the key hash of one text; otherwise it is
// [LibmemcachedKetamaWeighted] with the same hash. The default for hash is
// [HashOneAtATime]: KETAMA does not bring MD5 with it.
//
// Where the peer adds weighted servers first and sets KETAMA or CONSISTENT
// afterwards, it forgets the weights: give all servers weight 1 then.
func LibmemcachedKetama(hash Hash) Placement {
	return Placement{peer: libmemcachedKetama, hash: hash}
}

func buildLibmemcachedKetama(r *Ring, members []member) error {
	if slices.ContainsFunc(members, func(m member) bool { return m.weight > 1 }) {
		return setPoints(r, members, weightedMD5Points(members))
	}
	sum := func(text string) uint32 { return uint32(r.placement.hash.sum(text, 0)) }
	return setPoints(r, members, hashPoints(members, 100, sum))
}

var libmemcachedKetamaWeighted = &peer{
	name: "LibmemcachedKetamaWeighted", hashes: libmemcachedHashes,
	label: shortLabel(libmemcachedSocket), weights: weightsWhole, build: buildWeightedKetama,
}

// LibmemcachedKetamaWeighted is KETAMA_WEIGHTED=1: some 160 MD5 points a
// server, more or fewer by its weight, a whole number. KETAMA_WEIGHTED sets the
// key hash to [HashMD5]; another one applies if MEMCACHED_BEHAVIOR_HASH is set
// after it. DISTRIBUTION=CONSISTENT_WEIGHTED alone is this with the hash that
// was set, [HashOneAtATime] by default.
func LibmemcachedKetamaWeighted(hash Hash) Placement {
	return Placement{peer: libmemcachedKetamaWeighted, hash: hash}
}

func buildWeightedKetama(r *Ring, members []member) error {
	return setPoints(r, members, weightedMD5Points(members))
}

var libmemcachedKetamaSpy = &peer{
	name: "LibmemcachedKetamaSpy", hashes: libmemcachedHashes,
	label: slashLabel, weights: weightsWhole, build: buildLibmemcachedKetama,
}

// LibmemcachedKetamaSpy is DISTRIBUTION=CONSISTENT_KETAMA_SPY: as
// [LibmemcachedKetama] with texts of the form "/host:port-0". They are not
// those of spymemcached: see [SpymemcachedKetama].
func LibmemcachedKetamaSpy(hash Hash) Placement {
	return Placement{peer: libmemcachedKetamaSpy, hash: hash}
}

var libmemcachedKetamaSpyWeighted = &peer{
	name: "LibmemcachedKetamaSpyWeighted", hashes: libmemcachedHashes,
	label: slashLabel, weights: weightsWhole, build: buildWeightedKetama,
}

// LibmemcachedKetamaSpyWeighted is KETAMA_WEIGHTED=1 followed by
// DISTRIBUTION=CONSISTENT_KETAMA_SPY; the hash is [HashMD5] then.
func LibmemcachedKetamaSpyWeighted(hash Hash) Placement {
	return Placement{peer: libmemcachedKetamaSpyWeighted, hash: hash}
}

// PylibmcModula is pylibmc without "ketama" behaviors. Its default for the
// behavior "hash" is [HashOneAtATime].
func PylibmcModula(hash Hash) Placement { return LibmemcachedModula(hash) }

// PylibmcKetama is pylibmc with the behavior "ketama", or with the
// distribution "consistent". Its default for "hash" is [HashOneAtATime].
func PylibmcKetama(hash Hash) Placement { return LibmemcachedKetama(hash) }

// PylibmcKetamaWeighted is pylibmc with the behavior "ketama_weighted", which
// sets the hash to [HashMD5].
func PylibmcKetamaWeighted(hash Hash) Placement { return LibmemcachedKetamaWeighted(hash) }

// PHPModula is PHP's memcached extension as it comes. Its default for
// OPT_HASH is [HashOneAtATime].
func PHPModula(hash Hash) Placement { return LibmemcachedModula(hash) }

var phpConsistent = &peer{
	name: "PHPConsistent", hashes: libmemcachedHashes,
	label: shortLabel(""), weights: weightsWhole, build: buildLibmemcachedKetama,
}

// PHPConsistent is PHP's memcached extension with OPT_DISTRIBUTION set to
// DISTRIBUTION_CONSISTENT before the servers are added: [LibmemcachedKetama]
// but for unix sockets. If it is set after them, PHP ignores their weights:
// give all servers weight 1 then. The default for hash is [HashOneAtATime].
func PHPConsistent(hash Hash) Placement { return Placement{peer: phpConsistent, hash: hash} }

var phpLibketama = &peer{
	name: "PHPLibketama", hashes: libmemcachedHashes,
	label: shortLabel(""), weights: weightsWhole, build: buildWeightedKetama,
}

// PHPLibketama is PHP's memcached extension with OPT_LIBKETAMA_COMPATIBLE on:
// [LibmemcachedKetamaWeighted] but for unix sockets. The option sets the hash
// to [HashMD5]; OPT_HASH set after it changes the hash of keys. The prefix of
// OPT_PREFIX_KEY is not hashed: see [Placement.IgnorePrefix].
func PHPLibketama(hash Hash) Placement { return Placement{peer: phpLibketama, hash: hash} }
