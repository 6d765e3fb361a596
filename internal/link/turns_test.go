//go:build !race

// There is no goroutine here: the race detector would only make it slow.

package link

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The model: callers that follow the steps of conn.go against the strictest
// server there can be, one that reads nothing while a reply of its own is
// unread (an unbuffered pipe). Each step below is what a connection does under
// one lock, or one I/O. A call is one or two requests of two bytes on one
// connection, or on two of them (a batch).

const requestSize = 2

type modelStep uint8

const (
	stepSubmit  modelStep = iota // enqueue on the next connection
	stepTry                      // write what goes without blocking
	stepWrite                    // blocking write
	stepWait                     // ask for the next duty
	stepParked                   // wait for a wake-up
	stepRead                     // wait for replies
	stepDone                     // the call has returned
	stepOff                      // helper: not running
	stepPrepare                  // helper: about to note that its write may block
)

// modelCaller is one caller, or a helper goroutine of a connection.
type modelCaller struct {
	conns     []int // the connections of the call, in order
	many      []bool
	submitted int
	waiting   int // index in conns of the turn waited for
	on        int // connection of the current role
	step      modelStep
	tried     int  // bytes written and not yet reported
	back      int8 // after flushing: 0 go on submitting, 1 go on waiting
	cancelled bool
	helper    bool
}

type modelConn struct {
	s       turns
	wire    uint64 // bytes the server has taken
	taken   uint64 // bytes the flusher took from the buffer (end of flight)
	replies int    // written by the server, unread
	order   []int8 // caller of each request, in enqueue order
	sent    int    // replies the server has written so far
	read    int    // replies handed out
	closed  bool
}

type model struct {
	turns   []turn // [at(caller, connection)]
	tokens  []int8
	ends    []int8 // how often each turn has ended
	callers []modelCaller
	conns   []modelConn
	partial []int8 // replies seen of a call with many requests
	cancels int
	closes  int
	log     *modelLog
}

// modelLog is the way to a state, from its end.
type modelLog struct {
	before *modelLog
	last   choice
}

func (l *modelLog) String() string {
	if l == nil {
		return "start"
	}
	return fmt.Sprintf("%v %d/%d", l.before, l.last.who, l.last.how)
}

func newModel(conns int, calls [][]int, many [][]bool, cancels, closes int) *model {
	m := &model{cancels: cancels, closes: closes, conns: make([]modelConn, conns)}
	for i, c := range calls {
		m.callers = append(m.callers, modelCaller{conns: c, many: many[i]})
	}
	n := len(calls) * conns
	m.turns, m.tokens, m.ends, m.partial = make([]turn, n), make([]int8, n), make([]int8, n), make([]int8, n)
	for range conns { // a helper flusher and a helper reader for each
		m.callers = append(m.callers, modelCaller{helper: true, step: stepOff})
		m.callers = append(m.callers, modelCaller{helper: true, step: stepOff})
	}
	return m
}

func (m *model) calls() int              { return len(m.turns) / len(m.conns) }
func (m *model) at(caller, conn int) int { return caller*len(m.conns) + conn }

func (m *model) clone() *model {
	n := &model{cancels: m.cancels, closes: m.closes, log: m.log}
	n.callers = append([]modelCaller(nil), m.callers...)
	n.conns = append([]modelConn(nil), m.conns...)
	n.turns = append([]turn(nil), m.turns...)
	n.tokens = append([]int8(nil), m.tokens...)
	n.ends = append([]int8(nil), m.ends...)
	n.partial = append([]int8(nil), m.partial...)
	width := len(m.conns)
	for j := range n.conns {
		n.conns[j].order = append([]int8(nil), m.conns[j].order...)
		swap := func(p **turn) {
			switch {
			case *p == nil:
			case *p == &m.conns[j].s.spare:
				*p = &n.conns[j].s.spare
			default:
				*p = &n.turns[m.index(*p)]
			}
		}
		s := &n.conns[j].s
		for _, p := range []**turn{&s.first, &s.last, &s.unsent, &s.flusher, &s.reader} {
			swap(p)
		}
		for i := j; i < len(n.turns); i += width {
			swap(&n.turns[i].next)
		}
	}
	return n
}

// index is the place of t in turns, -1 for a connection's spare or nil.
func (m *model) index(t *turn) int {
	for i := range m.turns {
		if t == &m.turns[i] {
			return i
		}
	}
	return -1
}

