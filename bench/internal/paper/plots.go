package paper

// Which plots there are.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/micro"
	"github.com/vaquero-cache/memcache/bench/internal/peer"
	"github.com/vaquero-cache/memcache/bench/internal/plot"
	"github.com/vaquero-cache/memcache/bench/internal/report"
)

// picture is a file and what it shows.
type picture struct {
	file, caption string
	draw          func(Reports) []byte
}

var pictures = []picture{
	{"getmulti.svg", "GetMulti of 100 keys against prepared bytes", drawGetMulti},
	{"callers.svg", "GET by many callers against gomemcache", drawCallers},
	{"rates.svg", "99th percentile at fixed rates", drawRates},
	{"tail.svg", "Latency at one rate, by percentile", drawTail},
	{"ladder.svg", "One GET, rung by rung", drawLadder},
	{"routing.svg", "What it costs to find the server", drawRouting},
}

// plots draws those that there are numbers for.
func (all Reports) plots(b *strings.Builder, dir, link string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b.WriteString("## Plots\n\n")
	for _, p := range pictures {
		svg := p.draw(all)
		if svg == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, p.file), svg, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.caption, link, p.file)
	}
	return nil
}

// row finds one, or nil.
func (all Reports) row(table, name string) *report.Row {
	r := all[table]
	if r == nil {
		return nil
	}
	if row := r.Row(name); row != nil && row.Error == "" {
		return row
	}
	return nil
}

// bars are those of the clients that are in a row.
func bars(row *report.Row, clients []string, of func(client string) (report.Spread, bool)) (list []plot.Bar) {
	if row == nil {
		return nil
	}
	for _, client := range clients {
		if s, ok := of(client); ok {
			list = append(list, plot.Bar{Name: client, Value: s.Median, Q1: s.Q1, Q3: s.Q3})
		}
	}
	return list
}

// grouped leaves out groups without a bar.
func grouped(list []plot.Group, label string, bars []plot.Bar) []plot.Group {
	if len(bars) == 0 {
		return list
	}
	return append(list, plot.Group{Label: label, Bars: bars})
}

func drawGetMulti(all Reports) []byte {
	clients := []string{contender.Vaquero, contender.VaqueroFunc, contender.Gomemcache, contender.Grafana, contender.QuangTung,
		peer.Libmemcached, peer.Pylibmc, peer.Dalli}
	ratio := report.Ratio{Figure: report.P25, Base: contender.FloorClassic}
	p := &plot.Bars{
		Title:    "GetMulti of 100 keys, 100 bytes each",
		Subtitle: "time of a call (lower quartile) against prepared bytes on a bare connection; shorter is better",
		Axis:     "× floor", Line: 1, LineName: "floor: prepared classic get", Limit: 6,
	}
	for _, servers := range []int{1, 4, 16} {
		row := all.row("getmulti", multi(servers, 100))
		p.Groups = grouped(p.Groups, number(servers, "server"), bars(row, clients, func(client string) (report.Spread, bool) {
			return ratio.Over(row, client)
		}))
	}
	return p.SVG()
}

func drawCallers(all Reports) []byte {
	ratio := report.Ratio{Figure: report.Speed, Base: contender.Gomemcache}
	p := &plot.Bars{
		Title:    "GET by many callers, 100 bytes",
		Subtitle: "operations a second against gomemcache; longer is better",
		Axis:     "× gomemcache", Line: 1, LineName: "gomemcache",
	}
	for _, at := range []struct{ callers, servers int }{{1, 4}, {8, 4}, {64, 1}, {64, 4}, {64, 16}, {256, 4}} {
		row := all.row("get", single("GET", at.callers, at.servers))
		p.Groups = grouped(p.Groups, number(at.callers, "caller")+", "+number(at.servers, "server"),
			bars(row, []string{contender.Vaquero, contender.QuangTung, contender.FloorMeta}, func(client string) (report.Spread, bool) {
				return ratio.Over(row, client)
			}))
	}
	return p.SVG()
}

var openClients = []string{contender.FloorMeta, contender.Vaquero, contender.Gomemcache, contender.QuangTung}

// rateOf reads the rate out of a row's name.
func rateOf(name string) (rate int) {
	if at := strings.LastIndex(name, ", "); at >= 0 {
		fmt.Sscanf(name[at+2:], "%d a second", &rate) // 0 if it is none
	}
	return rate
}

