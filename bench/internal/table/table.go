// Package table has the tables that vbench can measure: which rows each has, who
// takes part in them and what they are compared with.
package table

// What a table is, and what all of them have in common.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// Table is something that can be measured.
type Table struct {
	Name string
	Help string // one line

	// New returns the work of a table, with its flags defined in fs.
	New func(fs *flag.FlagSet) Work

	// Smallest are the flags of the shortest run that still does all there is.
	Smallest []string
}

// Work measures the rows of a table once its flags are read. What it adds to the
// report when it returns early, is still in there.
type Work func(ctx context.Context, s *Session) error

// Tables are all there are.
var Tables = []Table{
	{"get", "GET, SET and both: servers × callers", newGet,
		[]string{"-servers", "2", "-callers", "4", "-clients", strings.Join(contender.Names(), ",")}},
	{"busy", "the same beside goroutines that keep all processors busy", newBusy,
		[]string{"-callers", "2", "-ops", "get,set"}},
	{"loud", "small GETs of all callers but one, which gets a large value", newLoud,
		[]string{"-callers", "2"}},
	{"open", "operations due at a fixed rate, timed from when they were due", newOpen,
		[]string{"-callers", "4", "-rates", "2000"}},
	{"gc", "garbage collection in long slices", newGC,
		[]string{"-callers", "2", "-servers", "2"}},
	{"getmulti", "GetMulti: servers × keys", newGetMulti,
		[]string{"-servers", "2", "-keys", "50", "-values", "100,10240", "-hits", "100,0", "-clients", strings.Join(contender.Names(), ",")}},
	{"routing", "GetMulti and SetMulti: one server, spread, all keys on one of several", newRouting,
		[]string{"-depths", "16", "-callers", "2"}},
	{"cache", "caches in front of the ring, against its own table", newCache,
		[]string{"-limits", "1000", "-callers", "2"}},
	{"ladder", "one GET, rung by rung", newLadder,
		[]string{"-callers", "1,2"}},
	{"counts", "clock reads, locks, channel operations, hashes and system calls of an operation", newCounts, nil},
	{"tls", "GET and GetMulti over TLS and without", newTLS,
		[]string{"-callers", "2"}},
	{"down", "GET while one of four servers is down, and what it costs to be ready for that", newDown,
		[]string{"-callers", "2", "-timeout", "1s"}},
	{"outage", "how long a server's end and its return take to be noticed", newOutage,
		[]string{"-timeout", "20ms", "-watch", "200ms"}},
	{"memory", "GetMulti on connections in memory: servers × keys", newMemory,
		[]string{"-servers", "1,2", "-keys", "3,50"}},
	{"micro", "codec and ring alone", newMicro, nil},
}

// Session is one run of one table.
type Session struct {
	Report   *report.Report
	Progress io.Writer
	Live     bool // Progress is a terminal: each round is shown

	run.Options
}

// printf tells the one who waits how far it is.
func (s *Session) printf(format string, args ...any) { fmt.Fprintf(s.Progress, format, args...) }

// newLine goes back to the beginning of a line that shows rounds.
func (s *Session) newLine() {
	if s.Live {
		s.printf("\r\033[K")
	}
}

// skip notes what is left out, and says so at once.
func (s *Session) skip(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if !slices.Contains(s.Report.Skipped, why) {
		s.printf("skipped: %s\n", why)
		s.Report.Skipped = append(s.Report.Skipped, why)
	}
}

// shorter is the same session with slices divided by n.
func (s *Session) shorter(n int) *Session {
	divided := *s
	divided.Slice = max(1, s.Slice/time.Duration(n))
	return &divided
}

// finer is the same session with slices divided by n, and n times as many.
func (s *Session) finer(n int) *Session {
	divided := s.shorter(n)
	divided.Rounds *= n
	return divided
}

