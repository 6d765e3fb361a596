package link

import (
	"context"
	"time"
)

// This file performs a batch over several servers in the calling goroutine: it
// writes to every server before it reads any.

// Share is the part of a batch that one server answers: gets of Keys, or Reqs.
type Share struct {
	Link *Link

	// In wire order. Neither is modified after Gather has begun, nor reused.
	Keys []string
	Reqs []Request

	// Set by Gather: the replies to the first len(Replies) of them, and why the
	// rest has none. A reply that is refused by Err itself is none either.
	Replies []Reply
	Err     error
	Sent    int // how many of them may have been sent: of those behind nothing was

	// Timed has Gather set Ended: when the last reply was taken, or the share
	// failed.
	Timed bool
	Ended time.Time

	buf     []Reply // Replies grows in it
	until   int     // where the window under way ends
	conn    *conn
	call    *call // the window under way
	dial    *dialing
	retried bool
	before  bool   // the window was sent before, and may have been performed
	exact   bool   // ask by mg, however many keys
	arena   *Arena // where values go; nil = into memory of their own
	doubt   []int  // replies that may be the stub of a lease
}

// Reuse makes s a new share of l, in the memory of an old one. The old one must
// have been Clean.
func (s *Share) Reuse(l *Link) { *s = Share{Link: l, buf: s.buf, doubt: s.doubt[:0]} }

// Clean reports whether nothing may write to the memory of s any more: nothing of
// it was sent, or it got all its replies on the connection where it began.
func (s *Share) Clean() bool { return s.conn == nil || s.Err == nil && !s.retried }

// A window is what is asked of one server at a time: this many requests, or one
// more than this many bytes of values. It bounds memory here and in the server's
// buffers.
const (
	windowRequests = 1000
	windowBytes    = 64 << 10
)

// Gather performs all shares. When ctx ends first, each share has what came in
// time, and an error that wraps the cause.
func Gather(ctx context.Context, shares []*Share) {
	now, late := shares, []*Share(nil)
	for i, s := range shares {
		switch entered := s.Link.gate.tryEnter(); {
		case entered && late != nil:
			now = append(now, s)
		case !entered:
			if late == nil {
				now = append([]*Share(nil), shares[:i]...)
			}
			late = append(late, s)
		}
	}
	perform(ctx, now)
	// A batch that waits in line holds no place meanwhile, or two of them could
	// wait for each other's server.
	for _, s := range late {
		if err := s.Link.enter(ctx); err != nil {
			s.fail(err)
			continue
		}
		perform(ctx, []*Share{s})
	}
}

// perform performs shares that have entered their links, and leaves these.
func perform(ctx context.Context, shares []*Share) {
	for _, s := range shares {
		s.start(ctx)
	}
	for _, s := range shares {
		s.afterDial(ctx)
	}
	patience, looking := ctx, false
	for busy := true; busy; {
		busy = false
		for _, s := range shares {
			if s.call == nil {
				continue
			}
			if !looking && ctx.Err() != nil {
				// Some may have answered while others were waited for.
				looking = true
				late, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastLook, context.Cause(ctx))
				defer cancel()
				patience = late
			}
			s.await(patience)
			busy = busy || s.call != nil
		}
	}
	for _, s := range shares {
		s.Link.gate.leave()
	}
	for _, s := range shares {
		if len(s.doubt) > 0 {
			s.settle(ctx)
		}
	}
}

// lastLook is how long after the end of its context a batch goes on to take
// what has arrived from the servers that it has not read yet.
const lastLook = 2 * time.Millisecond

// settle asks again, by mg, for the empty values that a gets line brought: one
// without flags may be the stub of a lease, which is a miss, and only mg tells.
func (s *Share) settle(ctx context.Context) {
	again := &Share{Link: s.Link, Keys: make([]string, len(s.doubt)), exact: true}
	for i, at := range s.doubt {
		again.Keys[i] = s.Keys[at]
	}
	Gather(ctx, []*Share{again})
	for i, at := range s.doubt {
		if i < len(again.Replies) {
			s.Replies[at] = again.Replies[i]
		} else {
			s.Replies[at] = Reply{Status: Refused, Err: again.Err}
		}
	}
	s.end()
}

// note collects those of the replies from that one on, which were asked for in
// classic lines, that are in doubt.
func (s *Share) note(from int) {
	for i := range s.Replies[from:] {
		if r := &s.Replies[from+i]; r.Status == OK && len(r.Value) == 0 && r.Flags == 0 {
			s.doubt = append(s.doubt, from+i)
		}
	}
}

