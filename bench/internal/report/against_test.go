package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// near are n numbers around x, a twentieth of it apart at most.
func near(x float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = x * (1 + (float64(i%5)-2)/80)
	}
	return list
}

func TestChanges(t *testing.T) {
	for name, row := range map[string]struct {
		before, after []float64
		claim         bool
	}{
		"the same":             {near(10, 21), near(10, 21), false},
		"twice as much":        {near(10, 21), near(20, 21), true},
		"a fifth less":         {near(10, 21), near(8, 21), true},
		"within the spread":    {near(10, 21), near(10.3, 21), false},
		"one round each":       {near(10, 1), near(20, 1), true},
		"wide, medians differ": {[]float64{1, 5, 10, 15, 20}, []float64{2, 8, 14, 20, 25}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := changed(row.before, row.after)
			assert.Equal(t, row.claim, c.Claim(), "%v", c)
			assert.LessOrEqual(t, c.Low, c.New.Median/c.Old.Median)
			assert.GreaterOrEqual(t, c.High, c.New.Median/c.Old.Median)
			assert.Equal(t, c, changed(row.before, row.after), "the same in every run")
		})
	}
	assert.Equal(t, "–", changed([]float64{0}, []float64{1}).String(), "against nothing")
}

func TestAgainst(t *testing.T) {
	r := &Report{Title: "title", Rows: []*Row{twoRounds()}, Ratios: []Ratio{{Speed, "base"}}}
	faster := twoRounds()
	for i := range faster.Slices {
		if s := &faster.Slices[i]; s.Client == "other" {
			s.Ops *= 2
		}
	}
	var b strings.Builder
	require.NoError(t, (&Report{Title: "title", Rows: []*Row{faster}, Ratios: r.Ratios}).Against(&b, "old.json", r))
	assert.Contains(t, b.String(), "| a row | **+100 % (+100 to +100)** |")
	assert.Error(t, (&Report{Title: "another"}).Against(&b, "old.json", r))
	b.Reset()
	require.NoError(t, r.Against(&b, "old.json", &Report{Title: "title"}))
	assert.Contains(t, b.String(), "no ratio in common")
}
