package report

// A report as Markdown.

import (
	"fmt"
	"io"
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
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n### %s\n\n", row.Name)
		if row.Error != "" {
			fmt.Fprintf(&b, "No numbers: %s\n", row.Error)
			continue
		}
		r.row(&b, row)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// Brief writes conditions and summaries alone, and with the ratios the time and
// the allocations that they are made of.
func (r *Report) Brief(w io.Writer) error {
	var b strings.Builder
	r.conditions(&b)
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
	if !r.Small {
		columns = figuresOf(row)
	}
	if row.Slices[0].Items > 1 {
		columns = append(columns, median("ns per item", (*run.Slice).PerItem))
		if slices.Contains(row.Clients, r.Floor) {
			columns = append(columns, column{"… above " + r.Floor, func(client string, _ []run.Slice) string {
				return orDash(row.compare(client, r.Floor, func(own, base *run.Slice) float64 {
					return own.PerItem() - base.PerItem()
				}))
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

// figuresOf are the columns that stand for themselves: medians over the rounds.
func figuresOf(row *Row) []column {
	first := row.Slices[0]
	columns := []column{
		median("op/s", (*run.Slice).Speed),
		median("p25 µs", p25Micros),
		median("p50 µs", func(s *run.Slice) float64 { return micros(float64(s.P50)) }),
		median("p99 µs", func(s *run.Slice) float64 { return micros(float64(s.P99)) }),
		allocsColumn,
		median("B", func(s *run.Slice) float64 { return s.PerOp(s.AllocBytes) }),
	}
	if first.HogUnits > 0 { // then the processor time is theirs
		columns = append(columns, median("hog units/ms", func(s *run.Slice) float64 { return s.HogSpeed() / 1e3 }))
	} else {
		columns = append(columns, cpuColumn)
	}
	if first.Traffic != nil && first.Reads >= 0 {
		columns = append(columns,
			median("reads", func(s *run.Slice) float64 { return s.PerOp(s.Reads) }),
			median("writes", func(s *run.Slice) float64 { return s.PerOp(s.Writes) }))
	}
	if first.Traffic != nil {
		columns = append(columns,
			median("B to servers", func(s *run.Slice) float64 { return s.PerOp(s.Traffic.Received) }),
			median("B back", func(s *run.Slice) float64 { return s.PerOp(s.Traffic.Sent) }),
			median("server yields", func(s *run.Slice) float64 { return s.PerOp(s.Traffic.Yields) }))
	}
	return columns
}

// allocsColumn counts for an operation, in small ones for thousands of items.
var allocsColumn = median("allocs", func(s *run.Slice) float64 { return s.PerOp(s.Allocs) })

func p25Micros(s *run.Slice) float64 { return micros(float64(s.P25)) }

var cpuColumn = column{"CPU µs (user + sys)", func(_ string, own []run.Slice) string {
	return fmt.Sprintf("%s (%s + %s)",
		middle(own, func(s *run.Slice) float64 { return micros(s.CPU()) }),
		middle(own, func(s *run.Slice) float64 { return micros(s.PerOp(int64(s.User))) }),
		middle(own, func(s *run.Slice) float64 { return micros(s.PerOp(int64(s.System))) }))
}}

func median(name string, of func(*run.Slice) float64) column {
	return column{name, func(_ string, own []run.Slice) string { return middle(own, of) }}
}

func middle(own []run.Slice, of func(*run.Slice) float64) string {
	numbers := make([]float64, len(own))
	for i := range own {
		numbers[i] = of(&own[i])
	}
	return digits(spread(numbers).Median)
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
