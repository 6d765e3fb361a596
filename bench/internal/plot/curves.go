package plot

// Curves on logarithmic axes.

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is a median with its quartiles at a place.
type Point struct{ X, Y, Q1, Q3 float64 }

// Series is a curve.
type Series struct {
	Name   string
	Points []Point // by X
}

// Curves is a plot of several.
type Curves struct {
	Title, Subtitle string
	XAxis, YAxis    string
	XNames          []string // in place of numbers, for X 0, 1, …; the axis is then linear
	Series          []Series
}

// SVG draws it. Without a point there is no picture.
func (p *Curves) SVG() []byte {
	var c canvas
	top := c.heading(p.Title, p.Subtitle) + 8
	const left, right = 76.0, width - 132.0
	bottom := top + 300
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		for _, q := range s.Points {
			lowX, highX = min(lowX, q.X), max(highX, q.X)
			lowY, highY = min(lowY, q.Y, q.Q1), max(highY, q.Y, q.Q3)
		}
	}
	if math.IsInf(lowX, 1) || lowY <= 0 {
		return nil
	}
	lowY, highY = lowY/1.3, highY*1.3
	log := func(x, low, high, from, to float64) float64 {
		if high == low {
			return (from + to) / 2
		}
		return from + (to-from)*math.Log(x/low)/math.Log(high/low)
	}
	y := func(v float64) float64 { return log(v, lowY, highY, bottom, top) }
	x := func(v float64) float64 { return log(v, lowX, highX, left+12, right-12) }
	if p.XNames != nil {
		x = func(v float64) float64 {
			return left + 12 + (right-left-24)*v/float64(max(1, len(p.XNames)-1))
		}
	}
	marks := decades(lowY, highY)
	if len(marks) > 9 { // too many; the decades will do
		marks = slices.DeleteFunc(marks, func(v float64) bool {
			l := math.Log10(v)
			return math.Abs(l-math.Round(l)) > 1e-9
		})
	}
	for _, v := range marks {
		c.line(left, y(v), right, y(v), grid, 1)
		c.text(left-8, y(v)+4, 11, "end", soft, figure(v))
	}
	var places []float64
	for _, s := range p.Series {
		for _, q := range s.Points {
			if !slices.Contains(places, q.X) {
				places = append(places, q.X)
			}
		}
	}
	for _, v := range places {
		name := figure(v)
		if p.XNames != nil {
			name = p.XNames[int(v)]
		}
		c.line(x(v), bottom, x(v), bottom+5, soft, 1)
		c.text(x(v), bottom+20, 11, "middle", soft, name)
	}
	c.line(left, bottom, right, bottom, soft, 1)
	c.text((left+right)/2, bottom+42, 12, "middle", soft, p.XAxis)
	c.text(0, 0, 12, "middle", soft, p.YAxis, fmt.Sprintf(`transform="translate(22 %s) rotate(-90)"`, short((top+bottom)/2)))

	ends := make([]float64, len(p.Series)) // where names stand
	for i, s := range p.Series {
		colour := colourOf(s.Name, i)
		var upper, lower, path []string
		for _, q := range s.Points {
			path = append(path, short(x(q.X))+","+short(y(q.Y)))
			upper = append(upper, short(x(q.X))+","+short(y(q.Q3)))
			lower = append(lower, short(x(q.X))+","+short(y(q.Q1)))
		}
		slices.Reverse(lower)
		fmt.Fprintf(&c, `<polygon points="%s" fill="%s" opacity="0.14"/>`+"\n", strings.Join(append(upper, lower...), " "), colour)
		dash := ""
		if strings.HasPrefix(s.Name, "floor") {
			dash = ` stroke-dasharray="6 4"`
		}
		fmt.Fprintf(&c, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2.2" stroke-linejoin="round"%s/>`+"\n", strings.Join(path, " "), colour, dash)
		for _, q := range s.Points {
			fmt.Fprintf(&c, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", short(x(q.X)), short(y(q.Y)), colour)
		}
		ends[i] = y(s.Points[len(s.Points)-1].Y)
	}
	apart(ends, 15)
	for i, s := range p.Series {
		last := s.Points[len(s.Points)-1]
		c.text(x(last.X)+10, ends[i]+4, 12, "start", colourOf(s.Name, i), s.Name, `font-weight="600"`)
	}
	c.height = bottom + 60
	return c.svg(fmt.Sprintf("%s. %s", p.Title, p.Subtitle))
}

// apart moves places that are closer than gap, and keeps their order.
func apart(places []float64, gap float64) {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case places[a] < places[b]:
			return -1
		case places[a] > places[b]:
			return 1
		}
		return 0
	})
	for n := 1; n < len(order); n++ {
		if before := places[order[n-1]]; places[order[n]] < before+gap {
			places[order[n]] = before + gap
		}
	}
}
