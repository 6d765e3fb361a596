package link

// This file decides who does what on one shared connection: which caller
// flushes the write buffer, which one reads, who is next, and what remains to
// be done when one gives up. It performs no I/O, reads no clock and takes no
// lock; a connection calls it with its own lock held, and turns_test.go walks
// it through every interleaving of a few calls.
//
// Calls stand in a FIFO in wire order, from the moment their request is
// appended to the moment their reply is complete:
//
//	request bytes   0 ........ written ........ appended
//	FIFO            first ─▶ … ─▶ unsent ─▶ … ─▶ last
//	                replies owed  │ not wholly written
//
// What always holds:
//   - at most one flusher and one reader;
//   - bytes that are not written have a flusher;
//   - a parked call has a reader beside it, or has been given that role itself;
//   - a turn leaves the FIFO once: answered, or failed with the connection.

// turnState says where a turn's caller is. Only the machine sets it.
type turnState uint8

const (
	fresh    turnState = iota // not on a connection
	away                      // in the FIFO; the caller writes, or waits elsewhere
	parked                    // in the FIFO; the caller sleeps until it is woken
	reading                   // in the FIFO; the caller reads for everybody
	gone                      // in the FIFO; the caller gave up, the reply is for nobody
	answered                  // out of the FIFO; the reply is complete
	failed                    // out of the FIFO; the connection closed first
)

// turn is one call's place on one connection.
type turn struct {
	next  *turn  // the call behind it, in wire order
	woken *turn  // the one behind it in a list of calls to be woken
	end   uint64 // offset in the connection's requests behind its last byte
	state turnState
	many  bool  // several requests: replies may come while it is being written
	call  *call // what hangs on this turn; the machine never looks at it
}

// duty is what a caller has to do next.
type duty uint8

const (
	dutyNone  duty = iota // the call has ended: answered or failed
	dutyFlush             // write what is appended
	dutyRead              // read, and hand out replies
	dutyPark              // sleep until woken, then ask again
	dutySpare             // a goroutine without a call must take the role over
	dutyClose             // nobody is left who could: close the connection
)

// turns is the state of one connection's roles.
type turns struct {
	first, last *turn // calls without a complete reply
	unsent      *turn // the first of them that is not wholly written

	appended, written uint64 // request bytes so far

	flusher, reader *turn // who holds the role; &spare for a helper goroutine
	blocked         bool  // the flusher is inside a write that may block
	spare           turn  // stands for a helper in flusher and reader
	closed          bool
}

// enqueue puts t behind all others with a request of size bytes. It reports
// whether t's caller has become the flusher.
func (s *turns) enqueue(t *turn, size int) (flush bool) {
	s.appended += uint64(size)
	t.next, t.end, t.state = nil, s.appended, away
	if s.last == nil {
		s.first = t
	} else {
		s.last.next = t
	}
	s.last = t
	if s.unsent == nil {
		s.unsent = t
	}
	if s.flusher != nil {
		return false
	}
	s.flusher = t
	return true
}

// lone reports whether one single request is all that waits: its reply
// cannot come before it is wholly written, so writing it needs no reader.
func (s *turns) lone() bool {
	return s.first != nil && s.first == s.last && !s.first.many
}

// block notes that the flusher's next write may not return before somebody
// reads. It reports whether a helper has to start reading, because no caller
// does; the helper then holds the role.
func (s *turns) block() (spare bool) {
	if s.closed {
		return false
	}
	s.blocked = true
	if s.reader != nil {
		return false
	}
	s.reader = &s.spare
	return true
}

// lend passes the flusher's role from t to a helper, unless t has it no more.
func (s *turns) lend(t *turn) bool {
	if s.closed || s.flusher != t {
		return false
	}
	s.flusher = &s.spare
	return true
}

