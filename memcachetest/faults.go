package memcachetest

// Faults: what goes wrong with replies, and with which of them. Server and Proxy
// share this file; what an Action does to the bytes of a reply is in mutate.go.

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Fault says which replies suffer, and what. The zero selection is every reply.
//
//	// The third mg of any connection is answered with half of its value.
//	srv.Inject(memcachetest.Fault{Command: "mg", After: 2, Times: 1, Do: memcachetest.CutValue()})
//
// A reply is all that one request gets. A quiet request that gets nothing is not
// counted.
type Fault struct {
	// Conn is the number of a connection, as in Request.Conn; 0 means all of them.
	Conn int
	// Command is the name of a command, as in Request.Command; empty means all.
	Command string
	// Except are commands that pass.
	Except []string
	// After is the number of matching replies that pass before the first one that
	// suffers.
	After int
	// Times is the number of replies that suffer; 0 means all from then on.
	Times int
	// Do is what happens.
	Do Action
}

// Action is what happens to a reply. Make one with the functions that return it.
type Action struct {
	kind  actionKind
	n     int
	every time.Duration
	line  string
}

type actionKind uint8

const (
	actDelay actionKind = iota
	actStall
	actDrip
	actCut
	actCutValue
	actReset
	actHalfClose
	actDrop
	actDuplicate
	actSwap
	actWrongOpaque
	actCorrupt
	actOversize
	actAnswer
	actNoMemory
)

// Delay holds the reply, and those behind it on the connection, for d.
func Delay(d time.Duration) Action { return Action{kind: actDelay, every: d} }

// Stall holds the reply, and those behind it on the connection, until the fault is
// removed.
func Stall() Action { return Action{kind: actStall} }

// Drip sends the reply n bytes at a time, with a pause between them.
func Drip(n int, every time.Duration) Action {
	return Action{kind: actDrip, n: max(n, 1), every: every}
}

// Cut closes the connection after the first n bytes of the reply.
func Cut(n int) Action { return Action{kind: actCut, n: n} }

// CutValue closes the connection in the middle of the reply's first value. Replies
// without a value pass.
func CutValue() Action { return Action{kind: actCutValue} }

// Reset closes the connection in place of the reply, by a TCP reset where there is
// TCP.
func Reset() Action { return Action{kind: actReset} }

// HalfClose ends the server's side of the connection behind the reply. Requests are
// still read, and get no answer.
func HalfClose() Action { return Action{kind: actHalfClose} }

// Drop loses the reply.
func Drop() Action { return Action{kind: actDrop} }

// Duplicate sends the reply twice.
func Duplicate() Action { return Action{kind: actDuplicate} }

// Swap sends the reply after the one that follows it on the connection.
func Swap() Action { return Action{kind: actSwap} }

// WrongOpaque changes the opaque of the reply. Replies without one pass.
func WrongOpaque() Action { return Action{kind: actWrongOpaque} }

// CorruptHeader makes the beginning of the reply unreadable.
func CorruptHeader() Action { return Action{kind: actCorrupt} }

// OversizeLength announces a value of about 2 GiB, and sends the one there is.
// Replies without a value pass.
func OversizeLength() Action { return Action{kind: actOversize} }

// Answer sends that line in place of the reply. The command has been carried out.
// In the binary protocol the line is the text of an internal error.
func Answer(line string) Action { return Action{kind: actAnswer, line: line} }

// OutOfMemory answers with SERVER_ERROR out of memory. A Server does not carry the
// command out then; behind a Proxy it has been.
func OutOfMemory() Action {
	return Action{kind: actNoMemory, line: "SERVER_ERROR out of memory storing object"}
}

// activeFault is an injected Fault.
type activeFault struct {
	Fault
	seen int           // matching replies so far; guarded by faultSet.mu
	gone chan struct{} // closed when it is removed
}

// faultSet holds the faults of one Server or Proxy.
type faultSet struct {
	count atomic.Int32 // len(list), to pass quickly when there are none

	mu   sync.Mutex
	list []*activeFault
}

func (fs *faultSet) inject(f Fault) (remove func()) {
	f.Except = slices.Clone(f.Except)
	a := &activeFault{Fault: f, gone: make(chan struct{})}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = append(fs.list, a)
	fs.count.Store(int32(len(fs.list)))
	return func() { fs.remove(a) }
}

func (fs *faultSet) remove(a *activeFault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	i := slices.Index(fs.list, a)
	if i < 0 {
		return
	}
	fs.list = slices.Delete(fs.list, i, i+1)
	fs.count.Store(int32(len(fs.list)))
	close(a.gone)
}

func (fs *faultSet) heal() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, a := range fs.list {
		close(a.gone)
	}
	fs.list = nil
	fs.count.Store(0)
}

// take counts a reply and returns the faults that it suffers: those that refuse the
// command before it is carried out, or the others.
func (fs *faultSet) take(conn int, command string, refusals bool) []*activeFault {
	if fs.count.Load() == 0 {
		return nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var hit []*activeFault
	for _, a := range fs.list {
		if (a.Do.kind == actNoMemory) != refusals ||
			a.Conn != 0 && a.Conn != conn || a.Command != "" && a.Command != command ||
			slices.Contains(a.Except, command) {
			continue
		}
		a.seen++
		if a.seen > a.After && (a.Times == 0 || a.seen <= a.After+a.Times) {
			hit = append(hit, a)
		}
	}
	return hit
}

// outlet is where replies go: a connection of a Server or of a Proxy.
type outlet interface {
	write(b []byte)                                  // behind what is written already
	flush() bool                                     // false when the connection is over
	wait(d time.Duration, gone <-chan struct{}) bool // negative d: until gone; false when over
	cut()                                            // flush, then close
	reset()
	halfClose()
	swapped() *[]byte // a reply that waits for the next one
}

// forever is the duration of a stall.
const forever = -1

// deliver sends one reply with the faults that it suffers.
func deliver(o outlet, faults []*activeFault, r []byte) {
	times := 1
	for _, f := range faults {
		switch f.Do.kind {
		case actDelay:
			if !o.flush() || !o.wait(f.Do.every, f.gone) {
				return
			}
		case actStall:
			if !o.flush() || !o.wait(forever, f.gone) {
				return
			}
		case actDrip:
			if !drip(o, f, r) {
				return
			}
			times = 0
		case actCut:
			o.write(r[:min(f.Do.n, len(r))])
			o.cut()
			return
		case actCutValue:
			if from, size, ok := valueOf(r); ok {
				o.write(r[:from+size/2])
				o.cut()
				return
			}
		case actReset:
			o.reset()
			return
		case actHalfClose:
			o.write(r)
			o.halfClose()
			return
		case actDrop:
			return
		case actDuplicate:
			times++
		case actSwap:
			held := o.swapped()
			if *held == nil {
				*held = slices.Clone(r)
				return
			}
		default:
			r = f.Do.mutate(r)
		}
	}
	for range times {
		o.write(r)
	}
	if held := o.swapped(); *held != nil {
		o.write(*held)
		*held = nil
	}
}

// drip sends a reply in small pieces. It reports false when the connection is over.
func drip(o outlet, f *activeFault, r []byte) bool {
	for piece := range slices.Chunk(r, f.Do.n) {
		o.write(piece)
		if !o.flush() || !o.wait(f.Do.every, f.gone) {
			return false
		}
	}
	return true
}
