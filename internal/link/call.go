package link

import (
	"sync/atomic"
)

// call is one request under way, or a window of a batch: one entry in the FIFO
// of its connection.
//
// Until its turn has ended, the connection's reader writes to it without a
// lock. Its caller looks at the result only after the turn is answered; of a
// call that failed or was given up it may look at replies[:replied()] and
// nothing else, and leaves the record to the garbage collector.
type call struct {
	turn
	link *Link
	wake chan struct{} // one token each time the machine ends a park

	reqs    []Request // in wire order, or
	keys    []string  // a batch of gets, in wire order
	replies []Reply   // one for each of them

	oneReq   [1]Request // reqs and replies of a single operation
	oneReply [1]Reply

	start  int64  // clock when it was submitted
	size   int    // bytes of its requests
	heard  uint64 // conn.heard at that time
	opaque uint32 // of its first request
	lines  bool   // asked in a classic line on a meta connection
	hit    bool   // classic: the value is there, its END is not

	sayable int // see codec.append

	// Classic: values that came behind those of later keys, as from a proxy that
	// asks several servers. The caller merges them once k is answered.
	late      []lateReply
	lateOpen  bool         // the value being read is the last of them
	reordered atomic.Bool  // there are some, so a key without a value may yet have one
	exact     bool         // a batch that must not be
	untilEnd  bool         // a key without a value is a miss only when END has come
	refused   *ServerError // came in its place
	batch     bool         // its caller may have other servers to wait for first

	at   int          // complete replies; the reader's own count
	got  atomic.Int32 // what of at its caller may look at, once it has left
	gone atomic.Bool  // its caller has left: keep nothing
	kept int32        // got when its caller left

	// Where values go; see keep.go.
	arena     *Arena
	chunk     []byte
	chunkLeft int

	// Of the value being read; see body.go.
	body    bodyState
	value   []byte
	missing int // bytes of it still to come
	stats   int // bytes of the statistics that are read

	conn      *conn
	settled   func() // of a call that was given up; see leftLocked
	interrupt func() // bound to onCancel, made once for each record
	spent     bool   // interrupt may still run: not to be used again
}

// newCall returns a call to fill in. The records of a Link are its own: their
// channels must not pass between the bubbles of testing/synctest.
func (l *Link) newCall() *call {
	if k, ok := l.calls.Get().(*call); ok {
		return k
	}
	k := &call{link: l, wake: make(chan struct{}, 1)}
	k.turn.call = k
	k.interrupt = k.onCancel
	return k
}

// single makes k a call for one operation.
func (k *call) single(req *Request) {
	k.oneReq[0] = *req
	k.reqs, k.replies = k.oneReq[:], k.oneReply[:]
}

// recycle gives back a call that has been answered, or was never submitted.
func (k *call) recycle() {
	if k.spent {
		return
	}
	k.oneReq[0], k.oneReply[0] = Request{}, Reply{}
	k.reqs, k.keys, k.replies = nil, nil, nil
	k.value, k.conn = nil, nil
	k.late, k.lateOpen = nil, false
	k.untilEnd, k.refused = false, nil
	k.reordered.Store(false)
	k.arena, k.chunk, k.chunkLeft = nil, nil, 0
	k.lines, k.hit, k.exact, k.batch, k.many = false, false, false, false, false
	k.at = 0
	k.got.Store(0)
	k.link.calls.Put(k)
}

// requests returns how many replies k waits for.
func (k *call) requests() int { return len(k.replies) }

// replied returns how many replies k's caller may look at.
func (k *call) replied() int {
	if k.gone.Load() {
		return int(k.kept)
	}
	return int(k.got.Load())
}

// publish lets k's caller see the replies that are complete. Once for all that
// one read brought is enough.
func (k *call) publish() { k.got.Store(int32(k.at)) }

// slot is where the next reply of k goes: all zero, unless part of that reply is
// there already. Nobody else looks at it before it is counted.
func (k *call) slot() *Reply { return &k.replies[k.at] }

type lateReply struct {
	at    int // of replies
	reply Reply
}

// target is where the value being read goes.
func (k *call) target() *Reply {
	if k.lateOpen {
		return &k.late[len(k.late)-1].reply
	}
	return k.slot()
}

// merge puts late replies where they belong.
func (k *call) merge() {
	for _, l := range k.late {
		k.replies[l.at] = l.reply
	}
	if k.refused != nil {
		k.doubt(k.replies[:k.got.Load()], k.refused)
	}
}

// doubt fails those of replies that are misses only because later keys had
// values, while a server behind a proxy might have had theirs.
func (k *call) doubt(replies []Reply, why error) {
	for i := range replies {
		if k.untilEnd && replies[i].Status == Miss {
			replies[i] = Reply{Status: Refused, Err: why}
		}
	}
}

// op is the operation that the next reply of k answers.
func (k *call) op() Op {
	if k.keys != nil {
		return Get
	}
	return k.request().Op
}

// request is what the next reply of k answers, when k is no batch of gets.
func (k *call) request() *Request { return &k.reqs[min(k.at, len(k.reqs)-1)] }

// skipTo makes misses of the keys of k up to the one at end: replies come in
// the order of the keys, so these have none.
func (k *call) skipTo(end int) {
	for ; k.at < end; k.at++ {
		k.slot().Status = Miss
	}
}

// refuse gives the next slot of k an error line for its reply. A batch that has
// all its values and gets the line where END should be has no such slot.
func (k *call) refuse(err *ServerError) {
	k.refused = err
	if k.at < k.requests() {
		*k.slot() = Reply{Status: Refused, Err: err}
		k.at++
	}
}
