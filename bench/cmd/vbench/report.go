package main

// vbench show and vbench report: from rounds that were kept to what people read.

import (
	"flag"
	"io"
	"os"

	"github.com/vaquero-cache/memcache/bench/internal/paper"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/table"
)

// show reports several runs of one table as one.
func show(args []string, out, progress io.Writer) error {
	fs := flag.NewFlagSet("vbench show", flag.ContinueOnError)
	fs.SetOutput(progress)
	brief := fs.Bool("brief", false, "only the summaries over all rows")
	against := fs.String("against", "", "older rounds of the same table: only what has changed is shown")
	if err := fs.Parse(args); err != nil || fs.NArg() == 0 {
		return flag.ErrHelp
	}
	all, err := paper.ReadFiles(fs.Args())
	if err != nil {
		return err
	}
	switch {
	case *against != "":
		return changes(all, *against, out)
	case *brief:
		return all.Brief(out)
	}
	return all.Markdown(out)
}

// changes compares r with the rounds in a file.
func changes(r *report.Report, file string, out io.Writer) error {
	old, err := paper.ReadFiles([]string{file})
	if err != nil {
		return err
	}
	return r.Against(out, file, old)
}

// writeReport makes the report of all tables whose rounds are in a folder.
func writeReport(args []string, out, progress io.Writer) error {
	fs := flag.NewFlagSet("vbench report", flag.ContinueOnError)
	fs.SetOutput(progress)
	plots := fs.String("plots", "plots", "folder for the plots")
	link := fs.String("link", "plots", "that folder as the report links it")
	budget := fs.String("budget", "", "file with what vbench profile has written")
	against := fs.String("against", "", "folder with older rounds: only what has changed is shown")
	if err := fs.Parse(args); err != nil || fs.NArg() != 1 {
		return flag.ErrHelp
	}
	var names []string
	for _, t := range table.Tables {
		names = append(names, t.Name)
	}
	all, err := paper.Read(fs.Arg(0), names)
	if err != nil {
		return err
	}
	if *against != "" {
		old, err := paper.Read(*against, names)
		if err != nil {
			return err
		}
		for _, name := range names {
			if all[name] != nil && old[name] != nil {
				if err := all[name].Against(out, *against, old[name]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var section []byte
	if *budget != "" {
		if section, err = os.ReadFile(*budget); err != nil {
			return err
		}
	}
	return all.Write(out, names, *plots, *link, string(section))
}
