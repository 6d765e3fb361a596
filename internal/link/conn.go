package link

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one connection that any number of callers share. They append their
// requests to one buffer, and flush and read for each other; turns.go decides
// who does. No goroutine of its own runs while nothing is amiss.
//
//	caller ─▶ out ──swap──▶ flight ─▶ socket ─▶ in ─▶ codec ─▶ call ─▶ caller
//	          under mu      the flusher's       the reader's
type conn struct {
	link  *Link
	wire  *wire
	codec codec
	ended chan struct{} // closed when nothing of its own runs any more

	mu        sync.Mutex
	turns     turns
	out       []byte // requests that no flusher has taken yet
	litter    int    // bytes of out that belong to calls that were given up
	err       error  // why the connection closed
	lastUse   int64  // clock when the latest call was submitted
	progress  int64  // clock of the latest progress that somebody went on waiting after
	listening int64  // clock since which there has been a reader without a break
	late      int64  // clock when that reader came, perhaps late, until it finds something; 0 = never late
	reads     uint64 // that brought something
	taken     uint64 // request bytes that a flusher has taken: they may be on the wire
	readArmed int64  // clock of the read deadline that is set; 0 = unknown
	writing   *call  // the flusher inside a write that may block, if it can be interrupted

	retired bool // close when no call is left
	trial   bool // of a Trial

	// See fence.go.
	settled []func()       // to be called when nothing that c carried is under way any more
	fenced  bool           // c has closed, and is read to its end first
	parked  bool           // its end has not come in time
	filling sync.WaitGroup // the reader, inside fill

	loud atomic.Bool // a large value is being read: what comes behind it has to wait

	mayBlock   bool // the flusher is inside a write that may need a reader
	writeArmed bool // the write deadline is a bound on progress, and no interrupt

	// The flusher's.
	flight   []byte      // being written
	written  int         // of flight
	patience *time.Timer // calls blocked, on connections that are not plain

	// The reader's.
	in    []byte
	r, w  int    // in[r:w] has been read from the socket and not consumed
	big   *call  // a value goes to this call's own memory
	step  int    // bytes of it since the latest progress
	heard uint64 // reads that brought something; reads is its copy under mu
}

const (
	readBuffer = 64 << 10 // more than a header and directSize
	keepBuffer = 256 << 10
	writeChunk = 64 << 10 // a write that may block counts as progress after so much
	bigStep    = 64 << 10 // and so does this much of one value

	// grace is how long a reader waits at least, even when its bound has
	// passed before it came to read: what is there must not be missed.
	grace = int64(5 * time.Millisecond)
)

func newConn(l *Link, w *wire, c codec) *conn {
	return &conn{link: l, wire: w, codec: c, ended: make(chan struct{}), in: make([]byte, readBuffer)}
}

func (c *conn) clock() int64             { return c.link.clock() }
func (c *conn) at(clock int64) time.Time { return c.link.at(clock) }
func (c *conn) readTimeout() int64       { return int64(c.link.cfg.Timeout()) }
func (c *conn) writeTimeout() int64      { return int64(c.link.cfg.WriteTimeout()) }

// submit encodes k and puts it into the FIFO, unless the connection is closed,
// or is found dead or stuck. It reports whether the caller is the flusher now;
// startFlush is the next thing to call then. The error is errNotOpen,
// ErrTooManyCalls, or the codec's about the request.
func (c *conn) submit(k *call, now int64) (flush bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns.closed || !c.usableLocked(now) {
		return false, errNotOpen
	}
	if c.litter > maxLitter {
		return false, ErrTooManyCalls
	}
	out, err := c.codec.append(c.out, k)
	if err != nil {
		return false, err
	}
	k.conn, k.start, k.heard, k.size = c, now, c.reads, len(out)-len(c.out)
	c.out, c.lastUse = out, now
	return c.turns.enqueue(&k.turn, k.size), nil
}

// maxLitter is how many bytes of requests may lie in the buffer for nobody: a
// server that takes nothing would otherwise fill the memory of callers who do
// not wait for it.
const maxLitter = 16 << 20

// errNotOpen sends a caller to another connection.
var errNotOpen = errors.New("connection is not open")

// usableLocked reports whether c is worth a new call, and closes it if not.
func (c *conn) usableLocked(now int64) bool {
	switch {
	case c.deadLocked(now):
		c.closeLocked(io.EOF)
	case c.stuckLocked(now):
		c.closeLocked(ErrNoProgress)
	default:
		return true
	}
	return false
}

// deadLocked reports whether c lay idle for some time and was closed by the
// server meanwhile, or was sent something unasked.
func (c *conn) deadLocked(now int64) bool {
	return c.turns.first == nil && c.turns.reader == nil && now-c.lastUse >= idleCheck && !c.quietLocked()
}

// stuckLocked reports whether the server has owed a reply for Timeout without
// anybody having waited that long: callers with shorter deadlines come and go,
// and none of them could tell.
func (c *conn) stuckLocked(now int64) bool {
	first := c.turns.first
	if first == nil || now-first.call.start < c.readTimeout() {
		return false
	}
	since := max(first.call.start, c.progress)
	if c.turns.reader != nil {
		return now-max(since, c.listening) >= c.readTimeout()
	}
	return now-since >= c.readTimeout() && c.turns.abandoned() && c.quietLocked()
}

