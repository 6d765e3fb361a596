package report

// A report: the rows of a table with the conditions they were measured under.

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// Report is a finished table.
type Report struct {
	Title      string      `json:"title"`
	Conditions []Condition `json:"conditions"`
	Rows       []*Row      `json:"rows"`
	Skipped    []string    `json:"skipped,omitempty"` // what was left out, and why

	// Ratios are shown in each row, and over all rows in a summary.
	Ratios []Ratio `json:"-"`
}

// Condition is something that the numbers depend on.
type Condition struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Add adds a condition.
func (r *Report) Add(name, format string, args ...any) {
	r.Conditions = append(r.Conditions, Condition{name, fmt.Sprintf(format, args...)})
}

// Row is one kind of work.
type Row struct {
	Name    string      `json:"name"`
	Clients []string    `json:"clients"`
	Slices  []run.Slice `json:"slices"` // none if Error is set
	Error   string      `json:"error,omitempty"`
}

// JSON writes all slices of all rounds.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}
