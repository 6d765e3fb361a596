// Package paper makes REPORT.md of the rounds of all tables: what was aimed at and
// what was measured, plots, and the tables themselves.
package paper

// From a folder of raw rounds to a report.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/report"
)

// Reports are the reports of all tables by name.
type Reports map[string]*report.Report

// Read reads the files "table-1.json", "table-2.json", … of a folder. The rounds of
// one table count as those of one run. A table without a file is left out.
func Read(dir string, tables []string) (Reports, error) {
	all := Reports{}
	for _, name := range tables {
		files, err := filepath.Glob(filepath.Join(dir, name+"-*.json"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			continue
		}
		if all[name], err = ReadFiles(files); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no rounds in %s", dir)
	}
	return all, nil
}

// ReadFiles reads several runs of one table as one.
func ReadFiles(files []string) (all *report.Report, err error) {
	for _, name := range files {
		r, err := readFile(name)
		switch {
		case err != nil:
		case all == nil:
			all = r
		default:
			err = all.Merge(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

func readFile(name string) (*report.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.Read(f)
}

const preface = `# Report

Written by ` + "`make bench-report`" + ` from one run on real servers, what is lost among it. What the numbers mean is
in [README.md](README.md): ratios can be compared between machines, microseconds cannot. A figure is the median
over all rounds; its quartiles stand in brackets. A row with an error has no numbers.

`

// Write writes the report, and its plots into the folder plots, which the text links
// as link. budget is a section of its own and may be empty.
func (all Reports) Write(w io.Writer, tables []string, plots, link, budget string) error {
	var b strings.Builder
	b.WriteString(preface)
	all.conditions(&b, tables)
	all.holds(&b)
	if err := all.plots(&b, plots, link); err != nil {
		return err
	}
	b.WriteString(budget)
	b.WriteString("\n# The tables\n\n")
	for _, name := range tables {
		if r := all[name]; r != nil {
			if err := r.Brief(&b); err != nil {
				return err
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// conditions writes those that are the same for all tables once, and takes them out
// of the tables.
func (all Reports) conditions(b *strings.Builder, tables []string) {
	b.WriteString("## Conditions\n\n")
	for _, name := range []string{"machine", "Go", "GOGC", "modules", "servers", "other languages"} {
		var values []string
		for _, table := range tables {
			if r := all[table]; r != nil {
				value := r.Take(name)
				if value != "" && !slices.Contains(values, value) {
					values = append(values, value)
				}
			}
		}
		if len(values) > 0 {
			fmt.Fprintf(b, "- %s: %s\n", name, strings.Join(values, "; "))
		}
	}
	b.WriteByte('\n')
}