var modelSeed = maphash.MakeSeed()

// key is a hash of the whole state, for the set of visited ones.
func (m *model) key() uint64 {
	var space [512]byte
	b := space[:0]
	id := func(t *turn) byte {
		if t == nil {
			return 254
		}
		return byte(m.index(t))
	}
	bit := func(v bool) byte {
		if v {
			return 1
		}
		return 0
	}
	for i := range m.callers {
		c := &m.callers[i]
		b = append(b, byte(c.submitted), byte(c.waiting), byte(c.on), byte(c.step), byte(c.tried), byte(c.back), bit(c.cancelled))
	}
	for i := range m.turns {
		t := &m.turns[i]
		b = append(b, id(t.next), byte(t.end), byte(t.state), byte(m.tokens[i]), byte(m.partial[i]))
	}
	for i := range m.conns {
		c := &m.conns[i]
		s := &c.s
		b = append(b, id(s.first), id(s.last), id(s.unsent), byte(s.appended), byte(s.written), id(s.flusher), id(s.reader),
			bit(s.blocked), bit(s.closed), byte(c.wire), byte(c.taken), byte(c.replies), byte(c.read))
	}
	return maphash.Bytes(modelSeed, b)
}

func (m *model) helperFlusher(conn int) *modelCaller { return &m.callers[m.calls()+2*conn] }
func (m *model) helperReader(conn int) *modelCaller  { return &m.callers[m.calls()+2*conn+1] }

func (m *model) turnOf(caller int, conn int) *turn {
	if caller >= m.calls() {
		return &m.conns[conn].s.spare
	}
	return &m.turns[m.at(caller, conn)]
}

func (m *model) wake(t *turn) { m.tokens[m.index(t)]++ }

// push lets the server take up to n bytes of conn's flight. It stops when a
// reply of its own is unread.
func (c *modelConn) push(n int) (took int) {
	for took < n && c.replies == 0 && !c.closed {
		took++
		c.wire++
		if c.wire%requestSize == 0 {
			c.replies++
			c.sent++
		}
	}
	return took
}

// enabled lists what may happen next: the index of a caller, with a variant.
type choice struct{ who, how int }

const (
	howGo     = iota // the next step
	howLess          // the same with a smaller result (a short write, one reply)
	howCancel        // the caller's context ends
	howCut           // the connection breaks (who is its index)
)

func (m *model) enabled() (list []choice) {
	for i := range m.callers {
		c := &m.callers[i]
		if c.step == stepDone || c.step == stepOff {
			continue
		}
		if !c.helper && !c.cancelled && m.cancels > 0 {
			list = append(list, choice{i, howCancel})
		}
		k := &m.conns[c.on]
		switch c.step {
		case stepWrite:
			if k.replies == 0 || k.closed || c.cancelled || k.s.written+uint64(c.tried) == k.taken {
				list = append(list, choice{i, howGo})
			}
		case stepParked:
			if m.tokens[m.at(i, c.on)] > 0 || c.cancelled {
				list = append(list, choice{i, howGo})
			}
		case stepRead:
			if k.replies > 0 || k.closed || c.cancelled || c.helper && !k.s.blocked {
				list = append(list, choice{i, howGo})
			}
		case stepTry:
			list = append(list, choice{i, howGo}, choice{i, howLess})
		default:
			list = append(list, choice{i, howGo})
		}
	}
	if len(list) > 0 && m.closes > 0 {
		for j := range m.conns {
			if !m.conns[j].closed {
				list = append(list, choice{j, howCut})
			}
		}
	}
	return list
}

func (m *model) closeConn(conn int) {
	k := &m.conns[conn]
	k.closed = true
	for i := range m.calls() {
		if s := m.turns[m.at(i, conn)].state; s == away || s == parked || s == reading {
			m.ends[m.at(i, conn)]++
		}
	}
	for _, t := range k.s.close() {
		m.wake(t)
	}
}

// step performs one choice and returns what it broke.
func (m *model) step(ch choice) error {
	if ch.how == howCut {
		m.closes--
		m.closeConn(ch.who)
		return m.check()
	}
	c := &m.callers[ch.who]
	if ch.how == howCancel {
		m.cancels--
		c.cancelled = true
		return nil
	}
	var err error
	switch c.step {
	case stepSubmit:
		m.submit(ch.who, c)
	case stepTry:
		m.try(c, ch.how == howLess)
	case stepPrepare:
		m.prepare(c)
	case stepWrite:
		m.write(ch.who, c)
	case stepWait:
		m.ask(ch.who, c)
	case stepParked:
		m.unpark(ch.who, c)
	case stepRead:
		err = m.read(ch.who, c)
	}
	if err != nil {
		return err
	}
	return m.check()
}

