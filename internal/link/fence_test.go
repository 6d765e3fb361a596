package link

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/duplex"
)

// This file tests what becomes of writes that are under way when their
// connection is given up.

// onDuplex is onPipe with connections that can be shut for writing.
func onDuplex(t *testing.T, timeout time.Duration, scripts ...func(*peer)) *stage {
	s := &stage{scripts: scripts, timeout: timeout, stop: func() {}}
	return s.start(t, func(context.Context) (net.Conn, error) {
		near, far := duplex.Pipe()
		s.play(far)
		return near, nil
	})
}

// debts is what a Link tells of unsettled writes.
type debts struct {
	mu      sync.Mutex
	told    []Write
	lost    []bool
	settled atomic.Int32
}

func (s *stage) note() *debts {
	d := new(debts)
	s.cfg.Unsettled = func(writes []Write, lost bool) func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told, d.lost = append(d.told, writes...), append(d.lost, lost)
		return func() { d.settled.Add(1) }
	}
	return d
}

func (d *debts) take() []Write {
	d.mu.Lock()
	defer d.mu.Unlock()
	told := d.told
	d.told = nil
	return told
}

func (s *stage) set(ctx context.Context, key string) error {
	_, err := s.Do(ctx, &Request{Op: Set, Key: key, Value: []byte("v")})
	return err
}

// stopped is a server that is stopped when it has been sent a request, and goes
// on when resume is closed: it answers that, and hangs up behind the last one.
func stopped(resume <-chan struct{}, performed *atomic.Int32) func(*peer) {
	return func(p *peer) {
		first := p.next()
		<-resume
		performed.Add(1)
		p.say(first.answer())
		for a := p.next(); a != nil; a = p.next() {
			performed.Add(1)
			p.say(a.answer())
		}
	}
}

// A connection that is given up with a write on it is read to its end before the
// write counts as over.
func TestAWriteOnALostConnectionIsWaitedFor(t *testing.T) {
	for name, wait := range map[string]time.Duration{"in time": limit / 2, "later": 10 * limit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var performed atomic.Int32
				resume := make(chan struct{})
				s := onDuplex(t, limit, stopped(resume, &performed), healthy)
				d := s.note()
				require.ErrorIs(t, s.set(context.Background(), "k"), ErrNoProgress)
				assert.Equal(t, []Write{{Key: "k", Op: Set, Stores: true}}, d.take(), "told before the call returns")
				assert.Equal(t, []bool{true}, d.lost)
				s.wantValue(t, "other")
				assert.Zero(t, d.settled.Load())
				time.Sleep(wait)
				if wait > limit {
					s.Settle(context.Background())
				}
				assert.Zero(t, d.settled.Load())
				close(resume)
				if wait > limit {
					synctest.Wait()
					assert.Zero(t, d.settled.Load(), "nothing runs until somebody comes back to it")
					s.Settle(context.Background())
				}
				synctest.Wait()
				assert.EqualValues(t, 1, performed.Load())
				assert.EqualValues(t, 1, d.settled.Load())
				s.Settle(context.Background())
				assert.EqualValues(t, 1, d.settled.Load(), "once")
			})
		})
	}
}

// Who waits for a write is not left alone when the connection's own time ends
// while he does.
func TestSettleBeforeAConnectionIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		s := onDuplex(t, limit, stopped(resume, new(atomic.Int32)))
		d := s.note()
		require.ErrorIs(t, s.set(context.Background(), "k"), ErrNoProgress)
		time.Sleep(limit / 2)
		start := time.Now()
		time.AfterFunc(limit*3/4, func() { close(resume) })
		s.Settle(context.Background())
		assert.Equal(t, limit*3/4, time.Since(start))
		assert.EqualValues(t, 1, d.settled.Load())
	})
}

