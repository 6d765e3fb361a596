package ring

// Other Go clients: pior/memcache, grafana/dskit, aliexpressru/gomemcached.

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Pior places keys as DefaultServerSelector of github.com/pior/memcache does:
// jump hash of XXH3 over the list in its order. It equals
// [ProxyJump]([HashXXH3]).
var Pior = Placement{
	hash: HashXXH3,
	peer: &peer{name: "Pior", label: plainLabel, build: buildJump},
}

// Dskit places keys as MemcachedJumpHashSelector of github.com/grafana/dskit
// does: jump hash of xxhash64 over the addresses in natural order, in which
// numbers within the text count as numbers.
var Dskit = Placement{
	hash: hashXXH64,
	peer: &peer{name: "Dskit", label: plainLabel, sort: byNaturalOrder, build: buildJump},
}

// AliExpress places keys as github.com/aliexpressru/gomemcached does: 256
// points a server on a continuum of 64 bits, all by xxhash64. That client
// resolves addresses first, so Addr must be an IP address or a path, or Name
// must hold the resolved address with its port.
var AliExpress = Placement{
	hash: hashXXH64,
	peer: &peer{name: "AliExpress", label: resolvedLabel, build: buildAliExpress},
}

func buildAliExpress(r *Ring, members []member) error {
	if 256*len(members) > MaxPoints {
		return ErrTooManyPoints
	}
	points := make([]longPoint, 0, 256*len(members))
	for _, m := range members {
		text := numberable(m.label, "_virtual")
		for k := range 256 {
			value := xxhash.Sum64(strconv.AppendInt(text, int64(k), 10))
			points = append(points, longPoint{value, m.index})
		}
	}
	r.table, r.long = tableLong, newLongContinuum(points)
	return nil
}

// byNaturalOrder compares texts by their runs of digits and of other
// characters, runs of digits as numbers.
func byNaturalOrder(a, b member) int {
	restA, restB := a.label, b.label
	for restA != "" && restB != "" {
		var runA, runB string
		runA, restA = cutRun(restA)
		runB, restB = cutRun(restB)
		order := cmp.Compare(runA, runB)
		numberA, errA := strconv.Atoi(runA)
		numberB, errB := strconv.Atoi(runB)
		if errA == nil && errB == nil {
			order = cmp.Compare(numberA, numberB)
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(restA), len(restB))
}

// cutRun cuts the digits, or the characters that are not digits, off the
// beginning of s.
func cutRun(s string) (run, rest string) {
	isDigit := func(r rune) bool { return '0' <= r && r <= '9' }
	notDigit := func(r rune) bool { return !isDigit(r) }
	end := strings.IndexFunc(s, isDigit)
	if end == 0 {
		end = strings.IndexFunc(s, notDigit)
	}
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}