func (m *model) submit(who int, c *modelCaller) {
	if c.cancelled {
		m.giveUp(who, c)
		return
	}
	if c.submitted == len(c.conns) {
		c.step, c.back = stepWait, 1
		c.on = c.conns[c.waiting]
		return
	}
	conn := c.conns[c.submitted]
	c.on = conn
	k, t := &m.conns[conn], &m.turns[m.at(who, conn)]
	c.submitted++
	if k.s.closed { // conn.go dials again; here the call ends
		t.state = failed
		m.ends[m.at(who, conn)]++
		return
	}
	t.many = c.many[c.submitted-1]
	size := requestSize
	if t.many {
		size *= 2
	}
	for n := 0; n < size; n += requestSize {
		k.order = append(k.order, int8(who))
	}
	if k.s.enqueue(t, size) {
		k.taken = k.s.appended
		c.step, c.tried, c.back = stepTry, 0, 0
	}
}

func (m *model) try(c *modelCaller, less bool) {
	k := &m.conns[c.on]
	rest := int(k.taken-k.s.written) - c.tried
	if less {
		rest--
	}
	c.tried += k.push(rest)
	c.step = stepPrepare
}

// prepare is the lock a flusher takes between a write that did not finish and
// the one that may block.
func (m *model) prepare(c *modelCaller) {
	k := &m.conns[c.on]
	if k.s.written+uint64(c.tried) < k.taken && !k.s.closed {
		if k.s.flusher != nil && !k.s.lone() && k.s.block() {
			r := m.helperReader(c.on)
			r.on, r.step = c.on, stepRead
		}
	}
	c.step = stepWrite
}

func (m *model) write(who int, c *modelCaller) {
	k := &m.conns[c.on]
	t := m.turnOf(who, c.on)
	if rest := int(k.taken-k.s.written) - c.tried; rest > 0 && !k.closed {
		c.tried += k.push(rest)
		if int(k.taken-k.s.written) > c.tried && !c.cancelled {
			return // still blocked
		}
	}
	n := c.tried
	c.tried = 0
	var next duty
	var wake *turn
	if c.cancelled {
		next, wake = k.s.quitFlush(t, n)
	} else {
		next, wake = k.s.wrote(t, n)
	}
	if wake != nil {
		m.wake(wake)
	}
	switch next {
	case dutyFlush:
		k.taken = k.s.appended
		c.step = stepTry
		return
	case dutySpare:
		h := m.helperFlusher(c.on)
		h.on, h.step, h.tried = c.on, stepTry, 0
		k.taken = k.s.appended
	case dutyClose:
		m.closeConn(c.on)
	}
	switch {
	case c.helper:
		c.step = stepOff
	case c.cancelled:
		m.giveUp(who, c)
	case c.back == 0:
		c.step = stepSubmit
	default:
		c.step = stepWait
	}
}

func (m *model) ask(who int, c *modelCaller) {
	if c.cancelled {
		m.giveUp(who, c)
		return
	}
	k, t := &m.conns[c.on], &m.turns[m.at(who, c.on)]
	switch k.s.wait(t) {
	case dutyNone:
		c.waiting++
		if c.waiting == len(c.conns) {
			c.step = stepDone
			return
		}
		c.on = c.conns[c.waiting]
	case dutyFlush:
		k.taken = k.s.appended
		c.step, c.tried, c.back = stepTry, 0, 1
	case dutyRead:
		c.step = stepRead
	case dutyPark:
		c.step = stepParked
	}
}

func (m *model) unpark(who int, c *modelCaller) {
	if m.tokens[m.at(who, c.on)] > 0 {
		m.tokens[m.at(who, c.on)]--
		c.step = stepWait
		return
	}
	m.giveUp(who, c) // cancelled
}

