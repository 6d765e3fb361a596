package ring

// Key hashes by name. Each is the function of the peer it is named after, with
// that peer's departures from the textbook.

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// Hash names the function that a placement hashes keys with. Which of them a
// placement takes is said there; [New] refuses the others with [ErrHash].
//
// The functions of libmemcached and twemproxy read key bytes as signed
// characters where the C compiler does, as it does on x86-64 Linux: keys with
// bytes above 127 follow that build, and one for arm64 may place such keys
// elsewhere.
type Hash uint8

const (
	hashXXH64 Hash = iota // of Default, so that the zero Placement has it

	// HashOneAtATime is Bob Jenkins' one-at-a-time hash: "default" in
	// libmemcached, pylibmc and PHP, "one_at_a_time" in twemproxy.
	HashOneAtATime

	// HashMD5 is the first four bytes of MD5, read little-endian: "md5" in
	// libmemcached and twemproxy, KETAMA_HASH in spymemcached.
	HashMD5

	// HashCRC is 15 bits of CRC-32: "crc" in libmemcached, "crc32" in
	// twemproxy, CRC_HASH in spymemcached. On a continuum, whose points spread
	// over 32 bits, nearly all keys fall to one server.
	HashCRC

	// HashCRC32a is CRC-32 (IEEE) whole: "crc32a" in twemproxy.
	HashCRC32a

	// HashCRC16 is "crc16" in twemproxy: CRC-16 in a 32-bit register that is
	// never cut to 16 bits.
	HashCRC16

	// HashFNV64 is the low half of 64-bit FNV-1: "fnv1_64", FNV1_64_HASH.
	HashFNV64

	// HashFNV64a is "fnv1a_64", FNV1A_64_HASH. libmemcached and twemproxy
	// compute it in 32 bits from the low halves of the 64-bit constants.
	HashFNV64a

	// HashFNV32 is 32-bit FNV-1: "fnv1_32", FNV1_32_HASH.
	HashFNV32

	// HashFNV32a is 32-bit FNV-1a: "fnv1a_32", FNV1A_32_HASH.
	HashFNV32a

	// HashHsieh is Paul Hsieh's SuperFastHash: "hsieh". Builds of libmemcached
	// often leave it out and then quietly keep the hash set before.
	HashHsieh

	// HashMurmur is MurmurHash2 with a seed made of the length: "murmur".
	HashMurmur

	// HashMurmur3 is MurmurHash3 (x86, 32 bits) with a seed made of the
	// length: "murmur3" in libmemcached.
	HashMurmur3

	// HashJenkins is Bob Jenkins' lookup3: "jenkins".
	HashJenkins

	// HashNative is Java's String.hashCode: NATIVE_HASH in spymemcached.
	HashNative

	// HashXXH3 is 64-bit XXH3: what memcached's proxy hashes with unless told
	// otherwise.
	HashXXH3

	// Those below belong to one placement each, or are a peer's variant of a
	// hash above, and are not for the user to choose.

	hashCRC256 // CRC-32 of at most 256 bytes
	hashJavaFNV64
	hashJavaFNV64a
	hashJavaFNV32
	hashJavaFNV32a
	hashCRC31 // CRC-32 without its highest bit
	hashCount
)

var hashNames = [hashCount]string{
	HashOneAtATime: "one_at_a_time", HashMD5: "md5", HashCRC: "crc", HashCRC32a: "crc32a",
	HashCRC16: "crc16", HashFNV64: "fnv1_64", HashFNV64a: "fnv1a_64", HashFNV32: "fnv1_32",
	HashFNV32a: "fnv1a_32", HashHsieh: "hsieh", HashMurmur: "murmur", HashMurmur3: "murmur3",
	HashJenkins: "jenkins", HashNative: "native", HashXXH3: "xxh3",
	hashXXH64: "xxh64", hashCRC256: "crc32", hashCRC31: "crc32",
	hashJavaFNV64: "fnv1_64", hashJavaFNV64a: "fnv1a_64", hashJavaFNV32: "fnv1_32", hashJavaFNV32a: "fnv1a_32",
}

// String returns the name most peers give the hash, such as "fnv1a_64".
func (h Hash) String() string {
	if h < hashCount {
		return hashNames[h]
	}
	return fmt.Sprintf("Hash(%d)", uint8(h))
}

// sum returns the hash of key. All but XXH3 and xxhash64 fit in 32 bits.
// Only XXH3 has a use for seed.
func (h Hash) sum(key string, seed uint64) uint64 {
	switch h {
	case HashOneAtATime:
		return uint64(oneAtATime(key))
	case HashMD5:
		return uint64(md5Sum(key))
	case HashCRC:
		return uint64(crc32IEEE(key) >> 16 & 0x7fff)
	case HashCRC32a:
		return uint64(crc32IEEE(key))
	case hashCRC256:
		return crc256(key)
	case hashCRC31:
		return uint64(crc32IEEE(key) & 0x7fffffff)
	case HashCRC16:
		return uint64(crc16(key))
	case HashFNV64:
		return uint64(fnv64(key))
	case HashFNV64a:
		return uint64(fnv64a(key))
	case HashFNV32:
		return uint64(fnv32(key))
	case HashFNV32a:
		return uint64(fnv32a(key))
	case HashHsieh:
		return uint64(hsieh(key))
	case HashMurmur:
		return uint64(murmur2(key))
	case HashMurmur3:
		return uint64(murmur3(key, 0xdeadbeef*uint32(len(key))))
	case HashJenkins:
		return uint64(jenkins(key))
	case HashNative:
		return uint64(javaHashCode(key))
	case hashJavaFNV64:
		return uint64(javaFNV(key, fnvOffset64, fnvPrime64, false))
	case hashJavaFNV64a:
		return uint64(javaFNV(key, fnvOffset64, fnvPrime64, true))
	case hashJavaFNV32:
		return uint64(javaFNV(key, fnvOffset32, fnvPrime32, false))
	case hashJavaFNV32a:
		return uint64(javaFNV(key, fnvOffset32, fnvPrime32, true))
	case HashXXH3:
		return xxh3.HashSeed(byteView(key), seed)
	default:
		return xxhash.Sum64(byteView(key))
	}
}

func md5Sum(s string) uint32 {
	digest := md5.Sum(byteView(s))
	return binary.LittleEndian.Uint32(digest[:])
}
