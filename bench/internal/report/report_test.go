package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// slice is one of a second in which each operation took as long as any other.
func slice(client string, round int, ops int64) run.Slice {
	each := time.Second / time.Duration(ops)
	return run.Slice{
		Client: client, Round: round, Ops: ops, Items: 2, Elapsed: time.Second,
		P25: each, P50: each, P99: each, User: time.Duration(ops), Reads: -1, Writes: -1,
	}
}

// twoRounds is a row in which the machine was half as fast in the second round.
func twoRounds() *Row {
	return &Row{Name: "a row", Clients: []string{"base", "other"}, Slices: []run.Slice{
		slice("base", 0, 1000), slice("other", 0, 3000),
		slice("base", 1, 500), slice("other", 1, 1500),
	}}
}

func TestRatiosAreFormedWithinRounds(t *testing.T) {
	speed, ok := Ratio{Speed, "base"}.Over(twoRounds(), "other")
	require.True(t, ok)
	assert.Equal(t, Spread{3, 3, 3}, speed)
	p25, _ := Ratio{P25, "base"}.Over(twoRounds(), "other")
	assert.InDelta(t, 1.0/3, p25.Median, 1e-3)

	half := twoRounds()
	half.Slices = half.Slices[:3] // "other" missed a round
	speed, _ = Ratio{Speed, "base"}.Over(half, "other")
	assert.Equal(t, Spread{3, 3, 3}, speed)
	_, ok = Ratio{Speed, "nobody"}.Over(half, "other")
	assert.False(t, ok)
}

func TestRatiosToTheSameClientOrWay(t *testing.T) {
	row := &Row{Name: "a row", Slices: []run.Slice{
		slice("ours/plain", 0, 1000), slice("ours/spread", 0, 500), slice("theirs/plain", 0, 100), slice("theirs/spread", 0, 10),
	}}
	own, _ := Ratio{Speed, "*/plain"}.Over(row, "theirs/spread")
	assert.InDelta(t, 0.1, own.Median, 1e-9)
	other, _ := Ratio{Speed, "theirs/*"}.Over(row, "ours/spread")
	assert.InDelta(t, 50, other.Median, 1e-9)
	_, ok := Ratio{Speed, "*/plain"}.Over(row, "ours/plain")
	assert.False(t, ok, "to itself")
	assert.Equal(t, "speed × its own plain", Ratio{Speed, "*/plain"}.String())
	assert.Equal(t, "speed × theirs", Ratio{Speed, "theirs/*"}.String())
}

func TestSpread(t *testing.T) {
	assert.Equal(t, Spread{2, 3, 4}, spread([]float64{5, 1, 3, 2, 4}))
	assert.Equal(t, Spread{1.25, 1.5, 1.75}, spread([]float64{2, 1}))
	assert.Equal(t, Spread{7, 7, 7}, spread([]float64{7}))
	assert.Equal(t, "3.00 (0.050–1234)", Spread{0.05, 3, 1234}.String())
}

func TestReadAndMerge(t *testing.T) {
	r := &Report{Title: "title", Rows: []*Row{twoRounds()}, Ratios: []Ratio{{Speed, "base"}}, Floor: "base"}
	r.Add("started", "now")
	var raw bytes.Buffer
	require.NoError(t, r.Write(&raw))
	again, err := Read(bytes.NewReader(raw.Bytes()))
	require.NoError(t, err)
	assert.Equal(t, r, again)

	again.Conditions[0].Value = "later"
	require.NoError(t, r.Merge(again))
	assert.Equal(t, "now; later", r.Conditions[0].Value)
	require.Len(t, r.Rows[0].Slices, 8)
	assert.Equal(t, 3, r.Rows[0].Slices[7].Round)

	again.Rows[0].Error = "failed"
	require.NoError(t, r.Merge(again))
	assert.Empty(t, r.Rows[0].Slices, "a row with an error in one run has no numbers")
	again.Title = "another"
	assert.Error(t, r.Merge(again))

	_, err = Read(strings.NewReader(`{"ratios": [{"figure": "beauty"}]}`))
	assert.ErrorContains(t, err, "beauty")
}

func TestMarkdown(t *testing.T) {
	failed := &Row{Name: "failed", Clients: []string{"base"}, Error: "base: wrong value"}
	r := &Report{Title: "title", Rows: []*Row{twoRounds(), failed}, Ratios: []Ratio{{Speed, "base"}}, Floor: "base"}
	var b strings.Builder
	require.NoError(t, r.Markdown(&b))
	for _, line := range []string{
		"## title",
		"| row | other |",
		"| a row | 3.00 (3.00–3.00) |",
		"| failed | – |",
		"| client | op/s | p25 µs | p50 µs | p99 µs | allocs | B | CPU µs (user + sys) | GC % | ns per item | … above base | speed × base |",
		"No numbers: base: wrong value",
	} {
		assert.Contains(t, b.String(), line+"\n")
	}
}