func micros(s report.Spread) report.Spread {
	return report.Spread{Q1: s.Q1 / 1e3, Median: s.Median / 1e3, Q3: s.Q3 / 1e3}
}

func drawRates(all Reports) []byte {
	p := &plot.Curves{
		Title:    "Latency at fixed rates, 9 GET to a SET, 4 servers",
		Subtitle: "99th percentile from when a request was due, waiting included; lower is better",
		XAxis:    "requests due in a second", YAxis: "p99, µs",
	}
	r := all["open"]
	if r == nil {
		return nil
	}
	for _, client := range openClients {
		s := plot.Series{Name: client}
		for _, row := range r.Rows {
			if t, ok := row.Tail(0.99, client); ok {
				t = micros(t)
				s.Points = append(s.Points, plot.Point{X: float64(rateOf(row.Name)), Y: t.Median, Q1: t.Q1, Q3: t.Q3})
			}
		}
		if s.Points != nil {
			p.Series = append(p.Series, s)
		}
	}
	return p.SVG()
}

// tailRate is the rate that most clients stand.
const tailRate = 20000

func drawTail(all Reports) []byte {
	r := all["open"]
	if r == nil {
		return nil
	}
	p := &plot.Curves{
		Title:    fmt.Sprintf("Latency by percentile at %d requests a second", tailRate),
		Subtitle: "9 GET to a SET, 4 servers, from when a request was due; lower is better",
		XAxis:    "percentile", YAxis: "µs",
	}
	shown := []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999}
	for _, q := range shown {
		p.XNames = append(p.XNames, "p"+strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", 100*q), "0"), "."))
	}
	for _, row := range r.Rows {
		if rateOf(row.Name) != tailRate {
			continue
		}
		for _, client := range openClients {
			s := plot.Series{Name: client}
			for i, q := range shown {
				if t, ok := row.Tail(q, client); ok {
					t = micros(t)
					s.Points = append(s.Points, plot.Point{X: float64(i), Y: t.Median, Q1: t.Q1, Q3: t.Q3})
				}
			}
			if s.Points != nil {
				p.Series = append(p.Series, s)
			}
		}
		break
	}
	return p.SVG()
}

func drawLadder(all Reports) []byte {
	p := &plot.Bars{
		Title:    "One GET, rung by rung",
		Subtitle: "ns, lower quartile, logarithmic: from the client's own code to the whole exchange with a server",
		Axis:     "ns", Log: true,
	}
	code := all.row("ladder", "without a wire")
	p.Groups = grouped(p.Groups, "code alone", bars(code, []string{micro.RungParse, micro.RungRoute, micro.RungBuild}, func(client string) (report.Spread, bool) {
		return code.Figure(report.PerItem, client)
	}))
	p25 := func(row *report.Row) func(string) (report.Spread, bool) {
		return func(client string) (report.Spread, bool) { return row.Figure(report.P25, client) }
	}
	clients := []string{contender.FloorEcho, contender.FloorMeta, contender.Vaquero, contender.Gomemcache}
	memory := all.row("ladder", "GET on a wire in memory, 1 caller")
	p.Groups = grouped(p.Groups, "on a wire in memory", bars(memory, clients, p25(memory)))
	for _, callers := range []int{1, 16, 64, 256} {
		row := all.row("ladder", "GET on sockets, "+number(callers, "caller"))
		p.Groups = grouped(p.Groups, "on sockets, "+number(callers, "caller"), bars(row, clients, p25(row)))
	}
	return p.SVG()
}

func drawRouting(all Reports) []byte {
	p := &plot.Bars{
		Title:    "What it costs to find the server",
		Subtitle: "processor time of a request, user and system: one server, spread over four, all on one of four",
		Axis:     "ns a request",
	}
	for _, op := range []string{"GetMulti", "SetMulti"} {
		for _, depth := range []int{16, 64} {
			row := all.row("routing", pipelines(op, depth))
			var clients []string
			for _, client := range []string{contender.Vaquero, contender.Gomemcache, contender.QuangTung} {
				for _, way := range []string{"plain", "spread", "one server"} {
					clients = append(clients, client+"/"+way)
				}
			}
			p.Groups = grouped(p.Groups, fmt.Sprintf("%s of %d keys, 8 callers", op, depth), bars(row, clients, func(client string) (report.Spread, bool) {
				return row.Figure(report.CPUItem, client)
			}))
		}
	}
	return p.SVG()
}
