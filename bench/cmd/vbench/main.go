// Vbench measures memcached clients against each other and against what the
// machine allows.
//
//	go run ./cmd/vbench TABLE [flags]
//	go run ./cmd/vbench show [-brief] FILE...
//
// It starts the memcached processes that it needs and ends them. Progress goes to
// standard error, a Markdown report to standard output, and with -json every
// slice of every round to a file. Show makes one report of such files, which must be
// of one table: their rounds count as those of one run. The exit status is 1 if a
// row has no numbers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/child"
	"github.com/vaquero-cache/memcache/bench/internal/delay"
	"github.com/vaquero-cache/memcache/bench/internal/echo"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/table"
)

// roles are the parts that run in processes of their own.
var roles = []child.Role{echo.Role, delay.Role}

func main() {
	child.Serve(roles...)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := vbench(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "vbench:", err)
		os.Exit(1)
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: vbench TABLE [flags] (TABLE -h lists the flags), or vbench show [-brief] FILE... Tables:")
	for _, t := range table.Tables {
		fmt.Fprintf(w, "  %-10s %s\n", t.Name, t.Help)
	}
}

func vbench(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	if len(args) > 1 && args[0] == "show" {
		return show(args[1:], out, progress)
	}
	var t *table.Table
	for i := range table.Tables {
		if len(args) > 0 && table.Tables[i].Name == args[0] {
			t = &table.Tables[i]
		}
	}
	if t == nil {
		usage(progress)
		return flag.ErrHelp
	}

	fs := flag.NewFlagSet("vbench "+t.Name, flag.ContinueOnError)
	fs.SetOutput(progress)
	rounds := fs.Int("rounds", 15, "rounds; in each every client has one turn")
	slice := fs.Duration("slice", 50*time.Millisecond, "length of a turn, best 8 to 150 ms")
	jsonFile := fs.String("json", "", "file for the slices of all rounds")
	profile := fs.String("cpuprofile", "", "file for a processor profile of the whole run")
	work := t.New(fs)
	if err := fs.Parse(args[1:]); err != nil {
		return flag.ErrHelp // the flag package has said what is wrong
	}
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("%q: there are no arguments but flags", fs.Arg(0))
	case *rounds < 1:
		return fmt.Errorf("%d rounds", *rounds)
	case *slice <= 0 || *slice > run.MaxSlice:
		return fmt.Errorf("a slice of %v: it must be above 0 and at most %v", *slice, run.MaxSlice)
	}

	s := &table.Session{
		Report:   &report.Report{Title: t.Help, Conditions: report.Machine()},
		Progress: progress,
		Live:     isTerminal(progress),
		Options:  run.Options{Rounds: *rounds, Slice: *slice},
	}
	s.Report.Add("command", "`go run ./cmd/vbench %s`", strings.Join(args, " "))
	s.Report.Add("rounds", "%d of %v for each client", *rounds, *slice)
	s.Report.Add("started", "%s", time.Now().UTC().Format(time.DateTime))
	s.Report.Add("modules", "%s", report.Modules())
	before := report.Load()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}

	failed := work(ctx, s)
	if errors.Is(failed, run.ErrHang) {
		pprof.Lookup("goroutine").WriteTo(progress, 1) // for whoever looks into it; an error has nowhere to go
	}
	s.Report.Add("load average", "%s before, %s after", before, report.Load())
	if err := s.Report.Markdown(out); err != nil {
		return err
	}
	if *jsonFile != "" {
		if err := writeFile(*jsonFile, s.Report.Write); err != nil {
			return err
		}
	}
	if failed == nil && s.Failed() {
		failed = errors.New("some rows have no numbers")
	}
	return failed
}

// show reports several runs of one table as one.
func show(args []string, out, progress io.Writer) error {
	fs := flag.NewFlagSet("vbench show", flag.ContinueOnError)
	fs.SetOutput(progress)
	brief := fs.Bool("brief", false, "only the summaries over all rows")
	if err := fs.Parse(args); err != nil || fs.NArg() == 0 {
		return flag.ErrHelp
	}
	var all *report.Report
	for _, name := range fs.Args() {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		r, err := report.Read(f)
		f.Close()
		if err == nil && all != nil {
			err = all.Merge(r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if all == nil {
			all = r
		}
	}
	if *brief {
		return all.Brief(out)
	}
	return all.Markdown(out)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// isTerminal reports whether w shows what is written to somebody.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
