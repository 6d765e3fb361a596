package micro

// Finding the server of a key.

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sort"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/vaquero-cache/memcache/ring"
)

const (
	// pickKeys is how many keys are placed in a call.
	pickKeys = 1 << 12
	// lookupKeys is more than the processor can learn to predict.
	lookupKeys = 1 << 16
)

// ringKeys returns n keys of length bytes.
func ringKeys(n, length int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%0*x", length, i)
	}
	return keys
}

// equalServers returns n servers of one weight, up to 10,000. Their addresses are of
// one length and in order, so that placements that sort servers keep the order.
func equalServers(n int) []ring.Server {
	servers := make([]ring.Server, n)
	for i := range servers {
		servers[i] = ring.Server{Addr: fmt.Sprintf("10.0.%d.%d:11212", 100+i/100, 100+i%100), Weight: 1}
	}
	return servers
}

var errPlace = errors.New("places keys in another way")

// placer makes a Contender of pick. What it finds for keys must be want.
func placer(name string, keys []string, want []int, pick func(key string) int) *Contender {
	got := make([]int, len(keys))
	return &Contender{
		Name: name,
		work: func() error {
			for i, key := range keys {
				got[i] = pick(key)
			}
			return nil
		},
		check: func() error {
			if want != nil && !slices.Equal(got, want) {
				return errPlace
			}
			clear(got)
			return nil
		},
	}
}

// picks returns where r places keys.
func picks(r *ring.Ring, keys []string) []int {
	servers := make([]int, len(keys))
	for i, key := range keys {
		servers[i] = r.Pick(key)
	}
	return servers
}

// pickRows measure hash and lookup together, by placement, against a map that
// knows the server of each key beforehand.
func pickRows() ([]Row, error) {
	var rows []Row
	for _, length := range []int{10, 20, 40} {
		keys := ringKeys(pickKeys, length)
		for _, p := range []ring.Placement{ring.Default, ring.Gomemcache} {
			r, err := ring.New(p, equalServers(16)...)
			if err != nil {
				return nil, err
			}
			want, known := picks(r, keys), map[string]int{}
			for i, key := range keys {
				known[key] = want[i]
			}
			row := Row{
				Name: fmt.Sprintf("place a key of %d bytes on 16 servers, %v", length, p), Items: pickKeys,
				Contenders: []*Contender{
					placer(Ours, keys, want, r.Pick),
					placer("map[string]int", keys, want, func(key string) int { return known[key] }),
				},
			}
			switch p {
			case ring.Default:
				row.Contenders = append(row.Contenders,
					placer(HashAlone, keys, nil, func(key string) int { return int(xxhash.Sum64String(key)) }))
			case ring.Gomemcache:
				row.Contenders = append(row.Contenders,
					placer(HashAlone, keys, nil, func(key string) int { return int(crc32.ChecksumIEEE(view(key))) }))
			}
			rows = append(rows, row)
		}
	}
	keys := ringKeys(pickKeys, 20)
	r, err := ring.New(ring.LibmemcachedKetamaWeighted(ring.HashMD5), equalServers(16)...)
	if err != nil {
		return nil, err
	}
	return append(rows, Row{
		Name: "place a key of 20 bytes on 16 servers, ketama with MD5", Items: pickKeys,
		Contenders: []*Contender{
			placer(Ours, keys, picks(r, keys), r.Pick),
			placer(HashAlone, keys, nil, func(key string) int {
				sum := md5.Sum(view(key))
				return int(sum[0])
			}),
		},
	}), nil
}

// lookupRows measure rings of 160 points a server against a binary search of the
// same points. Keys are so short that their hash, FNV-1a for both, is nearly
// nothing; it stands beside them alone.
func lookupRows() ([]Row, error) {
	var rows []Row
	keys := ringKeys(lookupKeys, 4)
	for _, n := range []int{4, 16, 50, 1000} {
		servers := equalServers(n)
		r, err := ring.New(ring.TwemproxyKetama(ring.HashFNV32a), servers...)
		if err != nil {
			return nil, err
		}
		want, points := picks(r, keys), ketamaPoints(servers)
		rows = append(rows, Row{
			Name: fmt.Sprintf("look up a hash, ketama, %d servers", n), Items: lookupKeys,
			Contenders: []*Contender{
				placer(Ours, keys, want, r.Pick),
				placer("sort.Search", keys, want, func(key string) int {
					hash := fnv32a(key)
					i := sort.Search(len(points), func(i int) bool { return points[i].value >= hash })
					if i == len(points) {
						i = 0
					}
					return points[i].server
				}),
				placer(HashAlone, keys, nil, func(key string) int { return int(fnv32a(key)) }),
			},
		})
	}
	return rows, nil
}

func fnv32a(key string) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return h
}

// point is a point of a continuum as one would write it down first.
type point struct {
	value  uint32
	server int
}

// ketamaPoints returns the sorted points of servers of one weight: four from each
// MD5 of "address-number".
func ketamaPoints(servers []ring.Server) []point {
	// 40, less what single precision loses: 39 for 50 servers.
	n := float32(len(servers))
	share := 1 / n
	texts := int(float32(share*160)/4*n + 1e-10)
	var points []point
	for i, s := range servers {
		for n := range texts {
			sum := md5.Sum(fmt.Appendf(nil, "%s-%d", s.Addr, n))
			for k := range 4 {
				points = append(points, point{binary.LittleEndian.Uint32(sum[4*k:]), i})
			}
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.server, b.server))
	})
	return points
}

// view is the bytes of s, which must not be changed. A conversion would copy, and
// the hash alone would cost more than hash and lookup.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