// Close gives the writes under way the time of a fence, once, and what has not
// come to its end by then is not over.
func TestCloseHeedsAFence(t *testing.T) {
	for name, tt := range map[string]struct{ before, takes time.Duration }{
		"of a write under way":   {0, limit},
		"while it is read":       {limit + limit/2, limit / 2},
		"when it is left":        {3 * limit, 0},
		"when that ends in time": {-1, limit / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var performed atomic.Int32
				resume := make(chan struct{})
				s := onDuplex(t, limit, stopped(resume, &performed), healthy)
				d := s.note()
				err := later(func() error { return s.set(context.Background(), "k") })
				synctest.Wait()
				inTime := tt.before < 0
				if inTime {
					time.AfterFunc(limit/2, func() { close(resume) })
				} else {
					time.Sleep(tt.before)
				}
				start := time.Now()
				s.Close()
				assert.InDelta(t, tt.takes, time.Since(start), float64(2*grace))
				require.Error(t, <-err)
				assert.Equal(t, []Write{{Key: "k", Op: Set, Stores: true}}, d.take())
				if !inTime {
					assert.Zero(t, d.settled.Load())
					s.wantValue(t, "again")
					s.Close()
					close(resume)
					s.Settle(context.Background())
				}
				synctest.Wait()
				assert.EqualValues(t, 1, performed.Load())
				assert.EqualValues(t, 1, d.settled.Load())
				s.mu.Lock()
				assert.Empty(t, s.conns)
				s.mu.Unlock()
			})
		})
	}
}

// Settle ends with its context.
func TestSettleIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := onDuplex(t, limit, stopped(release, new(atomic.Int32)))
		d := s.note()
		require.Error(t, s.set(context.Background(), "k"))
		time.Sleep(2 * limit)
		ctx, cancel := context.WithTimeout(context.Background(), limit/10)
		defer cancel()
		start := time.Now()
		s.Settle(ctx)
		assert.Equal(t, limit/10, time.Since(start))
		assert.Zero(t, d.settled.Load())
	})
}

// hesitant takes long to end reads, and ends those that have begun meanwhile, too.
type hesitant struct{ net.Conn }

func (c hesitant) SetReadDeadline(at time.Time) error {
	if at.Equal(longAgo) {
		c.Conn.SetReadDeadline(at)
		time.Sleep(limit / 10)
	}
	return c.Conn.SetReadDeadline(at)
}

func (c hesitant) CloseWrite() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// What ends one Settle does not end the next.
func TestSettleBehindAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		s := onDuplex(t, limit, stopped(resume, new(atomic.Int32)))
		dial := s.cfg.Dial
		s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
			nc, err := dial(ctx)
			return hesitant{nc}, err
		}
		d := s.note()
		require.Error(t, s.set(context.Background(), "k"))
		time.Sleep(2 * limit)
		ctx, cancel := context.WithTimeout(context.Background(), limit/10)
		defer cancel()
		s.Settle(ctx)
		time.AfterFunc(limit/2, func() { close(resume) })
		s.Settle(context.Background())
		assert.EqualValues(t, 1, d.settled.Load())
	})
}

// A server that sends without end is not read without end.
func TestADrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		s := onDuplex(t, limit, func(p *peer) {
			p.next()
			time.Sleep(2 * limit)
			b := make([]byte, 1<<20)
			for {
				n, err := p.Write(b)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		d := s.note()
		require.Error(t, s.set(context.Background(), "k"))
		time.Sleep(limit)
		s.Settle(context.Background())
		assert.Zero(t, d.settled.Load())
		assert.LessOrEqual(t, sent.Load(), int64(2*(drainBytes+drainBuffer)), "at the end of the connection, and once more")
	})
}

// What the other side has hung up on is over. Callers that wait find out; for
// those that have left the link tells.
func TestWritesOnAConnectionThatWasHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangUp := make(chan struct{})
		s := onDuplex(t, limit, func(p *peer) {
			p.say(p.next().answer())
			go p.ignore()
			<-hangUp
		}, healthy)
		d := s.note()
		s.wantValue(t, "a")
		ctx, cancel := context.WithTimeout(context.Background(), limit/10)
		defer cancel()
		require.ErrorIs(t, s.set(ctx, "left"), context.DeadlineExceeded)
		assert.Empty(t, d.take(), "it goes its way, and what follows comes behind it")
		waits := later(func() error { return s.set(context.Background(), "waits") })
		synctest.Wait()
		close(hangUp)
		require.NoError(t, <-waits, "repeated")
		assert.Equal(t, []Write{{Key: "left", Op: Set, Stores: true}}, d.take())
		synctest.Wait()
		assert.EqualValues(t, 1, d.settled.Load())
	})
}

