package paper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// rounds is a row in which each client takes its own time, about, for a call.
func rounds(name string, times map[string]time.Duration) *report.Row {
	row := &report.Row{Name: name}
	for client, each := range times {
		row.Clients = append(row.Clients, client)
		for n := range 5 {
			took := each + each*time.Duration(n-2)/100
			row.Slices = append(row.Slices, run.Slice{
				Client: client, Round: n, Ops: 1000, Items: 100, Elapsed: 1000 * took, P25: took, P50: took, P99: 2 * took,
				User: 1000 * took, Tail: make([]time.Duration, len(run.TailQuantiles)),
			})
		}
	}
	return row
}

func TestVerdicts(t *testing.T) {
	tight := func(x float64) report.Spread { return report.Spread{Q1: x * 0.99, Median: x, Q3: x * 1.01} }
	wide := func(x float64) report.Spread { return report.Spread{Q1: x * 0.5, Median: x, Q3: x * 2} }
	assert.Equal(t, "yes", atMost(1.15).verdict(tight(1.1)))
	assert.Equal(t, "**no**", atMost(1.15).verdict(tight(1.3)))
	assert.Equal(t, "yes, within the spread", atMost(1.15).verdict(wide(1.1)))
	assert.Equal(t, "**no**, within the spread", atLeast(6).verdict(wide(5)))
	assert.Equal(t, "yes", atLeast(6).verdict(tight(7)))
	assert.Equal(t, "yes", atMost(0).verdict(report.Spread{}))
	assert.True(t, atMost(1).worse(2, 1))
	assert.True(t, atLeast(1).worse(1, 2))
	assert.False(t, atLeast(1).worse(2, 2))
}

func TestReport(t *testing.T) {
	four := multi(4, 100)
	getmulti := &report.Report{Title: "GetMulti", Ratios: []report.Ratio{{Figure: report.P25, Base: contender.FloorClassic}}, Rows: []*report.Row{
		rounds(four, map[string]time.Duration{contender.FloorClassic: 100, contender.Vaquero: 110, contender.Gomemcache: 200, "dalli": 500}),
		{Name: multi(1, 100), Clients: []string{contender.Vaquero}, Error: "vaquero: wrong value"},
	}}
	getmulti.Add("Go", "go1.99")
	getmulti.Add("rounds", "5")
	raw, plots := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(raw, "getmulti-1.json"))
	require.NoError(t, err)
	require.NoError(t, getmulti.Write(f))
	require.NoError(t, f.Close())

	tables := []string{"get", "getmulti"}
	all, err := Read(raw, tables)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, all.Write(&b, tables, plots, "plots", "## Processor time\n"))
	text := b.String()
	for _, line := range []string{
		"- Go: go1.99\n",
		"| GetMulti 4×100, p25 × prepared classic get | at most 1.15 | 1.10 (1.10–1.10) | yes |\n",
		"| GetMulti 4×100, Dalli's p25 × ours | at least 6 | 4.55 (4.54–4.55) | **no** |\n",
		"| GetMulti 1×100, p25 × prepared classic get | at most 1.15 | – | not measured |\n",
		"![GetMulti of 100 keys against prepared bytes](plots/getmulti.svg)\n",
		"## Processor time\n", "## GetMulti\n", "- rounds: 5\n",
	} {
		assert.Contains(t, text, line)
	}
	assert.Equal(t, 1, strings.Count(text, "go1.99"), "conditions that are the same stand once")
	assert.FileExists(t, filepath.Join(plots, "getmulti.svg"))
	assert.NoFileExists(t, filepath.Join(plots, "callers.svg"), "there is nothing to draw")

	_, err = Read(t.TempDir(), tables)
	assert.ErrorContains(t, err, "no rounds")
}

func TestTheWorstRowCounts(t *testing.T) {
	all := Reports{"getmulti": {Rows: []*report.Row{
		rounds("good", map[string]time.Duration{"ours": 100, "theirs": 200}),
		rounds("bad", map[string]time.Duration{"ours": 100, "theirs": 90}),
	}}}
	h := hold{table: "getmulti", rows: []string{"good", "bad", "gone"}, client: "theirs", figure: report.P25, base: "ours", limit: atLeast(1)}
	worst, ok := h.measured(all)
	require.True(t, ok)
	assert.InDelta(t, 0.9, worst.Median, 0.01)
	h.rows = []string{"gone"}
	_, ok = h.measured(all)
	assert.False(t, ok)
}

func TestRateOf(t *testing.T) {
	assert.Equal(t, 20000, rateOf("9 GET 1 SET, Zipf, 256 callers, 4 servers, 20000 a second"))
	assert.Zero(t, rateOf("GET"))
}
