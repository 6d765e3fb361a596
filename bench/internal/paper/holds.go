package paper

// What this project aims at, against what was measured: computed, not written.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/counts"
	"github.com/vaquero-cache/memcache/bench/internal/micro"
	"github.com/vaquero-cache/memcache/bench/internal/peer"
	"github.com/vaquero-cache/memcache/bench/internal/report"
)

// hold is an aim: a figure of a client in a row, or the ratio to that of a base.
type hold struct {
	what   string
	table  string
	rows   []string // names; of several the worst counts
	client string
	figure report.Figure
	base   string          // "" for the figure itself
	less   []report.Figure // twice each of which is taken off
	limit  limit
}

// limit is what a figure must not cross.
type limit struct {
	most bool
	aim  float64
}

func atMost(x float64) limit  { return limit{true, x} }
func atLeast(x float64) limit { return limit{false, x} }

func (l limit) String() string {
	if l.most {
		return fmt.Sprintf("at most %v", l.aim)
	}
	return fmt.Sprintf("at least %v", l.aim)
}

// met reports whether x is on the right side.
func (l limit) met(x float64) bool { return l.most == (x <= l.aim) || x == l.aim }

// worse reports whether x is worse than y.
func (l limit) worse(x, y float64) bool { return l.most == (x > y) && x != y }

// multi is the name of a row of getmulti, memory a row of that table.
func multi(servers, keys int) string { return multiRow("GetMulti", servers, keys) }

func memory(servers, keys int) string { return multiRow("GetMulti in memory", servers, keys) }

func multiRow(what string, servers, keys int) string {
	return fmt.Sprintf("%s, %s × %d keys", what, number(servers, "server"), keys)
}

func single(op string, callers, servers int) string {
	return fmt.Sprintf("%s, %s, %s", op, number(callers, "caller"), number(servers, "server"))
}

func pipelines(op string, depth int) string {
	return fmt.Sprintf("%s of %d keys, 8 callers", op, depth)
}