// start sends the first window if there is a connection, else begins to dial.
func (s *Share) start(ctx context.Context) {
	if s.buf = s.buf[:cap(s.buf)]; len(s.buf) < s.len() {
		s.buf = make([]Reply, s.len())
	}
	s.buf = s.buf[:s.len()]
	clear(s.buf)
	if s.len() == 0 {
		return
	}
	s.next()
	for {
		c, d, err := s.Link.pick()
		if c == nil {
			if s.dial = d; d == nil {
				s.fail(err)
			}
			return
		}
		switch err := s.Link.sendOn(ctx, c, s.call); err {
		case nil:
			s.sentOn(c)
			return
		case errNotOpen:
		case ErrUnsupported:
			s.cut()
			s.send(ctx)
			return
		default:
			s.fail(err)
			return
		}
	}
}

// afterDial sends the first window on the connection that start had to dial.
func (s *Share) afterDial(ctx context.Context) {
	if s.dial == nil {
		return
	}
	_, err := s.Link.dialed(ctx, s.dial)
	s.dial = nil
	if err != nil {
		s.fail(err)
		return
	}
	s.send(ctx)
}

func (s *Share) len() int { return len(s.Keys) + len(s.Reqs) } // one is empty

// next prepares the window behind the replies that are there, if more are due.
func (s *Share) next() {
	from := len(s.Replies)
	if s.call = nil; from == len(s.buf) {
		s.end()
		return
	}
	s.until = min(from+windowRequests, s.len())
	bytes := 0
	for i := from; i < min(s.until, len(s.Reqs)); i++ {
		if bytes += len(s.Reqs[i].Value); bytes > windowBytes {
			s.until = i + 1
		}
	}
	k := s.Link.newCall()
	k.batch, k.exact, k.arena = true, s.exact, s.arena
	if s.Reqs != nil {
		k.reqs = s.Reqs[from:s.until:s.until]
	} else {
		k.keys = s.Keys[from:s.until:s.until]
	}
	k.replies = s.buf[from:s.until:s.until]
	s.call = k
}

// send sends the window under way, if there is one, without what the protocol of
// the connection cannot say.
func (s *Share) send(ctx context.Context) {
	for s.call != nil {
		c, err := s.Link.send(ctx, s.call)
		switch err {
		case nil:
			s.sentOn(c)
			return
		case ErrUnsupported:
			s.cut()
		default:
			s.fail(err)
		}
	}
}

// sentOn notes that the window under way is on c.
func (s *Share) sentOn(c *conn) {
	s.conn = c
	s.Sent = max(s.Sent, s.until) // when it was repeated, another protocol may have cut it short
}

// cut ends the window, of which nothing has been sent, before the first request
// that the protocol cannot say. A request at its very beginning is refused, and
// the window behind it begins.
func (s *Share) cut() {
	k := s.call
	if n := k.sayable; n > 0 {
		s.until = len(s.Replies) + n
		k.reqs, k.keys, k.replies = k.reqs[:min(n, len(k.reqs))], k.keys[:min(n, len(k.keys))], k.replies[:n]
		return
	}
	k.recycle()
	at := len(s.Replies)
	s.Replies = s.buf[:at+1]
	s.Replies[at] = Reply{Status: Refused, Err: ErrUnsupported}
	s.next()
}

// await ends the window under way and sends the next.
func (s *Share) await(ctx context.Context) {
	k, c := s.call, s.conn
	err := c.await(ctx, k)
	if err == nil {
		k.merge()
	}
	window := len(s.Replies)
	if err == nil || !k.reordered.Load() {
		s.Replies = s.buf[:window+k.replied()]
	}
	if k.lines {
		s.note(window)
	}
	fail := func(err error) {
		s.fail(err)
		k.doubt(s.Replies[window:], s.Err)
	}
	switch {
	case err == nil && len(s.Replies) == s.until:
		k.recycle()
		s.before = false
	case err == nil: // refused in a way that leaves the rest unanswered
		fail(c.lost(k, errRefused))
		return
	case k.gone.Load():
		fail(c.lost(k, err))
		return
	default:
		err = c.lost(k, err)
		if s.retried || !mayRepeat(c, k, err) {
			fail(err)
			return
		}
		// The reader of the lost connection may still write to the old buffer.
		s.retried, s.before = true, wasSent(err)
		s.buf = append(make([]Reply, 0, len(s.buf)), s.Replies...)[:len(s.buf)]
		s.Replies = s.buf[:len(s.Replies)]
		if s.arena != nil {
			s.arena = new(Arena)
		}
	}
	s.next()
	s.send(ctx)
}

func (s *Share) fail(err error) {
	s.call, s.Err = nil, alsoSent(err, s.before)
	s.end()
}

// end notes when s ended.
func (s *Share) end() {
	if s.Timed {
		s.Ended = time.Now()
	}
}
