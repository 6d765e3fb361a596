// Package plot draws what the tables say: bars against a floor, and curves. It writes
// SVG that is the same to the byte for the same numbers.
package plot

// Shapes, text and colours.

import (
	"fmt"
	"html"
	"math"
	"strings"
)

const (
	width      = 760
	font       = `font-family="Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif"`
	ink        = "#1f2933"
	soft       = "#6b7785"
	grid       = "#e4e8ee"
	floorInk   = "#b0413e"
	background = "#ffffff"
)

// palette are the colours of all others.
var palette = []string{"#4aa3a2", "#8a5ea8", "#c2566b", "#7d8794"}

// colours are those of names that stand in several plots, so that one looks the same in
// all.
var colours = map[string]string{
	"vaquero": "#0b6e99", "vaquero-func": "#58a6c4", "gomemcache": "#e08e2b", "quangtung": "#5f8f3e", "grafana": "#9a7b4f",
	"libmemcached": "#8a5ea8", "pylibmc": "#c2566b", "dalli": "#7a2e3b",
	"floor-meta": "#aab2bd", "floor-classic": "#aab2bd", "floor-echo": "#c9ced6",
}

// colourOf is the colour of a contender, "client" or "client/way".
func colourOf(name string, place int) string {
	client, _, _ := strings.Cut(name, "/")
	if c, ok := colours[client]; ok {
		return c
	}
	return palette[place%len(palette)]
}

// canvas collects shapes.
type canvas struct {
	strings.Builder
	height float64
}

func (c *canvas) text(x, y float64, size int, anchor, colour, text string, more ...string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="%d" text-anchor="%s" fill="%s"%s>%s</text>`+"\n",
		short(x), short(y), size, anchor, colour, strings.Join(append([]string{""}, more...), " "), html.EscapeString(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, colour string, thick float64, more ...string) {
	fmt.Fprintf(c, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-width="%s"%s/>`+"\n",
		short(x1), short(y1), short(x2), short(y2), colour, short(thick), strings.Join(append([]string{""}, more...), " "))
}

func (c *canvas) rect(x, y, w, h float64, colour string, more ...string) {
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s/>`+"\n",
		short(x), short(y), short(max(0, w)), short(h), colour, strings.Join(append([]string{""}, more...), " "))
}

// svg returns the whole picture.
func (c *canvas) svg(title string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %s" width="%d" height="%s" role="img" aria-label="%s" %s>
<rect width="%d" height="%s" rx="6" fill="%s"/>
%s</svg>
`, width, short(c.height), width, short(c.height), html.EscapeString(title), font, width, short(c.height), background, c.String())
}

// heading writes title and subtitle and returns where the plot may begin.
func (c *canvas) heading(title, subtitle string) float64 {
	c.text(24, 34, 17, "start", ink, title, `font-weight="600"`)
	c.text(24, 54, 12, "start", soft, subtitle)
	return 72
}

// short writes a number with at most one digit behind the point.
func short(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}

// ticks returns steps of 1, 2, 5 × 10^n from 0 up to above limit.
func ticks(limit float64, about int) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(limit/float64(about))))
	for _, m := range []float64{1, 2, 5, 10} {
		if limit/(step*m) <= float64(about) {
			step *= m
			break
		}
	}
	var list []float64
	for x := 0.0; x <= limit*(1+1e-9); x += step {
		list = append(list, x)
	}
	return list
}

// decades are 1, 2, 5 × 10^n between low and high.
func decades(low, high float64) []float64 {
	var list []float64
	for p := math.Pow(10, math.Floor(math.Log10(low))); p <= high; p *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if x := p * m; x >= low*(1-1e-9) && x <= high*(1+1e-9) {
				list = append(list, x)
			}
		}
	}
	return list
}

// figure writes a number as one reads it in a plot.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case a >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x/1e6), ".0") + " M"
	case a >= 1e4:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x/1e3), ".0") + " k"
	case a >= 100 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
