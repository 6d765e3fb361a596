package run

// What this process has used so far: processor time, memory, system calls.

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// usage is a reading of the counters of this process.
type usage struct {
	user, system  time.Duration
	allocs, bytes int64
	reads, writes int64 // -1: not counted here
	switches      int64 // likewise
	goroutines    int64 // likewise
	gc            time.Duration
}

// memory reads the allocation counters, which stops the world for a moment.
func (u *usage) memory() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.allocs, u.bytes = int64(m.Mallocs), int64(m.TotalAlloc)
}

// The metrics of the runtime that are read. Idle marking is left out of the
// collector's time: it uses what nobody wants.
const goroutinesMetric = "/sched/goroutines-created:goroutines" // since Go 1.26

var gcMetrics = []string{
	"/cpu/classes/gc/mark/assist:cpu-seconds",
	"/cpu/classes/gc/mark/dedicated:cpu-seconds",
	"/cpu/classes/gc/pause:cpu-seconds",
}

// runtime reads the counters of the scheduler and the collector. It allocates, so
// it comes before the first memory and after the last.
func (u *usage) runtime() {
	samples := []metrics.Sample{{Name: goroutinesMetric}}
	for _, name := range gcMetrics {
		samples = append(samples, metrics.Sample{Name: name})
	}
	metrics.Read(samples)
	u.goroutines, u.gc = -1, 0
	if v := samples[0].Value; v.Kind() == metrics.KindUint64 {
		u.goroutines = int64(v.Uint64())
	}
	for _, s := range samples[1:] {
		if s.Value.Kind() == metrics.KindFloat64 {
			u.gc += time.Duration(s.Value.Float64() * float64(time.Second))
		}
	}
}

// put writes what was used between start and end into s.
func (s *Slice) put(start, end *usage) {
	s.User, s.System = end.user-start.user, end.system-start.system
	s.Allocs, s.AllocBytes = end.allocs-start.allocs, end.bytes-start.bytes
	s.GC = end.gc - start.gc
	s.Switches, s.Goroutines = -1, -1
	if start.switches >= 0 && end.switches >= 0 {
		s.Switches = end.switches - start.switches
	}
	if start.goroutines >= 0 && end.goroutines >= 0 {
		s.Goroutines = end.goroutines - start.goroutines
	}
	s.Reads, s.Writes = -1, -1
	if start.reads >= 0 && end.reads >= 0 {
		s.Reads, s.Writes = end.reads-start.reads-ownReads, end.writes-start.writes
	}
}
