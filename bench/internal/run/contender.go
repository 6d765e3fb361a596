// Package run lets contenders take turns at one piece of work and measures each
// turn.
//
// A row of a table is one kind of work, such as "GET, 64 callers, 4 servers". Its
// contenders (clients, and floors that show what the machine allows) work one
// after the other in short slices, in an order that is rotated each round, so that
// whatever else the machine does falls on all of them alike. Ratios are formed
// within a round and only then condensed.
package run

// Who takes turns, and what they do.

import "time"

// Contender is one of those that take turns in a row.
type Contender struct {
	Name string

	// Caller returns the state of caller i. It is called once for each caller
	// and row, before the first slice.
	Caller func(i int) (Caller, error)

	// Measure is set in place of Caller for a program in another language: it works
	// for the length of a slice and measures itself, and checks what it gets.
	Measure func(length time.Duration) (Slice, error)

	// Close ends all that the contender has open. nil means that there is nothing.
	Close func()
}

// Caller is what one goroutine of a contender does. It is used by one goroutine
// at a time, in every slice by a new one.
type Caller interface {
	// Call performs one operation. It alone is timed.
	Call() error

	// Check looks at what the last Call returned: all of it, each time. An error
	// from either ends the row, which then has no numbers.
	Check() error
}

// Slicer is a Caller that wants to know when a slice begins and ends.
type Slicer interface {
	// Begin is called before the first Call of a slice. The number is different
	// for every slice of the row.
	Begin(slice int)

	// End is called after the last Call of the slice, once its time is taken.
	End() error
}

// Teller is a Caller that has figures of its own.
type Teller interface {
	// Tell adds them to the slice, which is over, as Extra.
	Tell(*Slice)
}

// Row is one kind of work and those who compete at it.
type Row struct {
	Name       string
	Callers    int // goroutines that work at the same time
	Items      int // keys, lines or whatever one operation deals with; 0 means 1
	Contenders []Contender

	// Rate is how many operations of all callers together are due in a second. They
	// begin at random times, whether earlier ones have been answered or not, as long
	// as a caller is free; their time is counted from when they were due. 0 means that
	// each caller begins the next operation when its last has ended.
	Rate float64

	// Hogs is the number of goroutines that keep processors busy beside the
	// callers, HogWork the time that each works between two yields.
	Hogs    int
	HogWork time.Duration

	// Traffic returns what the servers have received and sent so far. nil means
	// that nothing is counted.
	Traffic func() (Traffic, error)
}

// Traffic counts what went through the servers.
type Traffic struct {
	Received int64 `json:"received"` // bytes from the clients
	Sent     int64 `json:"sent"`     // bytes to the clients
	Yields   int64 `json:"yields"`   // times a connection had used up its requests for one turn of the server's event loop
}

// Add returns the sum of two counts.
func (t Traffic) Add(u Traffic) Traffic {
	return Traffic{t.Received + u.Received, t.Sent + u.Sent, t.Yields + u.Yields}
}

// Sub returns what came to t since earlier.
func (t Traffic) Sub(earlier Traffic) Traffic {
	return Traffic{t.Received - earlier.Received, t.Sent - earlier.Sent, t.Yields - earlier.Yields}
}

// Options says how long and how often.
type Options struct {
	Rounds int           // 1 at least
	Slice  time.Duration // up to MaxSlice
}

// MaxSlice is the longest slice: longer ones would not fall on all alike.
const MaxSlice = 5 * time.Second
