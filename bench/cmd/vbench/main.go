// Vbench measures memcached clients against each other and against what the
// machine allows.
//
//	go run ./cmd/vbench TABLE [flags]
//	go run ./cmd/vbench show [-brief] [-against OLD] FILE...
//	go run ./cmd/vbench report [flags] FOLDER
//	go run ./cmd/vbench profile [flags]
//
// It starts the memcached processes that it needs and ends them. Progress goes to
// standard error, a Markdown report to standard output, and with -json every
// slice of every round to a file. The exit status is 1 if a row has no numbers.
//
// Show makes one report of such files, which must be of one table: their rounds count
// as those of one run. Report makes the report of all tables from a folder with such
// files. With -against both show only what has changed since older rounds, and how
// sure that is. Profile shows where the processor time of a GetMulti goes.
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
	fmt.Fprintln(w, "usage: vbench TABLE [flags] (TABLE -h lists the flags), or vbench show, report or profile. Tables:")
	for _, t := range table.Tables {
		fmt.Fprintf(w, "  %-10s %s\n", t.Name, t.Help)
	}
}

func vbench(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	if len(args) > 0 {
		switch args[0] {
		case "show":
			return show(args[1:], out, progress)
		case "report":
			return writeReport(args[1:], out, progress)
		case "profile":
			return measureBudget(ctx, args[1:], out, progress)
		}
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
	against := fs.String("against", "", "file that -json of an older run has written: what has changed is shown, too")
	profile := fs.String("cpuprofile", "", "file for a processor profile of the whole run")
	smoke := fs.Bool("smoke", false, "the smallest run that does everything, to see that it works")
	work := t.New(fs)
	if err := fs.Parse(args[1:]); err != nil {
		return flag.ErrHelp // the flag package has said what is wrong
	}
	if *smoke {
		*rounds, *slice = 1, time.Millisecond
		if err := fs.Parse(t.Smallest); err != nil {
			return err
		}
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
	if *against != "" {
		if err := changes(s.Report, *against, out); err != nil {
			return err
		}
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
