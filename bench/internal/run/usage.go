package run

// What this process has used so far: processor time, memory, system calls.

import (
	"runtime"
	"time"
)

// usage is a reading of the counters of this process.
type usage struct {
	user, system  time.Duration
	allocs, bytes int64
	reads, writes int64 // -1: not counted here
}

// memory reads the allocation counters, which stops the world for a moment.
func (u *usage) memory() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.allocs, u.bytes = int64(m.Mallocs), int64(m.TotalAlloc)
}

// put writes what was used between start and end into s.
func (s *Slice) put(start, end *usage) {
	s.User, s.System = end.user-start.user, end.system-start.system
	s.Allocs, s.AllocBytes = end.allocs-start.allocs, end.bytes-start.bytes
	s.Reads, s.Writes = -1, -1
	if start.reads >= 0 && end.reads >= 0 {
		s.Reads, s.Writes = end.reads-start.reads-ownReads, end.writes-start.writes
	}
}
