package report

// A report as Markdown.

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// Markdown writes the report: conditions, one table for each row, and a summary
// of ratios over all rows.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", r.Title)
	for _, c := range r.Conditions {
		fmt.Fprintf(&b, "- %s: %s\n", c.Name, c.Value)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "- skipped: %s\n", s)
	}
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n### %s\n\n", row.Name)
		if row.Error != "" {
			fmt.Fprintf(&b, "No numbers: %s\n", row.Error)
			continue
		}
		r.row(&b, row)
	}
	if len(r.Rows) > 1 {
		for _, ratio := range r.Ratios {
			r.summary(&b, ratio)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// column is one column of a row's table.
type column struct {
	name string
	cell func(client string, own []run.Slice) string
}

// row writes one line for each client.
func (r *Report) row(b *strings.Builder, row *Row) {
	columns := figures(row)
	for _, ratio := range r.Ratios {
		columns = append(columns, column{ratio.String(), func(client string, _ []run.Slice) string {
			if s, ok := ratio.Over(row, client); ok {
				return s.String()
			}
			return "–"
		}})
	}
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

// figures are the columns that stand for themselves: medians over the rounds.
func figures(row *Row) []column {
	first := row.Slices[0]
	columns := []column{
		median("op/s", (*run.Slice).Speed),
		median("p25 µs", micros(P25.Of)),
		median("p50 µs", micros(P50.Of)),
		median("p99 µs", micros(P99.Of)),
		{"CPU µs (user + sys)", func(_ string, own []run.Slice) string {
			return fmt.Sprintf("%s (%s + %s)",
				middle(own, micros((*run.Slice).CPU)),
				middle(own, micros(func(s *run.Slice) float64 { return s.PerOp(int64(s.User)) })),
				middle(own, micros(func(s *run.Slice) float64 { return s.PerOp(int64(s.System)) })))
		}},
		median("allocs", func(s *run.Slice) float64 { return s.PerOp(s.Allocs) }),
		median("B", func(s *run.Slice) float64 { return s.PerOp(s.AllocBytes) }),
	}
	if first.Reads >= 0 {
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
	if first.HogUnits > 0 {
		columns = append(columns, median("hog units/ms", func(s *run.Slice) float64 {
			return float64(s.HogUnits) / (s.Elapsed.Seconds() * 1e3)
		}))
	}
	return columns
}

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

func micros(of func(*run.Slice) float64) func(*run.Slice) float64 {
	return func(s *run.Slice) float64 { return of(s) / 1e3 }
}

// summary writes one ratio for all rows and clients.
func (r *Report) summary(b *strings.Builder, ratio Ratio) {
	var clients []string
	for _, row := range r.Rows {
		for _, c := range row.Clients {
			if c != ratio.Base && !slices.Contains(clients, c) {
				clients = append(clients, c)
			}
		}
	}
	fmt.Fprintf(b, "\n### All rows: %s\n\n", ratio)
	heading(b, append([]string{"row"}, clients...))
	for _, row := range r.Rows {
		cells := []string{row.Name}
		for _, client := range clients {
			cell := "–"
			if s, ok := ratio.Over(row, client); ok {
				cell = s.String()
			}
			cells = append(cells, cell)
		}
		line(b, cells)
	}
}

func heading(b *strings.Builder, cells []string) {
	line(b, cells)
	b.WriteString("|---|" + strings.Repeat("---:|", len(cells)-1) + "\n")
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
