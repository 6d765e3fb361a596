package run

// What one contender did in one slice.

import "time"

// Slice is the measurement of one turn. Times are in nanoseconds; what is per
// operation is left to the reader to divide.
type Slice struct {
	Client string `json:"client"`
	Round  int    `json:"round"`
	Turn   int    `json:"turn"` // place in the order of its round

	Ops     int64         `json:"ops"`
	Items   int           `json:"items"`      // that each operation dealt with
	Elapsed time.Duration `json:"elapsed_ns"` // from the common start to the last check

	// Of single operations, the check of the result not counted.
	P25 time.Duration `json:"p25_ns"`
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`

	// Tail are the TailQuantiles in a row with a Rate, each time counted from when
	// the operation was due.
	Tail []time.Duration `json:"tail_ns,omitempty"`

	// Missed is how many operations of such a row were due in the slice and not
	// begun when it had taken twice its length.
	Missed int64 `json:"missed,omitempty"`

	// Of this process, hogs and checks included. The kernel samples the split
	// between the two; their sum is exact.
	User   time.Duration `json:"user_ns"`
	System time.Duration `json:"system_ns"`

	Allocs     int64 `json:"allocs"`
	AllocBytes int64 `json:"alloc_bytes"`

	// Read and write system calls of this process; -1 where the system does not
	// count them.
	Reads  int64 `json:"reads"`
	Writes int64 `json:"writes"`

	// Times that a thread of this process gave up or lost its processor, and
	// goroutines that it started; -1 where they are not counted.
	Switches   int64 `json:"switches"`
	Goroutines int64 `json:"goroutines"`

	// GC is the processor time of the garbage collections that ended in the slice.
	GC time.Duration `json:"gc_ns"`

	Traffic *Traffic `json:"traffic,omitempty"`

	// Extra are figures that only this kind of row has, by name with unit.
	Extra map[string]float64 `json:"extra,omitempty"`

	HogUnits int64 `json:"hog_units,omitempty"` // pieces of work that the hogs finished
}

// Speed is operations per second.
func (s *Slice) Speed() float64 { return float64(s.Ops) / s.Elapsed.Seconds() }

// CPU is the processor time of an operation in nanoseconds, user and system.
func (s *Slice) CPU() float64 { return s.PerOp(int64(s.User + s.System)) }

// UserCPU is the processor time of an operation outside the kernel, in nanoseconds.
func (s *Slice) UserCPU() float64 { return s.PerOp(int64(s.User)) }

// GCShare is the part of the processor time that garbage collection took.
func (s *Slice) GCShare() float64 { return float64(s.GC) / float64(s.User+s.System) }

// PerItem is the lower quartile of an operation's time for each of its items, in
// nanoseconds.
func (s *Slice) PerItem() float64 { return float64(s.P25) / float64(s.Items) }

// HogSpeed is how many pieces of work the hogs finished in a second.
func (s *Slice) HogSpeed() float64 { return float64(s.HogUnits) / s.Elapsed.Seconds() }

// PerOp divides n by the number of operations.
func (s *Slice) PerOp(n int64) float64 { return float64(n) / float64(s.Ops) }
