package plot

// Bars against a floor, in groups.

import (
	"fmt"
	"math"
)

// Bar is a median with its quartiles.
type Bar struct {
	Name          string
	Value, Q1, Q3 float64
}

// Group is some bars with a heading.
type Group struct {
	Label string
	Bars  []Bar
}

// Bars is a plot of horizontal bars.
type Bars struct {
	Title, Subtitle string
	Axis            string  // what the numbers are
	Line            float64 // a line across all bars, as of a floor; 0 for none
	LineName        string
	Limit           float64 // longer bars are cut; 0 for none
	Log             bool    // a logarithmic axis
	Groups          []Group
}

const (
	barHeight = 15.0
	barStep   = 20.0
	groupGap  = 30.0
	labelEnd  = 196.0
	barsEnd   = width - 70.0
)

// SVG draws it. Without a bar there is no picture.
func (p *Bars) SVG() []byte {
	var c canvas
	top := c.heading(p.Title, p.Subtitle)
	high, low := 0.0, math.Inf(1)
	for _, g := range p.Groups {
		for _, b := range g.Bars {
			high, low = max(high, b.Value, b.Q3), min(low, b.Value)
		}
	}
	if high == 0 {
		return nil
	}
	high = max(high, p.Line) * 1.04
	if p.Limit > 0 {
		high = min(high, p.Limit)
	}
	at := func(x float64) float64 { return labelEnd + (barsEnd-labelEnd)*min(x, high)/high }
	marks := ticks(high, 7)
	if p.Log {
		low = math.Pow(10, math.Floor(math.Log10(low)))
		at = func(x float64) float64 {
			return labelEnd + (barsEnd-labelEnd)*math.Log(min(max(x, low), high)/low)/math.Log(high/low)
		}
		marks = nil
		for x := low; x <= high; x *= 10 {
			marks = append(marks, x)
		}
	}

	bottom := top
	for _, g := range p.Groups {
		bottom += groupGap + barStep*float64(len(g.Bars))
	}
	for _, x := range marks {
		c.line(at(x), top+8, at(x), bottom+4, grid, 1)
		c.text(at(x), bottom+20, 11, "middle", soft, figure(x))
	}
	c.text((labelEnd+barsEnd)/2, bottom+40, 12, "middle", soft, p.Axis)
	type value struct {
		x, y float64
		text string
	}
	var values []value
	y := top
	place := map[string]int{}
	for _, g := range p.Groups {
		y += groupGap
		c.text(24, y-8, 12, "start", ink, g.Label, `font-weight="600"`)
		for _, b := range g.Bars {
			if _, ok := place[b.Name]; !ok {
				place[b.Name] = len(place)
			}
			middle := y + barHeight/2
			c.text(labelEnd-8, middle+4, 12, "end", ink, b.Name)
			c.rect(at(0), y, at(b.Value)-at(0), barHeight, colourOf(b.Name, place[b.Name]), `rx="2"`)
			end := at(b.Value)
			if p.Limit > 0 && b.Value > high { // a torn end
				c.line(end-14, y-2, end-20, y+barHeight+2, background, 4)
			} else if b.Q3 > b.Q1 {
				c.line(at(b.Q1), middle, at(b.Q3), middle, ink, 1.2, `opacity="0.75"`)
				for _, q := range []float64{b.Q1, b.Q3} {
					c.line(at(q), middle-3, at(q), middle+3, ink, 1.2, `opacity="0.75"`)
				}
				end = max(end, at(b.Q3))
			}
			values = append(values, value{end + 6, middle + 4, figure(b.Value)})
			y += barStep
		}
	}
	if p.Line > 0 {
		c.line(at(p.Line), top+8, at(p.Line), bottom+4, floorInk, 1.4, `stroke-dasharray="5 3"`)
		c.text(at(p.Line), top+4, 11, "middle", floorInk, p.LineName)
	}
	for _, v := range values { // on top of the line
		c.text(v.x, v.y, 12, "start", ink, v.text, `stroke="`+background+`"`, `stroke-width="3"`, `paint-order="stroke"`)
	}
	c.height = bottom + 56
	return c.svg(fmt.Sprintf("%s. %s", p.Title, p.Subtitle))
}