// quietLocked reports whether the server has said nothing since the last read,
// and has not hung up. Nobody may be reading.
func (c *conn) quietLocked() bool {
	c.wire.SetReadDeadline(time.Time{}) // one that has passed would end the look
	c.readArmed = 0
	return c.r == c.w && c.wire.quiet()
}

// idleCheck is how long a connection lies idle before it is asked whether the
// server has closed it: one system call, cheap beside such a pause.
const idleCheck = int64(10 * time.Millisecond)

// await returns when k has ended: nil when it is answered, else why not. The
// caller does whatever duty falls to it meanwhile.
func (c *conn) await(ctx context.Context, k *call) error {
	for {
		asleep := false
		c.mu.Lock()
		unheard := c.turns.reader == nil
		next := c.turns.wait(&k.turn)
		if next == dutyRead && unheard {
			c.listenLocked(k)
		}
		err := c.err
		ended := k.state == answered
		c.mu.Unlock()
		switch next {
		case dutyNone:
			if ended {
				return nil
			}
			if err != errAbandoned { // which k's caller itself has caused: it leaves
				return err
			}
		case dutyFlush:
			c.startFlush(ctx, k)
		case dutyRead:
			c.read(ctx, &k.turn)
		case dutyPark:
			if ctx.Done() == nil { // a select costs three times as much
				<-k.wake
				break
			}
			select {
			case <-k.wake:
			case <-ctx.Done():
				asleep = true
			}
		}
		if ctx.Err() != nil && c.leave(k, asleep) {
			return context.Cause(ctx)
		}
	}
}

// listenLocked notes that k's caller begins to read where nobody did. What came
// since k began lies there to be read, so the time counts from then. The caller
// of a batch may have waited for other servers, even for longer than Timeout: if
// it finds nothing within grace, this server has been silent all the while, and
// if it finds anything, the server may have waited for it to be read, so the
// time counts from now.
func (c *conn) listenLocked(k *call) {
	c.listening, c.late = k.start, 0
	if k.batch {
		c.late = c.clock()
	}
}

// leave gives k up, with any role its caller holds. It reports false when k
// has ended after all. A caller that is still asleep, and not woken, may have
// a wake-up on its way, which is taken here.
func (c *conn) leave(k *call, asleep bool) bool {
	c.mu.Lock()
	wakeUp := asleep && k.state != parked
	if c.turns.flusher == &k.turn {
		c.passFlushLocked(&k.turn, 0)
	}
	left := c.turns.leave(&k.turn) || c.err == errAbandoned
	if left && k.end-uint64(k.size) >= c.taken {
		c.litter += k.size
	}
	k.kept = k.got.Load() // those behind, delivered from here on, lack their values
	k.gone.Store(left)
	if left && c.err == nil { // else it has been told of with the connection
		c.leftLocked(k)
	}
	var woken *turn
	if c.turns.reader == &k.turn {
		woken = c.handOnLocked()
	}
	c.restLocked()
	c.mu.Unlock()
	wake(woken)
	if wakeUp {
		<-k.wake
	}
	return left
}

// retire closes the connection once its calls have ended or been given up.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	c.restLocked()
}

// restLocked closes a retired connection that nobody waits for.
func (c *conn) restLocked() {
	if c.retired && c.turns.abandoned() {
		c.closeLocked(ErrClosed)
	}
}

// close ends the connection: every call on it fails with err. Only the first
// close counts.
func (c *conn) close(err error) {
	c.mu.Lock()
	c.closeLocked(err)
	c.mu.Unlock()
}

func (c *conn) closeLocked(err error) {
	if c.turns.closed {
		return
	}
	c.err = err
	c.loseLocked(err)
	if c.link.cfg.Failed != nil {
		if fault := c.faultLocked(err); fault != NoFault {
			c.link.cfg.Failed(fault, err)
		}
	}
	for _, t := range c.turns.close() {
		wake(t)
	}
	c.link.forget(c)
}

// wakeAll wakes the callers of a list of turns linked by woken.
func wakeAll(t *turn) {
	for t != nil {
		next := t.woken // the turn is its caller's again once it is woken
		t.woken = nil
		wake(t)
		t = next
	}
}

func wake(t *turn) {
	if t != nil {
		t.call.wake <- struct{}{} // has room: one token for one park
	}
}

// watch wakes k's caller from a read or a write that blocks when ctx ends,
// until unwatch is called with what it returns.
func (k *call) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, k.interrupt)
}

func (k *call) unwatch(stop func() bool) {
	if !stop() {
		k.spent = true // interrupt runs, perhaps only later
	}
}

// onCancel wakes k's caller where it blocks.
func (k *call) onCancel() {
	c := k.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns.closed {
		return
	}
	if c.turns.reader == &k.turn {
		c.wire.SetReadDeadline(longAgo)
		c.readArmed = 0
	}
	if c.writing == k {
		c.wire.SetWriteDeadline(longAgo)
		c.writeArmed = false
	}
}
