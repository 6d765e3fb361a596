package memcachetest

// One connection: bytes in, commands, bytes out. Replies gather in out and are
// written when no whole command is left in the input, as memcached does it.

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

const (
	readBuffer = 16 << 10 // memcached's own, which decides how long a line may be
	maxLine    = 2048     // bytes without a line end, except of a multiget
	flushAbove = 64 << 10 // bytes of replies held back at most

	// requestsPerTurn is the number of requests after which replies are written even
	// if more requests are waiting: memcached -R. A turn that begins with new input
	// has one more.
	requestsPerTurn = 20
)

type conn struct {
	srv *Server
	st  *store
	id  int
	nc  net.Conn
	old bool // answers as 1.6.18
	num number

	in         []byte
	rpos, wpos int // unread input is in[rpos:wpos]

	out     []byte // unwritten replies; out[start:] is that of the current command
	start   int
	batch   batch
	turn    int      // requests to come until replies are written in any case
	line    []byte   // the command line, without its end
	lineLen int      // its length with its end
	tokens  [][]byte // point into line
	quiet   bool     // the line ends in noreply
	urgent  bool     // set by a command whose reply does not wait for others
	closing bool     // set by a command that ends the connection

	// leftCAS was taken for a meta set that failed. 1.6.45 gives it to the next classic
	// store of the connection.
	leftCAS newCAS

	name     string        // of the command, as in Request
	log      []byte        // room for a line of the log
	noMemory bool          // the command is to fail for want of memory
	requests atomic.Int64  // so far
	mute     bool          // nothing more is sent
	held     []byte        // a reply that goes out behind the next one
	done     chan struct{} // closed by close
	once     sync.Once

	trusted     bool // has shown a name and password
	saslStarted bool // a SASL exchange waits for its second step
}

func newConn(s *Server, nc net.Conn, id int) *conn {
	return &conn{
		srv: s, st: s.store, id: id, nc: nc,
		old: s.old, num: number{old: s.old},
		in:   make([]byte, readBuffer),
		done: make(chan struct{}),
	}
}

func (c *conn) number() int { return c.id }

// serve runs the connection until one side ends it.
func (c *conn) serve() {
	if !c.need(1) {
		return
	}
	next := c.textCommand
	if c.srv.cfg.SASLUsers != nil || c.srv.cfg.Users == nil && c.in[c.rpos] == magicRequest {
		next = c.binaryCommand
	}
	for !c.closing && next() {
		c.settle()
		c.start = len(c.out)
		c.turn--
		if c.urgent || c.turn == 0 || len(c.out) >= flushAbove {
			c.urgent = false
			if !c.flush() {
				return
			}
		}
		if c.turn == 0 {
			c.turn = requestsPerTurn
		}
	}
	c.flush()
}

// close ends the connection from any goroutine.
func (c *conn) close() {
	c.once.Do(func() { close(c.done) })
	c.nc.Close()
}

// begin notes a command before it is carried out, and waits while the server is
// paused. It reports false when the command is not to be carried out.
func (c *conn) begin(name string, line []byte) bool {
	c.name = name
	c.requests.Add(1)
	c.srv.log.add(c.id, name, line)
	if !c.srv.front.waitPaused(c.done) {
		return false
	}
	c.noMemory = len(c.srv.faults.take(c.id, name, true)) > 0
	return true
}

// settle gives the reply of the command just answered the faults it suffers.
func (c *conn) settle() {
	if c.start >= len(c.out) {
		return
	}
	faults := c.srv.faults.take(c.id, c.name, false)
	if faults == nil && c.held == nil {
		return
	}
	reply := bytes.Clone(c.out[c.start:])
	c.out = c.out[:c.start]
	deliver(c, faults, reply)
}

// fill reads more input behind what is there. It reports false when there will be
// no more.
func (c *conn) fill() bool {
	if c.rpos > 0 {
		c.wpos = copy(c.in, c.in[c.rpos:c.wpos])
		c.rpos = 0
	}
	if c.wpos == len(c.in) {
		c.in = append(c.in, make([]byte, len(c.in))...)
	}
	n, err := c.nc.Read(c.in[c.wpos:])
	c.wpos += n
	c.turn = requestsPerTurn + 1
	c.srv.traffic.read.Add(int64(n))
	return n > 0 || err == nil
}

