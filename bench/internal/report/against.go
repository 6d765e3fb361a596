package report

// What has changed between two reports of one table, and how sure that is.

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Change is a median against an older one.
type Change struct {
	Old, New  Spread
	Low, High float64 // of New/Old, with 95 % confidence
}

// resamples is how many times rounds are drawn anew for an interval.
const resamples = 1000

// changed compares the rounds of two runs. The interval is a bootstrap of the ratio of
// medians; the same rounds give the same interval.
func changed(before, after []float64) Change {
	c := Change{Old: spread(before), New: spread(after)}
	rng := rand.New(rand.NewPCG(uint64(len(before)), uint64(len(after))))
	drawn := func(from, into []float64) float64 {
		for i := range into {
			into[i] = from[rng.IntN(len(from))]
		}
		slices.Sort(into)
		return (into[(len(into)-1)/2] + into[len(into)/2]) / 2
	}
	ratios := make([]float64, 0, resamples)
	a, b := make([]float64, len(before)), make([]float64, len(after))
	for range resamples {
		if old := drawn(before, a); old > 0 {
			ratios = append(ratios, drawn(after, b)/old)
		}
	}
	if len(ratios) == 0 {
		return c
	}
	slices.Sort(ratios)
	c.Low, c.High = ratios[len(ratios)*25/1000], ratios[len(ratios)*975/1000]
	return c
}

// Claim reports whether a change may be spoken of: the interval must leave out "no
// change", and the medians be further apart than twice the larger spread.
func (c Change) Claim() bool {
	if c.Low == 0 || c.Low <= 1 && c.High >= 1 {
		return false
	}
	apart := c.New.Median - c.Old.Median
	return max(apart, -apart) > 2*max(c.Old.Q3-c.Old.Q1, c.New.Q3-c.New.Q1)
}

// String shows the change in percent with its interval, in brackets if it is no claim.
func (c Change) String() string {
	percent := func(x float64) string { return fmt.Sprintf("%+.0f", 100*(x-1)) }
	if c.Old.Median == 0 || c.Low == 0 {
		return "–"
	}
	s := fmt.Sprintf("%s %% (%s to %s)", percent(c.New.Median/c.Old.Median), percent(c.Low), percent(c.High))
	if !c.Claim() {
		return "~ [" + s + "]"
	}
	return "**" + s + "**"
}

// Against writes how each ratio of r differs from that in an older report.
func (r *Report) Against(w io.Writer, name string, old *Report) error {
	if r.Title != old.Title {
		return errOther
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Change against %s: %s\n\n", name, r.Title)
	b.WriteString("Change of the median with its interval of 95 %. What stands in brackets after ~ is no claim: the interval holds 0, or the medians are not further apart than twice the larger spread.\n")
	compared := 0
	for _, ratio := range r.Ratios {
		r.summary(&b, ratio.String(), ratio.Base, func(row *Row, client string) string {
			for _, before := range old.Rows {
				if before.Name != row.Name {
					continue
				}
				then, now := ratio.rounds(before, client), ratio.rounds(row, client)
				if len(then) == 0 || len(now) == 0 {
					break
				}
				compared++
				return changed(then, now).String()
			}
			return "–"
		})
	}
	if compared == 0 {
		b.WriteString("\nThe two have no ratio in common.\n")
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}