func number(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// allHolds are the aims, by subject.
func allHolds() []hold {
	var list []hold
	add := func(h hold) { list = append(list, h) }

	for _, cell := range []struct {
		servers, keys int
		aim           float64
	}{{1, 100, 1.15}, {4, 20, 1.10}, {4, 100, 1.15}, {16, 20, 1.05}, {16, 100, 1.20}} {
		add(hold{what: fmt.Sprintf("GetMulti %d×%d, p25 × prepared classic get", cell.servers, cell.keys), table: "getmulti", rows: []string{multi(cell.servers, cell.keys)},
			client: contender.Vaquero, figure: report.P25, base: contender.FloorClassic, limit: atMost(cell.aim)})
	}
	add(hold{what: "GetMulti 4×100, CPU × prepared classic get", table: "getmulti", rows: []string{multi(4, 100)},
		client: contender.Vaquero, figure: report.CPU, base: contender.FloorClassic, limit: atMost(1.3)})
	add(hold{what: "GetMulti 4×100 by meta alone, p25 × prepared mg", table: "getmulti", rows: []string{multi(4, 100)},
		client: contender.VaqueroMeta, figure: report.P25, base: contender.FloorMeta, limit: atMost(1.15)})
	for _, cell := range []struct {
		servers int
		aim     float64
	}{{1, 10}, {4, 6}, {16, 5}} {
		add(hold{what: fmt.Sprintf("GetMulti %d×100, Dalli's p25 × ours", cell.servers), table: "getmulti", rows: []string{multi(cell.servers, 100)},
			client: peer.Dalli, figure: report.P25, base: contender.Vaquero, limit: atLeast(cell.aim)})
	}
	var grid []string
	for _, servers := range []int{1, 4, 16} {
		for _, keys := range []int{3, 20, 100, 1000} {
			grid = append(grid, multi(servers, keys))
		}
	}
	add(hold{what: "GetMulti, pylibmc's p25 × ours, worst of 12 rows", table: "getmulti", rows: grid,
		client: peer.Pylibmc, figure: report.P25, base: contender.Vaquero, limit: atLeast(1)})
	add(hold{what: "GetMulti 1×100, pylibmc's p25 × ours", table: "getmulti", rows: []string{multi(1, 100)},
		client: peer.Pylibmc, figure: report.P25, base: contender.Vaquero, limit: atLeast(1.5)})
	add(hold{what: "GetMulti 1×100, libmemcached's p25 × ours", table: "getmulti", rows: []string{multi(1, 100)},
		client: peer.Libmemcached, figure: report.P25, base: contender.Vaquero, limit: atLeast(1)})

	add(hold{what: "GetMulti in memory 4×100, gomemcache's p25 × ours", table: "memory", rows: []string{memory(4, 100)},
		client: contender.Gomemcache, figure: report.P25, base: contender.Vaquero, limit: atLeast(4)})
	add(hold{what: "GetMultiFunc in memory 4×100, ns a key", table: "memory", rows: []string{memory(4, 100)},
		client: contender.VaqueroFunc, figure: report.PerItem, limit: atMost(60)})
	add(hold{what: "GetMultiFunc in memory 4×100, gomemcache's p25 × ours", table: "memory", rows: []string{memory(4, 100)},
		client: contender.Gomemcache, figure: report.P25, base: contender.VaqueroFunc, limit: atLeast(6.5)})
	add(hold{what: "GetMultiFunc in memory 4×100, allocations", table: "memory", rows: []string{memory(4, 100)},
		client: contender.VaqueroFunc, figure: report.Allocs, limit: atMost(5)})

	for _, cell := range []struct {
		op               string
		callers, servers int
		aim              float64
	}{
		{"GET", 8, 1, 1.5}, {"GET", 64, 1, 4.5}, {"GET", 64, 4, 4}, {"GET", 64, 16, 2.3},
		{"GET", 256, 1, 9}, {"GET", 256, 4, 9}, {"GET", 256, 16, 5}, {"SET", 64, 1, 5}, {"SET", 64, 4, 4},
	} {
		add(hold{what: single(cell.op, cell.callers, cell.servers) + ", speed × gomemcache", table: "get", rows: []string{single(cell.op, cell.callers, cell.servers)},
			client: contender.Vaquero, figure: report.Speed, base: contender.Gomemcache, limit: atLeast(cell.aim)})
	}
	many := []string{single("GET", 64, 1)}
	add(hold{what: many[0] + ", speed × QuangTung97", table: "get", rows: many, client: contender.Vaquero, figure: report.Speed, base: contender.QuangTung, limit: atLeast(2.2)})
	add(hold{what: many[0] + ", CPU × gomemcache", table: "get", rows: many, client: contender.Vaquero, figure: report.CPU, base: contender.Gomemcache, limit: atMost(0.2)})
	add(hold{what: many[0] + ", p99 × gomemcache", table: "get", rows: many, client: contender.Vaquero, figure: report.P99, base: contender.Gomemcache, limit: atMost(0.25)})
	for _, cell := range []struct {
		callers int
		aim     float64
	}{{1, 2.5}, {16, 1}, {64, 2.5}} {
		row := single("GET", cell.callers, 1) + ", 2 hogs of 100µs"
		add(hold{what: row + ", speed × gomemcache", table: "busy", rows: []string{row}, client: contender.Vaquero, figure: report.Speed, base: contender.Gomemcache, limit: atLeast(cell.aim)})
	}

	for _, client := range []string{contender.Vaquero, contender.VaqueroTwo} {
		row := single("GET beside one of 1 MB", 9, 1)
		add(hold{what: row + ", p50 of " + client + " × gomemcache", table: "loud", rows: []string{row}, client: client, figure: report.P50, base: contender.Gomemcache, limit: atMost(2.5)})
	}

	alone := []string{"GET on sockets, 1 caller"}
	add(hold{what: "GET, 1 caller, p25 × prepared bytes", table: "ladder", rows: alone, client: contender.Vaquero, figure: report.P25, base: contender.FloorMeta, limit: atMost(1.03)})
	add(hold{what: "GET, 1 caller, CPU × prepared bytes", table: "ladder", rows: alone, client: contender.Vaquero, figure: report.CPU, base: contender.FloorMeta, limit: atMost(1.05)})
	add(hold{what: "GET, 1 caller, p25 × gomemcache", table: "get", rows: []string{single("GET", 1, 1), single("GET", 1, 4), single("GET", 1, 16)},
		client: contender.Vaquero, figure: report.P25, base: contender.Gomemcache, limit: atMost(1)})
	lone := "GET by ring.Default, 1 caller"
	for _, c := range []struct {
		name string
		aim  float64
	}{{counts.Hashes, 1}, {counts.Channels, 0}, {counts.Env, 0}, {counts.Wakes, 0}} {
		add(hold{what: lone + ", " + c.name, table: "counts", rows: []string{"for one operation"}, client: lone, figure: report.Extra(c.name), limit: atMost(c.aim)})
	}
	add(hold{what: lone + ", clock reads, those that time a yield or a wait not counted", table: "counts", rows: []string{"for one operation"},
		client: lone, figure: report.Extra(counts.Clock), less: []report.Figure{report.Extra(counts.Yields), report.Extra(counts.Polls)}, limit: atMost(1.05)})

	for _, cell := range []struct {
		op    string
		depth int
		way   string
		aim   float64
	}{
		{"GetMulti", 16, "one server", 1.10}, {"GetMulti", 64, "one server", 1.10}, {"SetMulti", 16, "one server", 1.28}, {"SetMulti", 64, "one server", 1.10},
		{"GetMulti", 16, "spread", 1.9}, {"GetMulti", 64, "spread", 1.6}, {"SetMulti", 16, "spread", 2.2}, {"SetMulti", 64, "spread", 1.2},
	} {
		add(hold{what: fmt.Sprintf("%s of %d, user CPU, %s × plain", cell.op, cell.depth, cell.way), table: "routing", rows: []string{pipelines(cell.op, cell.depth)},
			client: contender.Vaquero + "/" + cell.way, figure: report.UserCPU, base: "*/plain", limit: atMost(cell.aim)})
	}
	add(hold{what: "GetMulti of 16 and 64, CPU × gomemcache, the worse", table: "routing", rows: []string{pipelines("GetMulti", 16), pipelines("GetMulti", 64)},
		client: contender.Vaquero + "/plain", figure: report.CPU, base: contender.Gomemcache + "/*", limit: atMost(0.4)})

	for _, way := range micro.Ways {
		if way != micro.RouteTable {
			add(hold{what: "placing 100,000 keys by " + way + ", p25 × the bucketed table, worst of 4 rows", table: "cache",
				rows:   []string{"place keys, Zipf, caches of 100000", "place keys, uniform, caches of 100000", "place keys, Zipf, caches of 10000", "place keys, uniform, caches of 10000"},
				client: way, figure: report.P25, base: micro.RouteTable, limit: atLeast(1)})
		}
	}
	for _, way := range []string{micro.RouteSplit, micro.RouteHash, micro.RouteBoth} {
		add(hold{what: "whole operations by " + way + ", speed × the bucketed table (from 1.2 on it would be shipped)", table: "cache",
			rows:   []string{"9 whole GETs to a SET, Zipf, 1 caller, 4 servers", "9 whole GETs to a SET, Zipf, 64 callers, 4 servers"},
			client: way, figure: report.Speed, base: micro.RouteTable, limit: atMost(1.2)})
	}

	for _, m := range []struct {
		row string
		aim float64
	}{{"parse `VA 100 f0 O12 s100 kkey:123`", 16}, {"parse `VA 100 f0 O12`", 9}, {"parse a binary header", 5}} {
		add(hold{what: m.row + ", ns", table: "micro", rows: []string{m.row}, client: micro.Ours, figure: report.PerItem, limit: atMost(m.aim)})
	}
	add(hold{what: "a parser by bytes.Fields × ours, full header", table: "micro", rows: []string{"parse `VA 100 f0 O12 s100 kkey:123`"},
		client: "bytes.Fields", figure: report.P25, base: micro.Ours, limit: atLeast(8)})
	for _, n := range []int{10, 20, 40} {
		row := fmt.Sprintf("place a key of %d bytes on 16 servers, Default", n)
		add(hold{what: row + ", ns", table: "micro", rows: []string{row}, client: micro.Ours, figure: report.PerItem, limit: atMost(16)})
	}

	for _, keys := range []string{"the three others", "all four"} {
		for _, way := range []string{"refused", "frozen"} {
			row := "GET from " + keys + ", 64 callers"
			add(hold{what: row + ", one of four servers " + way + ", speed × three healthy ones", table: "down", rows: []string{row},
				client: contender.Vaquero + "/" + way, figure: report.Speed, base: "*/healthy", limit: atLeast(0.95)})
		}
	}
	for _, way := range []string{"fast", "next"} {
		row := "GET while all is well, 64 callers, 1 server"
		add(hold{what: row + ", failover " + way + ", speed × off", table: "down", rows: []string{row},
			client: contender.Vaquero + "/" + way, figure: report.Speed, base: "*/off", limit: atLeast(0.99)})
	}
	return list
}

// measured finds the worst of the rows that there are.
func (h *hold) measured(all Reports) (worst report.Spread, found bool) {
	r := all[h.table]
	if r == nil {
		return worst, false
	}
	for _, name := range h.rows {
		row := r.Row(name)
		if row == nil || row.Error != "" {
			continue
		}
		s, ok := h.of(row)
		if ok && (!found || h.limit.worse(s.Median, worst.Median)) {
			worst, found = s, true
		}
	}
	return worst, found
}

func (h *hold) of(row *report.Row) (report.Spread, bool) {
	if h.base != "" {
		return report.Ratio{Figure: h.figure, Base: h.base}.Over(row, h.client)
	}
	s, ok := row.Figure(h.figure, h.client)
	for _, figure := range h.less {
		less, _ := row.Figure(figure, h.client)
		s = report.Spread{Q1: s.Q1 - 2*less.Median, Median: s.Median - 2*less.Median, Q3: s.Q3 - 2*less.Median}
	}
	return s, ok
}

// verdict says whether a measurement meets the aim. Where the aim lies between the
// quartiles, half of the rounds or so say yes, and the verdict says that.
func (l limit) verdict(s report.Spread) string {
	clear := s.Q1 > l.aim || s.Q3 < l.aim || s.Q1 == s.Q3
	switch met := l.met(s.Median); {
	case met && clear:
		return "yes"
	case met:
		return "yes, within the spread"
	case clear:
		return "**no**"
	default:
		return "**no**, within the spread"
	}
}

// holds writes the section "What stands".
func (all Reports) holds(b *strings.Builder) {
	b.WriteString("## What stands\n\nAims, and what the tables below say. Computed from the rounds; an aim that lies between the quartiles is neither safely met nor safely missed.\n\n")
	b.WriteString("| | aim | measured | met |\n|---|---|---:|---|\n")
	var met, missed, absent int
	var missing []string
	for _, h := range allHolds() {
		s, ok := h.measured(all)
		if !ok {
			absent++
			if !slices.Contains(missing, h.table) {
				missing = append(missing, h.table)
			}
			fmt.Fprintf(b, "| %s | %s | – | not measured |\n", h.what, h.limit)
			continue
		}
		if h.limit.met(s.Median) {
			met++
		} else {
			missed++
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", h.what, h.limit, s, h.limit.verdict(s))
	}
	fmt.Fprintf(b, "\n%d of %d aims are met by the median, %d are missed", met, met+missed+absent, missed)
	if absent > 0 {
		fmt.Fprintf(b, ", %d were not measured (of the tables %s)", absent, strings.Join(missing, ", "))
	}
	b.WriteString(".\n\n")
}