// abort ends the connection without the replies that are still unwritten.
func (c *conn) abort() {
	c.forgetReplies()
	c.closing = true
}

// flush writes the replies so far.
func (c *conn) flush() bool {
	if c.mute {
		c.forgetReplies()
	}
	if len(c.out) == 0 {
		return true
	}
	n, err := c.nc.Write(c.out)
	c.srv.traffic.written.Add(int64(n))
	c.forgetReplies()
	c.batch.sent.Add(1)
	if cap(c.out) > 1<<20 {
		c.out = nil
	}
	return err == nil
}

// forgetReplies drops what was answered and not sent.
func (c *conn) forgetReplies() { c.out, c.start = c.out[:0], 0 }

// flushEarlier writes the replies to earlier commands, before the current one waits
// for its value. Its own reply, an error that came before the value, stays behind.
func (c *conn) flushEarlier() bool {
	if c.start == 0 {
		return true
	}
	n, err := c.nc.Write(c.out[:c.start])
	c.srv.traffic.written.Add(int64(n))
	c.out = append(c.out[:0], c.out[c.start:]...)
	c.start = 0
	c.batch.sent.Add(1)
	return err == nil
}

// readLine takes the next line of the input into c.line.
func (c *conn) readLine() bool {
	for {
		unread := c.in[c.rpos:c.wpos]
		if end := bytes.IndexByte(unread, '\n'); end >= 0 {
			c.rpos += end + 1
			c.lineLen = end + 1
			if end > 1 && unread[end-1] == '\r' {
				end--
			}
			c.line = append(c.line[:0], unread[:end]...)
			return true
		}
		if len(unread) > maxLine && !c.multiget(unread) {
			return false
		}
		if !c.flush() || !c.fill() {
			return false
		}
	}
}

// multiget tells whether an unfinished line may be of any length.
func (c *conn) multiget(line []byte) bool {
	if c.old {
		line = bytes.TrimLeft(line, " ")
	}
	return bytes.HasPrefix(line, []byte("get ")) || bytes.HasPrefix(line, []byte("gets "))
}

// readFull fills b from the input.
func (c *conn) readFull(b []byte) bool {
	have := copy(b, c.in[c.rpos:c.wpos])
	c.rpos += have
	if have == len(b) {
		return true
	}
	if !c.flushEarlier() {
		return false
	}
	n, err := io.ReadFull(c.nc, b[have:])
	c.srv.traffic.read.Add(int64(n))
	return err == nil
}

// readValue reads n bytes, which are the caller's to keep. It reports false when
// the connection ended first.
func (c *conn) readValue(n int) ([]byte, bool) {
	value := make([]byte, n)
	return value, c.readFull(value)
}

// readBody reads a value of n bytes and the CRLF behind it. whole is false when
// the connection ended first; framed is false when something else stood in the
// place of the CRLF. The value is the caller's to keep.
func (c *conn) readBody(n int) (value []byte, framed, whole bool) {
	body := make([]byte, n+2)
	if !c.readFull(body) {
		return nil, false, false
	}
	return body[:n:n], body[n] == '\r' && body[n+1] == '\n', true
}

// swallow reads n bytes and drops them. It reports false when the connection
// ended first.
func (c *conn) swallow(n int64) bool {
	for n > 0 {
		if c.rpos == c.wpos && (!c.flushEarlier() || !c.fill()) {
			return false
		}
		step := min(n, int64(c.wpos-c.rpos))
		c.rpos += int(step)
		n -= step
	}
	return true
}

// swallowValue reads a value of n bytes and what ends it, and drops them.
func (c *conn) swallowValue(n int) bool { return c.swallow(int64(n) + int64(len("\r\n"))) }

// reply adds a line to the output, unless the command asked for none.
func (c *conn) reply(line string) {
	if !c.quiet {
		c.out = append(append(c.out, line...), "\r\n"...)
	}
}

// fail adds an error line to the output, noreply or not.
func (c *conn) fail(line string) {
	c.out = append(append(c.out, line...), "\r\n"...)
}
