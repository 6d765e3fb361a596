// Package report turns slices into what people read: figures with their spread,
// ratios, Markdown and JSON.
package report

// Ratios of two slices, and how many of them become one figure.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// Figure names a number that a slice gives, and that can be compared.
type Figure string

// The figures.
const (
	Speed   Figure = "speed"    // operations per second
	CPU     Figure = "CPU"      // processor time of an operation
	UserCPU Figure = "user CPU" // likewise, outside the kernel
	PerItem Figure = "ns per item"
	P50     Figure = "p50"
	CPUItem Figure = "CPU ns per item"
	P999    Figure = "p99.9"    // of the time of single operations, at a rate
	P25     Figure = "p25"      // of the time of single operations
	P99     Figure = "p99"      // likewise
	HogWork Figure = "hog work" // what goroutines beside the callers got done
	Allocs  Figure = "allocs"   // allocations of an operation
)

// Extra is the figure of that name in Slice.Extra.
func Extra(name string) Figure { return Figure(extra + name) }

const extra = "extra: "

// of returns what reads the figure, or nil if there is no such figure.
func (f Figure) of() func(*run.Slice) float64 {
	if name, ok := strings.CutPrefix(string(f), extra); ok {
		return func(s *run.Slice) float64 {
			if x, ok := s.Extra[name]; ok {
				return x
			}
			return math.NaN()
		}
	}
	return figures[f]
}

var figures = map[Figure]func(*run.Slice) float64{
	Speed:   (*run.Slice).Speed,
	CPU:     (*run.Slice).CPU,
	UserCPU: (*run.Slice).UserCPU,
	PerItem: (*run.Slice).PerItem,
	CPUItem: func(s *run.Slice) float64 { return s.CPU() / float64(s.Items) },
	P50:     func(s *run.Slice) float64 { return float64(s.P50) },
	P999:    func(s *run.Slice) float64 { return tail(s, 0.999) },
	P25:     func(s *run.Slice) float64 { return float64(s.P25) },
	P99:     func(s *run.Slice) float64 { return float64(s.P99) },
	HogWork: (*run.Slice).HogSpeed,
	Allocs:  func(s *run.Slice) float64 { return s.PerOp(s.Allocs) },
}

// tail is a quantile that a slice with a rate tells.
func tail(s *run.Slice, q float64) float64 {
	if i := slices.Index(run.TailQuantiles, q); i < len(s.Tail) {
		return float64(s.Tail[i])
	}
	return math.NaN()
}

// Ratio is a figure against the same figure of another client. Where the names of
// contenders are "client/way", a base of "*/plain" is the same client's plain way, and
// one of "other/*" the same way of another.
type Ratio struct {
	Figure Figure `json:"figure"`
	Base   string `json:"base"`
}

// base is the contender that client is compared with, "" if that is itself.
func (r Ratio) base(client string) string {
	base := r.Base
	who, way, _ := strings.Cut(client, "/")
	if rest, ok := strings.CutPrefix(base, "*"); ok {
		base = who + rest
	} else if rest, ok := strings.CutSuffix(base, "*"); ok {
		base = rest + way
	}
	if base == client {
		return ""
	}
	return base
}

func (r Ratio) String() string {
	base := r.Base
	if rest, ok := strings.CutPrefix(base, "*/"); ok {
		base = "its own " + rest
	}
	return string(r.Figure) + " × " + strings.TrimSuffix(base, "/*")
}

// Over forms the ratio of client to the base in each round that both took part in.
func (r Ratio) Over(row *Row, client string) (Spread, bool) {
	return condense(r.rounds(row, client))
}

// rounds are the ratios that Over condenses.
func (r Ratio) rounds(row *Row, client string) []float64 {
	of := r.Figure.of()
	return row.compare(client, r.base(client), func(own, base *run.Slice) float64 { return of(own) / of(base) })
}

// Figure condenses a figure of client over all rounds.
func (row *Row) Figure(f Figure, client string) (Spread, bool) {
	return condense(numbers(run.Of(row.Slices, client), f.of()))
}

// Tail condenses a quantile of client in a row with a rate, in nanoseconds.
func (row *Row) Tail(q float64, client string) (Spread, bool) {
	return condense(numbers(run.Of(row.Slices, client), func(s *run.Slice) float64 { return tail(s, q) }))
}

// compare lists what f makes of a client's slice and the base's of each round. A ratio
// to nothing, as to hogs that did not get to run, does not count.
func (row *Row) compare(client, base string, f func(own, base *run.Slice) float64) []float64 {
	bases := map[int]*run.Slice{}
	for i := range row.Slices {
		if s := &row.Slices[i]; s.Client == base {
			bases[s.Round] = s
		}
	}
	var list []float64
	for i := range row.Slices {
		s := &row.Slices[i]
		if b := bases[s.Round]; b != nil && s.Client == client {
			if x := f(s, b); !math.IsNaN(x) && !math.IsInf(x, 0) {
				list = append(list, x)
			}
		}
	}
	return list
}

func condense(list []float64) (Spread, bool) {
	if len(list) == 0 {
		return Spread{}, false
	}
	return spread(list), true
}

// Spread is what many numbers become: their quartiles.
type Spread struct{ Q1, Median, Q3 float64 }

// spread condenses numbers, of which there must be one.
func spread(numbers []float64) Spread {
	sorted := slices.Sorted(slices.Values(numbers))
	at := func(q float64) float64 { // between neighbours, in proportion
		place := q * float64(len(sorted)-1)
		low := int(place)
		high := min(low+1, len(sorted)-1)
		return sorted[low] + (place-float64(low))*(sorted[high]-sorted[low])
	}
	return Spread{at(0.25), at(0.5), at(0.75)}
}

// String shows the median and, in brackets, the quartiles.
func (s Spread) String() string {
	return fmt.Sprintf("%s (%s–%s)", digits(s.Median), digits(s.Q1), digits(s.Q3))
}

// digits shows about three significant ones.
func digits(x float64) string {
	switch {
	case x >= 99.5 || x <= -99.5 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.95 || x <= -9.95:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.0995 || x <= -0.0995:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.3f", x)
	}
}
