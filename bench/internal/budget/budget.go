// Package budget says where the processor time of a call goes, by what the functions
// in a profile are for.
package budget

// From samples to shares.

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// part is something that time goes to. The first part of parts that a sample belongs to
// has it.
type part struct {
	name string
	// leaf is asked of the function that ran, any of those that were under way, each
	// given with its import path.
	leaf, any []string
}

// The parts that are no share of a call.
const (
	ofHarness = "the measuring itself"
	ofOthers  = "other"
)

const root = "github.com/vaquero-cache/memcache"

var parts = []part{
	{name: ofHarness, any: []string{".Check", "bench/internal/workload.", "runtime/pprof.", "runtime.sigprof", "bench/internal/fleet."}},
	{name: "GC", any: []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart", "runtime.gcMarkDone", "runtime.gcWriteBarrier", "runtime.wbBufFlush", "runtime.deductSweepCredit"}},
	{name: "allocate", any: []string{"runtime.mallocgc", "runtime.newobject", "runtime.makeslice", "runtime.growslice"}},
	{name: "scheduler", any: []string{"runtime.mcall", "runtime.schedule", "runtime.mstart", "runtime.findRunnable", "runtime.gopark", "runtime.goready", "runtime.ready", "runtime.Gosched", "runtime.netpoll", "runtime.sysmon"}},
	{name: "write", any: []string{"syscall.write", "syscall.sendto", "syscall.Write", "internal/poll.(*FD).Write", "internal/poll.(*FD).RawWrite", "internal/poll.writev"}},
	{name: "read", any: []string{"syscall.read", "syscall.recvfrom", "syscall.Read", "internal/poll.(*FD).Read", "internal/poll.(*FD).RawRead"}},
	{name: "hash", any: []string{"cespare/xxhash", "hash/crc32.", "zeebo/xxh3"}},
	{name: "copy", leaf: []string{"runtime.memmove", "runtime.memclr"}},
	{name: "map", any: []string{"internal/runtime/maps.", "runtime.mapassign", "runtime.mapaccess", "runtime.mapiter"}},
	{name: "ring", any: []string{root + "/ring."}},
	{name: "encode", any: []string{root + "/meta.Append", root + "/meta.append", root + "/classic.Append", root + "/classic.append", root + "/binary.Append", root + "/internal/link.(*conn).append", "strconv.Append"}},
	{name: "parse", any: []string{root + "/meta.", root + "/classic.", root + "/binary."}},
	{name: "link", any: []string{root + "/internal/link."}},
	{name: "client", any: []string{root + "."}},
}

// Share is what one part took.
type Share struct {
	Name string
	Time time.Duration
}

// Of divides the processor time of a profile among the parts; the largest first.
func Of(p *profile.Profile) ([]Share, error) {
	index := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if index < 0 {
		return nil, fmt.Errorf("not a processor profile")
	}
	times := map[string]time.Duration{}
	for _, s := range p.Sample {
		times[partOf(stack(s))] += time.Duration(s.Value[index])
	}
	var shares []Share
	for name, t := range times {
		shares = append(shares, Share{name, t})
	}
	slices.SortFunc(shares, func(a, b Share) int {
		if a.Time != b.Time {
			return int(b.Time - a.Time)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return shares, nil
}

// stack are the functions of a sample, the one that ran first.
func stack(s *profile.Sample) (names []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}

func partOf(stack []string) string {
	has := func(stack, wanted []string) bool {
		return slices.ContainsFunc(stack, func(f string) bool {
			return slices.ContainsFunc(wanted, func(w string) bool { return strings.Contains(f, w) })
		})
	}
	for _, p := range parts {
		if has(stack, p.any) || has(stack[:min(1, len(stack))], p.leaf) {
			return p.name
		}
	}
	return ofOthers
}

// Markdown writes a table of the shares of calls that took the time of the profile.
func Markdown(w io.Writer, title string, shares []Share, calls int64) error {
	var total time.Duration
	for _, s := range shares {
		if s.Name != ofHarness {
			total += s.Time
		}
	}
	if total == 0 || calls == 0 {
		return fmt.Errorf("nothing was sampled in %d calls", calls)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Processor time of %s\n\n", title)
	fmt.Fprintf(&b, "From a profile of %d calls by one caller; %.1f µs of processor time a call, system calls among it. What checks the results is left out.\n\n", calls, perCall(total, calls))
	b.WriteString("| part | share | µs a call |\n|---|---:|---:|\n")
	for _, s := range shares {
		if s.Name != ofHarness {
			fmt.Fprintf(&b, "| %s | %.1f %% | %.2f |\n", s.Name, 100*float64(s.Time)/float64(total), perCall(s.Time, calls))
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func perCall(t time.Duration, calls int64) float64 { return float64(t) / 1e3 / float64(calls) }