// measure runs a row and puts it in the report. An error of a contender ends the
// row alone; the error returned is that of ctx, or that a contender hangs.
func (s *Session) measure(ctx context.Context, row run.Row) error {
	result := &report.Row{Name: row.Name}
	for _, c := range row.Contenders {
		result.Clients = append(result.Clients, c.Name)
	}
	s.Report.Rows = append(s.Report.Rows, result)
	start := time.Now()
	taken, err := run.Run(ctx, row, s.Options, func(n int) {
		if s.Live {
			s.printf("\r%s: round %d/%d ", row.Name, n+1, s.Rounds)
		}
	})
	if err != nil {
		result.Error = err.Error()
		s.newLine()
		s.printf("%s: NO NUMBERS: %v\n", row.Name, err)
		if errors.Is(err, run.ErrHang) {
			return err
		}
		return context.Cause(ctx)
	}
	result.Slices = taken
	s.newLine()
	s.printf("%s: %.1f s%s\n", row.Name, time.Since(start).Seconds(), s.brief(result))
	return nil
}

// brief is the first ratio of each client.
func (s *Session) brief(row *report.Row) string {
	if len(s.Report.Ratios) == 0 {
		return ""
	}
	var parts []string
	for _, client := range row.Clients {
		if ratio := s.Report.Ratios[0]; client != ratio.Base {
			if spread, ok := ratio.Over(row, client); ok {
				parts = append(parts, fmt.Sprintf("%s %.2f", client, spread.Median))
			}
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("; %s: %s", s.Report.Ratios[0], strings.Join(parts, ", "))
}

// newCaller makes caller i of a contender; nil if it has none of the kind.
type newCaller = func(i int) (run.Caller, error)

// callers says which callers of a contender work in a row.
type callers func(*contender.Opened) newCaller

// contenders opens all kinds that can do the work, which what names.
func (s *Session) contenders(what string, work callers, kinds []contender.Kind, target contender.Target, set *workload.Set) []run.Contender {
	var list []run.Contender
	for _, kind := range kinds {
		if kind.Open == nil {
			s.skip("%s: takes part in GetMulti on servers alone", kind.Name)
			continue
		}
		opened, err := kind.Open(target, set)
		if err != nil {
			s.skip("%s: %v", kind.Name, err)
			continue
		}
		caller := work(opened)
		if caller == nil {
			s.skip("%s: has no %s", kind.Name, what)
			opened.Close()
			continue
		}
		list = append(list, run.Contender{Name: kind.Name, Caller: caller, Close: opened.Close})
	}
	return list
}

// Failed reports whether a row has no numbers.
func (s *Session) Failed() bool {
	return slices.ContainsFunc(s.Report.Rows, func(r *report.Row) bool { return r.Error != "" })
}

// ratios keeps those of list whose base takes part.
func ratios(kinds []contender.Kind, list ...report.Ratio) []report.Ratio {
	return slices.DeleteFunc(list, func(r report.Ratio) bool {
		return !slices.ContainsFunc(kinds, func(k contender.Kind) bool { return k.Name == r.Base })
	})
}

// ints is a flag that holds a list of positive numbers.
type ints []int

func (l *ints) String() string {
	parts := make([]string, len(*l))
	for i, n := range *l {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

func (l *ints) Set(s string) error {
	*l = nil
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a list of positive numbers", s)
		}
		*l = append(*l, n)
	}
	return nil
}

// percents is a flag that holds a list of numbers, 0 among them.
type percents []int

func (l *percents) String() string { return (*ints)(l).String() }

func (l *percents) Set(s string) error {
	*l = nil
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 100 {
			return fmt.Errorf("%q is not a list of percentages", s)
		}
		*l = append(*l, n)
	}
	return nil
}

// words is a flag that holds a list of names.
type words []string

func (l *words) String() string { return strings.Join(*l, ",") }

func (l *words) Set(s string) error {
	*l = strings.Split(s, ",")
	return nil
}

// clientsHelp explains the flag that chooses contenders.
func clientsHelp() string { return "who takes part, of " + strings.Join(contender.Names(), ", ") }

// count returns n things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