// Which requests may undo what is stored later, and which are told at all.
func TestWhatIsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onDuplex(t, limit, silent)
		d := s.note()
		var reqs []Request
		for op := Get; op < OpEnd; op++ {
			if op != Stats && op != FlushAll && op != Version {
				reqs = append(reqs, Request{Op: op, Key: op.String()})
			}
		}
		share := Share{Link: s.Link, Reqs: reqs}
		Gather(context.Background(), []*Share{&share})
		require.Error(t, share.Err)
		assert.Equal(t, []Write{
			{Key: "set", Op: Set, Stores: true}, {Key: "add", Op: Add, Stores: true},
			{Key: "replace", Op: Replace, Stores: true}, {Key: "append", Op: Append, Stores: true},
			{Key: "prepend", Op: Prepend, Stores: true}, {Key: "delete", Op: Delete},
			{Key: "incr", Op: Increment, Stores: true}, {Key: "decr", Op: Decrement, Stores: true},
		}, d.take())
	})
}

// Of a batch only what has no reply is told.
func TestTheAnsweredPartOfABatchIsNoDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onDuplex(t, limit, func(p *peer) {
			p.say(p.next().answer())
			p.say(p.next().answer())
			p.ignore()
		})
		d := s.note()
		share := Share{Link: s.Link}
		for _, key := range []string{"a", "b", "c", "d"} {
			share.Reqs = append(share.Reqs, Request{Op: Delete, Key: key})
		}
		Gather(context.Background(), []*Share{&share})
		require.Error(t, share.Err)
		assert.Equal(t, []Write{{Key: "c", Op: Delete}, {Key: "d", Op: Delete}}, d.take())
	})
}

// With several connections what follows a write that was given up may overtake
// it, so that is told at once, and again when it has been answered.
func TestAWriteThatWasGivenUpBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		var performed atomic.Int32
		s := onDuplex(t, limit, func(p *peer) {
			p.say(p.next().answer())
			stopped(resume, &performed)(p)
		}, healthy)
		s.current = make([]atomic.Pointer[conn], 2)
		d := s.note()
		s.wantValue(t, "a")
		brief := func(f func(ctx context.Context) error) error {
			ctx, cancel := context.WithTimeout(context.Background(), limit/10)
			defer cancel()
			return f(ctx)
		}
		set := func(ctx context.Context) error { return s.set(ctx, "k") }
		for brief(set) == nil {
			require.Less(t, s.dials.Load(), int32(3), "a write by the second connection succeeds")
		}
		assert.Equal(t, []Write{{Key: "k", Op: Set, Stores: true}}, d.take())
		assert.Equal(t, []bool{false}, d.lost)
		get := func(ctx context.Context) error { _, err := s.getCtx(ctx, "b"); return err }
		first, second := brief(get), brief(get)
		assert.True(t, first == nil || second == nil, "by the other connection")
		assert.Zero(t, d.settled.Load())
		close(resume)
		synctest.Wait()
		s.wantValue(t, "c") // whose callers read for the one that left
		s.wantValue(t, "d")
		assert.EqualValues(t, 1, d.settled.Load())
		assert.Empty(t, d.take())
	})
}

// A caller that gives up half of its request abandons the connection with it: the
// write is told of once, as lost, and comes to its end.
func TestAWriteThatWasGivenUpHalfWay(t *testing.T) {
	release := make(chan struct{})
	s := onTCP(t, time.Minute, stuck(release), healthy)
	s.current = make([]atomic.Pointer[conn], 2)
	s.turn.Store(1) // the first lane is next
	d := s.note()
	cancelIn(t, s.look(blockedWrite), func(ctx context.Context) error {
		_, err := s.Do(ctx, &Request{Op: Set, Key: "k", Value: large})
		return err
	})
	close(release)
	reached(t, func() bool { return d.settled.Load() > 0 })
	assert.Equal(t, []bool{true}, d.lost)
}

// Over sockets and TLS: the end of a lost connection is heard, behind its
// replies.
func TestFenceOverSockets(t *testing.T) {
	for name, on := range map[string]onStage{"tcp": onTCP, "tls": onTLS} {
		t.Run(name, func(t *testing.T) {
			var performed atomic.Int32
			resume := make(chan struct{})
			s := on(t, limit, stopped(resume, &performed), healthy)
			d := s.note()
			require.Error(t, s.set(context.Background(), "k"))
			time.Sleep(limit / 10)
			assert.Zero(t, d.settled.Load())
			close(resume)
			reached(t, func() bool {
				s.Settle(context.Background())
				return d.settled.Load() == 1
			})
			assert.EqualValues(t, 1, performed.Load())
		})
	}
}

