package ring

// github.com/bradfitz/gomemcache: CRC-32 of the key modulo the list.

import "hash/crc32"

// Gomemcache places keys as ServerList of github.com/bradfitz/gomemcache does
// (and grafana/gomemcache, its fork): CRC-32 of the key modulo the number of
// servers. The order of the list is all that counts.
var Gomemcache = Placement{rule: ruleGomemcache}

// gomemcacheHash is CRC-32 (IEEE) of the first 256 bytes of the key: the peer
// copies the key into a buffer of that size.
func gomemcacheHash(key string) uint32 {
	return crc32.ChecksumIEEE(byteView(key[:min(len(key), 256)]))
}

// modulo is the place of hash h in a list of n.
func modulo(h uint32, n int) int { return int(h % uint32(n)) }