// wrote notes n more bytes on the wire, and says what the flusher me does
// next: flush on, or (dutyNone) nothing, because all is written or because
// the turn wake has been made flusher and must be woken.
func (s *turns) wrote(me *turn, n int) (next duty, wake *turn) {
	s.blocked = false
	if s.closed {
		return dutyNone, nil
	}
	s.written += uint64(n)
	for s.unsent != nil && s.unsent.end <= s.written {
		s.unsent = s.unsent.next
	}
	if s.written == s.appended {
		s.flusher = nil
		return dutyNone, nil
	}
	if me != &s.spare && me.end > s.written && me.state != answered {
		return dutyFlush, nil
	}
	if wake = s.parkedFrom(s.unsent); wake != nil {
		wake.state = away
		s.flusher = wake
		return dutyNone, wake
	}
	return dutyFlush, nil
}

// quitFlush is wrote for a flusher that gives up with bytes left to write: the
// role passes to a parked call, or to a helper (dutySpare) when somebody else
// is still waiting for a reply; otherwise half a request may stand on the wire
// for nobody, and the connection has to close.
func (s *turns) quitFlush(me *turn, n int) (next duty, wake *turn) {
	next, wake = s.wrote(me, n)
	if next == dutyNone {
		return next, wake
	}
	if wake = s.parkedFrom(s.first); wake != nil {
		wake.state = away
		s.flusher = wake
		return dutyNone, wake
	}
	for t := s.first; t != nil; t = t.next {
		if t != me && t.state != gone {
			s.flusher = &s.spare
			return dutySpare, nil
		}
	}
	return dutyClose, nil
}

// wait says what the caller of t does while it has no reply: it asks when it
// begins to wait, and again each time it is woken.
func (s *turns) wait(t *turn) duty {
	switch {
	case s.flusher == t: // even with its reply complete: others' bytes depend on it
		return dutyFlush
	case t.state == answered || t.state == failed:
		return dutyNone
	case s.reader == nil:
		s.reader = t
		t.state = reading
		return dutyRead
	case s.reader == t:
		return dutyRead
	}
	t.state = parked
	return dutyPark
}

// answer takes the first call out of the FIFO: its reply is complete. It
// reports the turn, and whether its caller is parked and must be woken.
func (s *turns) answer() (t *turn, wake bool) {
	t = s.first
	s.first = t.next
	if s.first == nil {
		s.last = nil
	}
	if s.unsent == t { // refused before its body was sent
		s.unsent = t.next
	}
	wake = t.state == parked
	if t.state != gone {
		t.state = answered
	}
	return t, wake
}

// handOn ends the reader's role. The oldest parked call takes it over and must
// be woken; with none, a helper must (dutySpare) while a write is blocked.
func (s *turns) handOn() (next duty, wake *turn) {
	if s.closed {
		return dutyNone, nil
	}
	s.reader = nil
	if t := s.parkedFrom(s.first); t != nil {
		t.state = reading
		s.reader = t
		return dutyNone, t
	}
	if s.blocked {
		s.reader = &s.spare
		return dutySpare, nil
	}
	return dutyNone, nil
}

// abandoned reports whether nobody waits for any of the replies to come.
func (s *turns) abandoned() bool {
	for t := s.first; t != nil; t = t.next {
		if t.state != gone {
			return false
		}
	}
	return true
}

// leave takes the caller of t away before its reply: the reply will be for
// nobody. It reports false when t has ended already. A caller that holds a
// role gives it up first (quitFlush), or right after (handOn).
func (s *turns) leave(t *turn) bool {
	if t.state == answered || t.state == failed {
		return false
	}
	t.state = gone
	return true
}

// close fails every call in the FIFO and ends both roles. It returns the parked
// ones, to be woken. It leaves the links between them: the reader may be walking
// along the FIFO.
func (s *turns) close() (wake []*turn) {
	if s.closed {
		return nil
	}
	s.closed = true
	for t := s.first; t != nil; t = t.next {
		if t.state == parked {
			wake = append(wake, t)
		}
		if t.state != gone {
			t.state = failed
		}
	}
	s.first, s.last, s.unsent = nil, nil, nil
	s.flusher, s.reader, s.blocked = nil, nil, false
	return wake
}

// parkedFrom finds the first parked turn at or behind t.
func (s *turns) parkedFrom(t *turn) *turn {
	for t != nil && t.state != parked {
		t = t.next
	}
	return t
}
