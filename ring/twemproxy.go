package ring

// twemproxy (nutcracker).

import "cmp"

// twemproxyHashes are the values of its option "hash".
var twemproxyHashes = []Hash{
	HashOneAtATime, HashMD5, HashCRC16, HashCRC, HashCRC32a, HashFNV64, HashFNV64a,
	HashFNV32, HashFNV32a, HashHsieh, HashMurmur, HashJenkins,
}

// twemproxySocket ends the name that twemproxy gives a socket.
const twemproxySocket = ":"

// byNameLength is the order twemproxy sorts its servers in.
func byNameLength(a, b member) int {
	return cmp.Or(cmp.Compare(len(a.label), len(b.label)), cmp.Compare(a.label, b.label))
}

var twemproxyKetama = &peer{
	name: "TwemproxyKetama", hashes: twemproxyHashes, label: shortLabel(twemproxySocket),
	weights: weightsWhole, sort: byNameLength, build: buildWeightedKetama,
}

// TwemproxyKetama is a pool of twemproxy with "distribution: ketama", its
// default. The default for hash is [HashFNV64a]; twemproxy's "crc32" is
// [HashCRC]. A server's Name is the name that may end its line in twemproxy's
// configuration; weights are whole numbers. For "hash_tag" see
// [Placement.HashTag].
func TwemproxyKetama(hash Hash) Placement { return Placement{peer: twemproxyKetama, hash: hash} }

var twemproxyModula = &peer{
	name: "TwemproxyModula", hashes: twemproxyHashes, label: shortLabel(twemproxySocket),
	weights: weightsWhole, sort: byNameLength, build: buildWeightedModulo,
}

// TwemproxyModula is a pool of twemproxy with "distribution: modula": the hash
// modulo the servers, each counted as often as its weight says, in the order
// of their names: the shorter first, names of one length by their bytes.
func TwemproxyModula(hash Hash) Placement { return Placement{peer: twemproxyModula, hash: hash} }