// A caller that reads for all leaves when the connection is given up under it.
func TestTheReaderLeavesALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onDuplex(t, limit, silent)
		s.note()
		err := later(func() error { return s.set(context.Background(), "k") })
		time.Sleep(limit / 2)
		s.current[0].Load().close(ErrNoProgress)
		synctest.Wait()
		require.ErrorIs(t, <-err, ErrNoProgress)
	})
}

// faults is what a Link tells of failures.
type faults struct {
	mu   sync.Mutex
	told []Fault
}

func (s *stage) count() *faults {
	f := new(faults)
	s.cfg.Failed = func(fault Fault, _ error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.told = append(f.told, fault)
	}
	return f
}

// Each way in which a connection ends says something of the server, or nothing.
func TestFaults(t *testing.T) {
	answerOne := func(p *peer) { p.say(p.next().answer()) }
	for _, tt := range []struct {
		name    string
		scripts []func(*peer)
		calls   int
		want    []Fault
	}{
		{"no progress", []func(*peer){silent}, 2, []Fault{Soft, Soft}},
		{"hung up before any reply", []func(*peer){func(p *peer) { p.next() }}, 3, []Fault{Soft, Hard, Hard}},
		{"hung up once", []func(*peer){func(p *peer) { p.next() }, healthy}, 3, []Fault{Soft}},
		{"hung up in mid-reply", []func(*peer){func(p *peer) { p.next(); p.say("VA 10 f0") }}, 2, []Fault{Soft, Soft}},
		{"died while idle", []func(*peer){answerOne}, 4, nil},
		{"nonsense", []func(*peer){func(p *peer) { p.next(); p.say("what?\r\n"); p.ignore() }}, 3, nil},
		{"an error line", []func(*peer){func(p *peer) {
			for p.next() != nil {
				p.say("SERVER_ERROR busy\r\n")
			}
		}}, 3, nil},
		{"turned away", []func(*peer){func(p *peer) { p.next(); p.say("ERROR Too many open connections\r\n") }}, 2, []Fault{Soft, Soft}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, tt.scripts...)
				f := s.count()
				for range tt.calls {
					s.get("k")
					time.Sleep(time.Second)
				}
				assert.Equal(t, tt.want, f.told)
			})
		})
	}
}

// A dial that fails is tried once more before it counts, if there is time.
func TestADialIsTriedTwiceBeforeItCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		works int // the dial that does
		dials int32
		want  []Fault
	}{
		{"the second works", 0, 2, 2, nil},
		{"neither works", 0, 0, 2, []Fault{Hard}},
		{"no time is left", 2 * limit, 0, 1, []Fault{Hard}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d *dialer
				server := memoryServer(t)
				d = newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(tt.takes):
					}
					if int(d.dials.Load()) == tt.works {
						return server(ctx)
					}
					return nil, errRefusedDial
				})
				var told []Fault
				d.cfg.Failed = func(fault Fault, _ error) { told = append(told, fault) }
				err := d.get(context.Background())
				assert.Equal(t, tt.works > 0, err == nil)
				synctest.Wait()
				assert.Equal(t, tt.want, told)
				assert.Equal(t, tt.dials, d.dials.Load())
			})
		})
	}
}

// A trial is no call's until it is kept, and its failures are nobody's.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, silent, healthy)
		f := s.count()
		trial, err := s.Try(context.Background())
		require.NoError(t, err)
		_, err = trial.Do(context.Background(), []Request{{Op: Get, Key: "k"}})
		require.ErrorIs(t, err, ErrNoProgress)
		trial.Close()
		assert.Empty(t, f.told)

		trial, err = s.Try(context.Background())
		require.NoError(t, err)
		replies, err := trial.Do(context.Background(), []Request{{Op: Get, Key: "k"}, {Op: Delete, Key: "l"}})
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(replies, func(r Reply) bool { return string(r.Value) == valueOf("k") }))
		assert.Nil(t, s.current[0].Load())
		trial.Keep()
		s.wantValue(t, "a")
		assert.EqualValues(t, 2, s.dials.Load())

		other, err := s.Try(context.Background())
		require.NoError(t, err)
		other.Vouch()
		_, err = other.Do(context.Background(), []Request{{Op: Delete, Key: "k"}})
		require.NoError(t, err, "there is one already, and this one is still open")
		other.Keep()
		synctest.Wait()
		s.wantValue(t, "b")
		s.mu.Lock()
		assert.Len(t, s.conns, 1)
		s.mu.Unlock()
	})
}
