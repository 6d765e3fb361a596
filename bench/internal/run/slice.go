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

	Traffic *Traffic `json:"traffic,omitempty"`

	HogUnits int64 `json:"hog_units,omitempty"` // pieces of work that the hogs finished
}

// Speed is operations per second.
func (s *Slice) Speed() float64 { return float64(s.Ops) / s.Elapsed.Seconds() }

// CPU is the processor time of an operation in nanoseconds, user and system.
func (s *Slice) CPU() float64 { return s.PerOp(int64(s.User + s.System)) }

// PerItem is the lower quartile of an operation's time for each of its items, in
// nanoseconds.
func (s *Slice) PerItem() float64 { return float64(s.P25) / float64(s.Items) }

// HogSpeed is how many pieces of work the hogs finished in a second.
func (s *Slice) HogSpeed() float64 { return float64(s.HogUnits) / s.Elapsed.Seconds() }

// PerOp divides n by the number of operations.
func (s *Slice) PerOp(n int64) float64 { return float64(n) / float64(s.Ops) }