// giveUp leaves every connection of the call, passing on any role it holds.
func (m *model) giveUp(who int, c *modelCaller) {
	for _, conn := range c.conns[:c.submitted] {
		k, t := &m.conns[conn], &m.turns[m.at(who, conn)]
		if m.tokens[m.at(who, conn)] > 0 {
			m.tokens[m.at(who, conn)]--
		}
		if k.s.flusher == t {
			next, wake := k.s.quitFlush(t, 0)
			if wake != nil {
				m.wake(wake)
			}
			switch next {
			case dutySpare:
				h := m.helperFlusher(conn)
				h.on, h.step, h.tried = conn, stepTry, 0
				k.taken = k.s.appended
			case dutyClose:
				m.closeConn(conn)
			}
		}
		if k.s.leave(t) {
			m.ends[m.at(who, conn)]++
		}
		if k.s.reader == t {
			m.handOn(conn)
		}
	}
	c.step = stepDone
}

func (m *model) handOn(conn int) (spare bool) {
	next, wake := m.conns[conn].s.handOn()
	if wake != nil {
		m.wake(wake)
	}
	if next == dutySpare {
		r := m.helperReader(conn)
		r.on, r.step = conn, stepRead
	}
	return next == dutySpare
}

func (m *model) read(who int, c *modelCaller) error {
	k := &m.conns[c.on]
	if c.helper {
		if k.closed {
			c.step = stepOff
			return nil
		}
		if err := m.deliver(c.on, k); err != nil {
			return err
		}
		if !k.s.blocked && !m.handOn(c.on) {
			c.step = stepOff
		}
		return nil
	}
	t := &m.turns[m.at(who, c.on)]
	if k.closed {
		c.step = stepWait
		return nil
	}
	if err := m.deliver(c.on, k); err != nil {
		return err
	}
	if t.state == answered {
		m.handOn(c.on)
		c.step = stepWait
	} else if c.cancelled {
		m.giveUp(who, c)
	}
	return nil
}

func (m *model) deliver(conn int, k *modelConn) error {
	for k.replies > 0 {
		if k.s.first == nil {
			return fmt.Errorf("connection %d: a reply and nobody to take it", conn)
		}
		want := int(k.order[k.read])
		t := &m.turns[m.at(want, conn)]
		if k.s.first != t {
			return fmt.Errorf("connection %d: reply of call %d would go to another", conn, want)
		}
		k.replies--
		k.read++
		if t.many {
			m.partial[m.at(want, conn)]++
			if m.partial[m.at(want, conn)] < 2 {
				continue
			}
		}
		wasGone := t.state == gone
		_, wake := k.s.answer()
		if !wasGone {
			m.ends[m.at(want, conn)]++
		}
		if wake {
			m.wake(t)
		}
	}
	return nil
}

// check tests what must hold between any two steps.
func (m *model) check() error {
	for j := range m.conns {
		k := &m.conns[j]
		s := &k.s
		if s.closed {
			continue
		}
		if s.written < s.appended && s.flusher == nil {
			return fmt.Errorf("connection %d: bytes without a flusher", j)
		}
		for t := s.first; t != nil; t = t.next {
			if t.state == parked && s.reader == nil {
				return fmt.Errorf("connection %d: a parked call and no reader", j)
			}
			if t.state == answered || t.state == failed || t.state == fresh {
				return fmt.Errorf("connection %d: a call in the FIFO in state %d", j, t.state)
			}
		}
		if s.reader != nil && s.reader != &s.spare && s.reader.state != reading && s.reader.state != answered {
			return fmt.Errorf("connection %d: reader in state %d", j, s.reader.state)
		}
		if s.blocked && s.reader == nil {
			return fmt.Errorf("connection %d: a write may block and nobody reads", j)
		}
	}
	for i := range m.ends {
		if m.ends[i] > 1 {
			return fmt.Errorf("turn %d ended twice", i)
		}
		if m.tokens[i] > 1 {
			return fmt.Errorf("turn %d was woken twice", i)
		}
	}
	return nil
}

// finished checks the end of a run: nothing can happen any more.
func (m *model) finished() error {
	for i := range m.callers {
		c := &m.callers[i]
		if c.step != stepDone && c.step != stepOff {
			return fmt.Errorf("caller %d hangs in step %d on connection %d", i, c.step, c.on)
		}
	}
	for i := range m.calls() {
		for _, conn := range m.callers[i].conns[:m.callers[i].submitted] {
			if m.ends[m.at(i, conn)] != 1 {
				return fmt.Errorf("call %d ended %d times on connection %d", i, m.ends[m.at(i, conn)], conn)
			}
		}
	}
	for i, n := range m.tokens {
		if n != 0 {
			return fmt.Errorf("turn %d has a wake-up left", i)
		}
	}
	for j := range m.conns {
		s := &m.conns[j].s
		if !s.closed && (s.flusher != nil || s.reader != nil || s.blocked) {
			return fmt.Errorf("connection %d: a role is held by nobody alive", j)
		}
	}
	return nil
}

