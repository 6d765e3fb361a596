package report

// A report as Markdown.

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// Markdown writes the report: conditions, a summary of each ratio over all rows,
// and one table for each row.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	r.conditions(&b)
	if len(r.Rows) > 1 {
		r.ratios(&b)
	}
	r.rows(&b)
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// rows writes one table for each row.
func (r *Report) rows(b *strings.Builder) {
	for _, row := range r.Rows {
		fmt.Fprintf(b, "\n### %s\n\n", row.Name)
		if row.Error != "" {
			fmt.Fprintf(b, "No numbers: %s\n", row.Error)
			continue
		}
		r.row(b, row)
	}
}

// Brief writes conditions and summaries alone, and with the ratios the time and
// the allocations that they are made of.
func (r *Report) Brief(w io.Writer) error {
	var b strings.Builder
	r.conditions(&b)
	if r.Events {
		r.rows(&b)
		b.WriteByte('\n')
		_, err := io.WriteString(w, b.String())
		return err
	}
	r.ratios(&b)
	time := median("ns per item", (*run.Slice).PerItem)
	if !r.Small {
		time = median("p25 µs", p25Micros)
	}
	for _, c := range []column{time, allocsColumn} {
		r.summary(&b, c.name, "", func(row *Row, client string) string {
			if own := run.Of(row.Slices, client); len(own) > 0 {
				return c.cell(client, own)
			}
			return "–"
		})
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) conditions(b *strings.Builder) {
	fmt.Fprintf(b, "## %s\n\n", r.Title)
	for _, c := range r.Conditions {
		fmt.Fprintf(b, "- %s: %s\n", c.Name, c.Value)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(b, "- skipped: %s\n", s)
	}
}

func (r *Report) ratios(b *strings.Builder) {
	for _, ratio := range r.Ratios {
		r.summary(b, ratio.String(), ratio.Base, func(row *Row, client string) string {
			return orDash(ratio.Over(row, client))
		})
	}
}

// summary writes one figure for all rows and clients but one.
func (r *Report) summary(b *strings.Builder, figure, without string, cell func(row *Row, client string) string) {
	var clients []string
	for _, row := range r.Rows {
		for _, c := range row.Clients {
			if c != without && !slices.Contains(clients, c) {
				clients = append(clients, c)
			}
		}
	}
	fmt.Fprintf(b, "\n### All rows: %s\n\n", figure)
	heading(b, append([]string{"row"}, clients...))
	for _, row := range r.Rows {
		cells := []string{row.Name}
		for _, client := range clients {
			cells = append(cells, cell(row, client))
		}
		line(b, cells)
	}
}

// column is one column of a row's table.
type column struct {
	name string
	cell func(client string, own []run.Slice) string
}

// row writes one line for each client.
func (r *Report) row(b *strings.Builder, row *Row) {
	columns := r.columns(row)
	header := []string{"client"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	heading(b, header)
	for _, client := range row.Clients {
		own := run.Of(row.Slices, client)
		cells := []string{client}
		for _, c := range columns {
			cells = append(cells, c.cell(client, own))
		}
		line(b, cells)
	}
}

func (r *Report) columns(row *Row) []column {
	var columns []column
	switch {
	case r.Events:
		return extras(row)
	case r.Small:
		columns = extras(row)
	default:
		columns = r.figuresOf(row)
	}
	if row.Slices[0].Items > 1 {
		columns = append(columns, median("ns per item", (*run.Slice).PerItem))
		if slices.Contains(row.Clients, r.Floor) {
			columns = append(columns, column{"… above " + r.Floor, func(client string, _ []run.Slice) string {
				return orDash(condense(row.compare(client, r.Floor, func(own, base *run.Slice) float64 {
					return own.PerItem() - base.PerItem()
				})))
			}})
		}
	}
	if r.Small {
		columns = append(columns, allocsColumn)
	}
	for _, ratio := range r.Ratios {
		columns = append(columns, column{ratio.String(), func(client string, _ []run.Slice) string {
			return orDash(ratio.Over(row, client))
		}})
	}
	return columns
}

// figuresOf are the columns that stand for themselves: medians over the rounds. What a
// contender in another language does not count is a dash.
func (r *Report) figuresOf(row *Row) []column {
	per, unit := func(s *run.Slice) float64 { return 1 }, ""
	if r.PerItem {
		per, unit = func(s *run.Slice) float64 { return float64(s.Items) }, " an item"
	}
	count := func(name string, of func(*run.Slice) int64) column {
		return median(name, func(s *run.Slice) float64 {
			if of(s) < 0 {
				return math.NaN()
			}
			return s.PerOp(of(s)) / per(s)
		})
	}
	has := func(f func(*run.Slice) bool) bool {
		return slices.ContainsFunc(row.Slices, func(s run.Slice) bool { return f(&s) })
	}
	columns := []column{
		median("op/s", (*run.Slice).Speed),
		median("p25 µs", p25Micros),
		median("p50 µs", func(s *run.Slice) float64 { return micros(float64(s.P50)) }),
		median("p99 µs", func(s *run.Slice) float64 { return micros(float64(s.P99)) }),
	}
	if has(func(s *run.Slice) bool { return s.Tail != nil }) {
		columns = append(columns[1:], // all do what is due
			median("p99.9 µs", func(s *run.Slice) float64 { return micros(tail(s, 0.999)) }),
			median("longest µs", func(s *run.Slice) float64 { return micros(tail(s, 1)) }),
			column{"not begun", func(_ string, own []run.Slice) string {
				return digits(spread(numbers(own, func(s *run.Slice) float64 { return float64(s.Missed) })).Median)
			}})
	}
	columns = append(columns,
		count("allocs"+unit, func(s *run.Slice) int64 { return s.Allocs }),
		count("B"+unit, func(s *run.Slice) int64 { return s.AllocBytes }))
	if has(func(s *run.Slice) bool { return s.HogUnits > 0 }) { // then the processor time is theirs
		columns = append(columns, median("hog units/ms", func(s *run.Slice) float64 { return s.HogSpeed() / 1e3 }))
	} else {
		columns = append(columns, cpuColumn(unit, per))
		columns = append(columns, median("GC %", func(s *run.Slice) float64 {
			if s.Goroutines < 0 {
				return math.NaN()
			}
			return 100 * s.GCShare()
		}))
	}
	if has(func(s *run.Slice) bool { return s.Traffic != nil && s.Reads >= 0 }) {
		columns = append(columns,
			count("reads"+unit, func(s *run.Slice) int64 { return s.Reads }),
			count("writes"+unit, func(s *run.Slice) int64 { return s.Writes }),
			count("switches"+unit, func(s *run.Slice) int64 { return s.Switches }),
			median("goroutines", func(s *run.Slice) float64 {
				if s.Goroutines < 0 {
					return math.NaN()
				}
				return float64(s.Goroutines)
			}))
	}
	if has(func(s *run.Slice) bool { return s.Traffic != nil }) {
		moved := func(of func(*run.Traffic) int64) func(*run.Slice) int64 {
			return func(s *run.Slice) int64 {
				if s.Traffic == nil {
					return -1
				}
				return of(s.Traffic)
			}
		}
		columns = append(columns,
			count("B to servers"+unit, moved(func(t *run.Traffic) int64 { return t.Received })),
			count("B back"+unit, moved(func(t *run.Traffic) int64 { return t.Sent })),
			count("server yields"+unit, moved(func(t *run.Traffic) int64 { return t.Yields })))
	}
	return append(columns, extras(row)...)
}

// extras are the figures that this kind of row alone has.
func extras(row *Row) []column {
	names := map[string]bool{}
	for _, s := range row.Slices {
		for name := range s.Extra {
			names[name] = true
		}
	}
	var columns []column
	for _, name := range slices.Sorted(maps.Keys(names)) {
		columns = append(columns, column{name, func(_ string, own []run.Slice) string {
			return condensed(numbers(own, func(s *run.Slice) float64 {
				if x, ok := s.Extra[name]; ok {
					return x
				}
				return math.NaN()
			}), Spread.String)
		}})
	}
	return columns
}

// allocsColumn counts for an operation, in small ones for thousands of items.
var allocsColumn = median("allocs", func(s *run.Slice) float64 {
	if s.Allocs < 0 {
		return math.NaN()
	}
	return s.PerOp(s.Allocs)
})

func p25Micros(s *run.Slice) float64 { return micros(float64(s.P25)) }

func cpuColumn(unit string, per func(*run.Slice) float64) column {
	return column{"CPU µs" + unit + " (user + sys)", func(_ string, own []run.Slice) string {
		return fmt.Sprintf("%s (%s + %s)",
			middle(own, func(s *run.Slice) float64 { return micros(s.CPU()) / per(s) }),
			middle(own, func(s *run.Slice) float64 { return micros(s.UserCPU()) / per(s) }),
			middle(own, func(s *run.Slice) float64 { return micros(s.PerOp(int64(s.System))) / per(s) }))
	}}
}

func median(name string, of func(*run.Slice) float64) column {
	return column{name, func(_ string, own []run.Slice) string { return middle(own, of) }}
}

func middle(own []run.Slice, of func(*run.Slice) float64) string {
	return condensed(numbers(own, of), func(s Spread) string { return digits(s.Median) })
}

// numbers leaves out what is not a number.
func numbers(own []run.Slice, of func(*run.Slice) float64) []float64 {
	var list []float64
	for i := range own {
		if x := of(&own[i]); !math.IsNaN(x) && !math.IsInf(x, 0) {
			list = append(list, x)
		}
	}
	return list
}

// condensed shows a spread, or a dash if there are no numbers.
func condensed(list []float64, show func(Spread) string) string {
	if len(list) == 0 {
		return "–"
	}
	return show(spread(list))
}

// micros turns nanoseconds into microseconds.
func micros(ns float64) float64 { return ns / 1e3 }

func orDash(s Spread, ok bool) string {
	if !ok {
		return "–"
	}
	return s.String()
}

func heading(b *strings.Builder, cells []string) {
	line(b, cells)
	b.WriteString("|---|" + strings.Repeat("---:|", len(cells)-1) + "\n")
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
