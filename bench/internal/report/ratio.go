// Package report turns slices into what people read: figures with their spread,
// ratios, Markdown and JSON.
package report

// Figures of a slice, ratios of two, and how many of them become one.

import (
	"fmt"
	"slices"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// Figure is a number that a slice gives.
type Figure struct {
	Name string
	Of   func(*run.Slice) float64
}

// The figures that are compared.
var (
	Speed = Figure{"speed", (*run.Slice).Speed}
	CPU   = Figure{"CPU", (*run.Slice).CPU}
	P25   = Figure{"p25", func(s *run.Slice) float64 { return float64(s.P25) }}
	P50   = Figure{"p50", func(s *run.Slice) float64 { return float64(s.P50) }}
	P99   = Figure{"p99", func(s *run.Slice) float64 { return float64(s.P99) }}
)

// Ratio is a figure against the same figure of another client.
type Ratio struct {
	Figure
	Base string
}

func (r Ratio) String() string { return r.Name + " × " + r.Base }

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
	case x >= 99.5 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.95:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.0995:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.3f", x)
	}
}

// Over forms the ratio of client to the base in each round that both took part in.
func (r Ratio) Over(row *Row, client string) (Spread, bool) {
	all, base := row.Slices, map[int]*run.Slice{}
	for i := range all {
		if all[i].Client == r.Base {
			base[all[i].Round] = &all[i]
		}
	}
	var ratios []float64
	for i := range all {
		if b := base[all[i].Round]; b != nil && all[i].Client == client {
			ratios = append(ratios, r.Of(&all[i])/r.Of(b))
		}
	}
	if len(ratios) == 0 {
		return Spread{}, false
	}
	return spread(ratios), true
}
