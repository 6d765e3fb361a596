package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func wellFormed(t *testing.T, svg []byte) {
	require.NotEmpty(t, svg)
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	assert.NotContains(t, string(svg), "NaN")
	assert.NotContains(t, string(svg), "Inf")
	assert.NotContains(t, string(svg), `width="-`)
}

func TestBars(t *testing.T) {
	p := &Bars{
		Title: "A & B", Subtitle: "<lower> is better", Axis: "× floor", Line: 1, LineName: "floor", Limit: 5,
		Groups: []Group{{"4 servers", []Bar{{"vaquero", 1.2, 1.1, 1.3}, {"other", 14, 13, 15}}}, {"none", nil}},
	}
	svg := p.SVG()
	wellFormed(t, svg)
	assert.Contains(t, string(svg), ">14<", "a bar that is cut says how long it would be")
	assert.Equal(t, svg, p.SVG())
	p.Log = true
	wellFormed(t, p.SVG())
	assert.Nil(t, (&Bars{}).SVG())
}

func TestCurves(t *testing.T) {
	p := &Curves{Title: "t", XAxis: "x", YAxis: "y", Series: []Series{
		{"vaquero", []Point{{1000, 50, 40, 60}, {80000, 900, 800, 1000}}},
		{"floor-meta", []Point{{1000, 50, 50, 50}}},
	}}
	wellFormed(t, p.SVG())
	p.XNames = []string{"p50", "p99"}
	p.Series = []Series{{"vaquero", []Point{{0, 1, 1, 1}, {1, 10, 9, 12}}}}
	svg := p.SVG()
	wellFormed(t, svg)
	assert.Contains(t, string(svg), ">p99<")
	assert.Nil(t, (&Curves{}).SVG())
}

func TestAxes(t *testing.T) {
	assert.Equal(t, []float64{0, 1, 2, 3, 4, 5}, ticks(5, 7))
	assert.Equal(t, []float64{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}, ticks(1, 7))
	assert.Equal(t, []float64{5, 10, 20, 50, 100}, decades(4, 120))
	places := []float64{10, 12, 100, 11}
	apart(places, 15)
	assert.Equal(t, []float64{10, 40, 100, 25}, places)
	for x, want := range map[float64]string{0: "0", 1.25: "1.25", 12.34: "12.3", 123.4: "123", 12345: "12.3 k", 2.5e6: "2.5 M"} {
		assert.Equal(t, want, figure(x))
	}
}
