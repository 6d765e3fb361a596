package report

// A report: the rows of a table with the conditions they were measured under.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/run"
)

// Report is a finished table.
type Report struct {
	Title      string      `json:"title"`
	Conditions []Condition `json:"conditions"`
	Skipped    []string    `json:"skipped,omitempty"` // what was left out, and why
	Rows       []*Row      `json:"rows"`

	// Ratios are shown in each row, and over all rows in a summary.
	Ratios []Ratio `json:"ratios"`

	// Floor is the contender whose time per item is taken off in each row, to
	// show what is a client's own. Empty shows nothing.
	Floor string `json:"floor,omitempty"`

	// Small is set where operations are a few nanoseconds long, and their number
	// in a second or in a process says nothing.
	Small bool `json:"small,omitempty"`

	// Events is set where rows have no operations that repeat, but figures of their own:
	// Slice.Extra.
	Events bool `json:"events,omitempty"`

	// PerItem is set where an operation is a pipeline, and what it uses is shown for
	// each of its items.
	PerItem bool `json:"per_item,omitempty"`
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

// Note adds what to the condition of that name, once.
func (r *Report) Note(name, what string) {
	for i := range r.Conditions {
		if c := &r.Conditions[i]; c.Name == name {
			if !slices.Contains(strings.Split(c.Value, ", "), what) {
				c.Value += ", " + what
			}
			return
		}
	}
	r.Add(name, "%s", what)
}

// Take removes the condition of that name and returns its value, "" if there is none.
func (r *Report) Take(name string) (value string) {
	r.Conditions = slices.DeleteFunc(r.Conditions, func(c Condition) bool {
		if c.Name == name {
			value = c.Value
		}
		return c.Name == name
	})
	return value
}

// Row returns the row of that name, or nil.
func (r *Report) Row(name string) *Row {
	if i := slices.IndexFunc(r.Rows, func(row *Row) bool { return row.Name == name }); i >= 0 {
		return r.Rows[i]
	}
	return nil
}

// Row is one kind of work.
type Row struct {
	Name    string      `json:"name"`
	Clients []string    `json:"clients"`
	Slices  []run.Slice `json:"slices"` // none if Error is set
	Error   string      `json:"error,omitempty"`
}

// Write writes all slices of all rounds as JSON.
func (r *Report) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Read reads what Write wrote.
func Read(from io.Reader) (*Report, error) {
	r := new(Report)
	if err := json.NewDecoder(from).Decode(r); err != nil {
		return nil, err
	}
	for _, ratio := range r.Ratios {
		if ratio.Figure.of() == nil {
			return nil, fmt.Errorf("no figure %q", ratio.Figure)
		}
	}
	return r, nil
}

// errOther means that two reports are not of one table.
var errOther = errors.New("these are runs of different tables")

// Merge adds the rounds of another run of the same table to r. Conditions that
// differ are kept side by side.
func (r *Report) Merge(other *Report) error {
	if r.Title != other.Title || len(r.Rows) != len(other.Rows) {
		return errOther
	}
	for i, row := range r.Rows {
		more := other.Rows[i]
		if row.Name != more.Name || !slices.Equal(row.Clients, more.Clients) {
			return errOther
		}
		if row.Error != "" || more.Error != "" {
			row.Error, row.Slices = row.Error+more.Error, nil
			continue
		}
		first := 0 // the rounds of the other run come after ours
		for _, s := range row.Slices {
			first = max(first, s.Round+1)
		}
		for _, s := range more.Slices {
			s.Round += first
			row.Slices = append(row.Slices, s)
		}
	}
	for i, c := range other.Conditions {
		if i < len(r.Conditions) && r.Conditions[i].Name == c.Name && r.Conditions[i].Value != c.Value {
			r.Conditions[i].Value += "; " + c.Value
		}
	}
	for _, s := range other.Skipped {
		if !slices.Contains(r.Skipped, s) {
			r.Skipped = append(r.Skipped, s)
		}
	}
	return nil
}