func TestTurnsEveryInterleaving(t *testing.T) {
	calls := map[string]struct {
		conns           [][]int
		many            [][]bool
		cancels, closes int
	}{
		"three singles, a cancel, a cut":      {[][]int{{0}, {0}, {0}}, [][]bool{{false}, {false}, {false}}, 1, 1},
		"batches across, opposite order":      {[][]int{{0, 1}, {1, 0}}, [][]bool{{true, true}, {true, true}}, 1, 1},
		"a batch between singles":             {[][]int{{0}, {0, 1}, {1}}, [][]bool{{false}, {true, true}, {false}}, 1, 0},
		"batches across and a single":         {[][]int{{0, 1}, {1, 0}, {0}}, [][]bool{{true, true}, {true, true}, {false}}, 0, 0},
		"many on one connection, two cancels": {[][]int{{0}, {0}, {0}}, [][]bool{{true}, {true}, {false}}, 2, 0},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && len(c.conns) == 3 && c.cancels > 1 {
				t.Skip("short run: the smaller rows cover each step")
			}
			seen := map[uint64]struct{}{}
			stack := []*model{newModel(2, c.conns, c.many, c.cancels, c.closes)}
			ends := 0
			for len(stack) > 0 {
				m := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				list := m.enabled()
				if onlyCancels(list) {
					if err := m.finished(); err != nil {
						require.NoError(t, err, "after %v", m.log)
					}
					ends++
				}
				for _, ch := range list {
					n := m.clone()
					n.log = &modelLog{m.log, ch}
					if err := n.step(ch); err != nil {
						require.NoError(t, err, "after %v", n.log)
					}
					k := n.key()
					if _, ok := seen[k]; !ok {
						seen[k] = struct{}{}
						stack = append(stack, n)
					}
				}
			}
			require.NotZero(t, ends)
			t.Logf("%d states, %d of them final", len(seen), ends)
		})
	}
}

// onlyCancels reports whether nothing but the outside world could go on: then
// the calls must have ended by themselves.
func onlyCancels(list []choice) bool {
	for _, ch := range list {
		if ch.how == howGo || ch.how == howLess {
			return false
		}
	}
	return true
}

func TestTurnsRandomSixtyFour(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for round := range rounds {
		var conns [][]int
		var many [][]bool
		for range 64 {
			n := 1
			if rng.IntN(3) == 0 {
				n = 1 + rng.IntN(4)
			}
			c := rng.Perm(4)[:n]
			conns = append(conns, c)
			mm := make([]bool, n)
			for i := range mm {
				mm[i] = rng.IntN(2) == 0
			}
			many = append(many, mm)
		}
		m := newModel(4, conns, many, rng.IntN(20), rng.IntN(3))
		for {
			list := m.enabled()
			if onlyCancels(list) {
				break
			}
			// Cancels and cuts are rare beside ordinary steps.
			ch := list[rng.IntN(len(list))]
			if ch.how >= howCancel && rng.IntN(50) != 0 {
				continue
			}
			require.NoError(t, m.step(ch), "round %d", round)
		}
		require.NoError(t, m.finished(), "round %d", round)
	}
}

// A server may refuse a request before its body has arrived. The turn is gone
// then while its bytes are still being written, and others stand behind it.
func TestTurnsReplyBeforeTheRequestIsWritten(t *testing.T) {
	var s turns
	var first, second turn
	require.True(t, s.enqueue(&first, 10))
	require.False(t, s.enqueue(&second, 5))
	require.Equal(t, dutyRead, s.wait(&second))

	got, _ := s.answer()
	require.Same(t, &first, got)
	next, wake := s.wrote(&first, 4)
	require.Equal(t, dutyFlush, next, "the rest of the refused body keeps the stream in step")
	require.Nil(t, wake)
	require.Same(t, &second, s.unsent)
	next, _ = s.wrote(&first, 11)
	require.Equal(t, dutyNone, next)
	require.Nil(t, s.flusher)
	require.Nil(t, s.unsent)
}
