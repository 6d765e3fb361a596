package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file tests what is repeated on a fresh connection: the table of
// mayRepeat row by row, and what callers see of it.

func TestRetryTable(t *testing.T) {
	failures := []struct {
		name  string
		err   error
		never bool
	}{
		{"hung up", io.EOF, false},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		{"broken pipe", &net.OpError{Op: "write", Err: syscall.EPIPE}, false},
		{"no progress", ErrNoProgress, true},
		{"closed by Close", ErrClosed, true},
		{"nonsense", &ProtocolError{Want: "get", Err: errMispaired}, true},
	}
	twice := map[Op]bool{Get: true, Set: true, Delete: true, Version: true, Inspect: true, Stats: true}
	for _, failure := range failures {
		for op := Get; op < OpEnd; op++ {
			for _, sent := range []bool{false, true} {
				for _, came := range []bool{false, true} {
					for _, answered := range []bool{false, true} {
						c := &conn{taken: 100, turns: turns{closed: true}}
						k := new(Link).newCall()
						k.single(&Request{Op: op})
						k.end, k.size = 150, 50
						if sent {
							k.end = 100
						}
						if answered {
							c.reads = 3
						}
						k.heard = c.reads
						if came {
							c.reads++
						}
						want := answered && !came && !failure.never && (!sent || twice[op])
						err := c.lost(k, failure.err)
						assert.Equal(t, want, mayRepeat(c, k, err), "%s: %v, sent %v, came %v, answered %v",
							failure.name, op, sent, came, answered)
						var lost *LostError
						if errors.As(err, &lost) {
							assert.Equal(t, sent, lost.Sent)
						}
						assert.ErrorIs(t, err, failure.err)
					}
				}
			}
		}
	}
	dial := &LostError{Err: io.EOF, Dial: true}
	k := new(Link).newCall()
	k.single(&Request{Op: Get})
	assert.False(t, mayRepeat(&conn{}, k, dial), "what could not be dialed")
}

func TestRetryOfABatchNeedsEachToBeRepeatable(t *testing.T) {
	c := &conn{taken: 100, reads: 1}
	batch := func(reqs ...Request) *call {
		k := new(Link).newCall()
		k.reqs, k.replies = reqs, make([]Reply, len(reqs))
		k.end, k.size, k.heard = 100, 50, 1
		return k
	}
	lost := &LostError{Err: io.EOF, Sent: true}
	assert.True(t, mayRepeat(c, batch(Request{Op: Get}, Request{Op: Set}, Request{Op: Delete}), lost))
	for op := Get; op < OpEnd; op++ {
		assert.Equal(t, repeatable[op], mayRepeat(c, batch(Request{Op: Get}, Request{Op: op}, Request{Op: Set}), lost), op)
	}
}

// everyOp performs f for each operation.
func everyOp(t *testing.T, f func(t *testing.T, req *Request)) {
	for op := Get; op < OpEnd; op++ {
		t.Run(op.String(), func(t *testing.T) {
			f(t, &Request{Op: op, Key: "k", Value: []byte("v"), CAS: 1, Delta: 1})
		})
	}
}

// A connection that died while it lay idle costs no operation anything.
func TestIdleDeathIsInvisible(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"FIN":        func(p *peer) { p.Close() },
		"RST":        func(p *peer) { p.Conn.(*net.TCPConn).SetLinger(0); p.Close() },
		"FIN, later": func(p *peer) { time.Sleep(15 * time.Millisecond); p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			everyOp(t, func(t *testing.T, req *Request) {
				s := onTCP(t, patient, func(p *peer) {
					p.say(p.next().answer())
					end(p)
				}, healthy)
				s.wantValue(t, "a")
				time.Sleep(2 * time.Duration(idleCheck))
				reached(t, s.look(func(c *conn) bool { return !c.quietLocked() }))
				reply, err := s.Do(context.Background(), req)
				require.NoError(t, err)
				assert.Equal(t, OK, reply.Status)
				assert.EqualValues(t, 2, s.dials.Load())
			})
		})
	}
}

// The server hangs up when it gets the request. Whether it has performed it,
// nobody knows: what may be done twice is, the rest fails and says so.
func TestDeathInUse(t *testing.T) {
	everyOp(t, func(t *testing.T, req *Request) {
		transports(t, func(t *testing.T, on onStage) {
			var performed atomic.Int32
			s := on(t, patient, func(p *peer) {
				p.say(p.next().answer())
				p.next()
				performed.Add(1)
			}, func(p *peer) {
				for a := p.next(); a != nil; a = p.next() {
					performed.Add(1)
					p.say(a.answer())
				}
			})
			s.wantValue(t, "a")
			reply, err := s.Do(context.Background(), req)
			if repeatable[req.Op] {
				require.NoError(t, err)
				assert.Equal(t, OK, reply.Status)
				assert.EqualValues(t, 2, performed.Load())
				return
			}
			var lost *LostError
			require.ErrorAs(t, err, &lost)
			assert.True(t, lost.Sent, "the outcome is unknown")
			assert.EqualValues(t, 1, performed.Load())
		})
	})
}

func TestRetriedOnceOnly(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) {
			p.say(p.next().answer())
			p.next()
		}, func(p *peer) { p.next() })
		s.wantValue(t, "a")
		_, err := s.get("b")
		require.ErrorIs(t, err, io.EOF)
		assert.EqualValues(t, 2, s.dials.Load())
	})
}

// The second attempt fails before it is sent. The first may have been performed,
// and so the outcome is unknown.
func TestRetryThatFailsSaysWhatTheFirstLeftOpen(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		for name, perform := range map[string]func(*stage) error{
			"single": func(s *stage) error {
				_, err := s.Do(context.Background(), &Request{Op: Set, Key: "k", Value: []byte("v")})
				return err
			},
			"batch": func(s *stage) error {
				share := &Share{Link: s.Link, Reqs: []Request{{Op: Set, Key: "k"}, {Op: Delete, Key: "l"}}}
				Gather(context.Background(), []*Share{share})
				return share.Err
			},
		} {
			s := on(t, patient, func(p *peer) {
				p.say(p.next().answer())
				p.next()
			})
			dial := s.cfg.Dial
			s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
				if s.dials.Load() > 0 {
					return nil, errRefusedDial
				}
				return dial(ctx)
			}
			s.wantValue(t, "a")
			err := perform(s)
			require.ErrorIs(t, err, errRefusedDial, name)
			var lost *LostError
			require.ErrorAs(t, err, &lost, name)
			assert.True(t, lost.Sent, name)
		}
	})
}

// On a connection that never answered nothing is repeated: a server that hangs
// up on each connection must not be asked twice by everybody.
func TestNoRetryOnAFreshConnection(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) { p.next() })
		_, err := s.get("a")
		require.ErrorIs(t, err, io.EOF)
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

func TestNoRetryAfterAReplyByte(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) {
			p.say(p.next().answer())
			p.next()
			p.say("V")
		}, healthy)
		s.wantValue(t, "a")
		_, err := s.get("b")
		require.ErrorIs(t, err, io.EOF)
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// Requests that still lay in the buffer were not performed, whatever they are.
func TestUnsentIsRepeated(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		hangUp := make(chan struct{})
		s := on(t, time.Minute, func(p *peer) {
			p.say(p.next().answer())
			<-hangUp
		}, healthy)
		s.wantValue(t, "a")
		stored := later(func() error {
			_, err := s.Do(context.Background(), &Request{Op: Append, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				reply, err := s.Do(context.Background(), &Request{Op: Increment, Key: "n", Delta: 1})
				assert.NoError(t, err)
				assert.Equal(t, OK, reply.Status)
			})
		}
		reached(t, s.look(func(c *conn) bool { return c.turns.last.state == parked }))
		close(hangUp)
		wg.Wait()
		var lost *LostError
		require.ErrorAs(t, <-stored, &lost)
		assert.True(t, lost.Sent)
	})
}

// A batch goes on, on a fresh connection, behind the windows it has.
func TestBatchGoesOnAfterIdleDeath(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		keys := numbered(2*windowRequests + 10)
		s := on(t, patient, func(p *peer) {
			for range windowRequests {
				p.say(p.next().answer())
			}
		}, healthy)
		share := &Share{Link: s.Link, Keys: keys}
		Gather(context.Background(), []*Share{share})
		require.NoError(t, share.Err)
		for i, reply := range share.Replies {
			require.Equal(t, valueOf(keys[i]), string(reply.Value))
		}
	})
}

// What came before a connection died in the middle of a batch is kept.
func TestBatchKeepsWhatCame(t *testing.T) {
	for _, protocol := range []Protocol{Meta, Classic} {
		t.Run(fmt.Sprint(protocol), func(t *testing.T) {
			transports(t, func(t *testing.T, on onStage) {
				requests := map[Protocol]int{Meta: 100, Classic: 1}
				s := on(t, patient, func(p *peer) {
					whole := ""
					for range requests[protocol] { // what is not read resets the connection
						whole += p.next().answer()
					}
					p.say(whole[:len(whole)/2])
				}, healthy)
				s.cfg.Protocol = protocol
				share := &Share{Link: s.Link, Keys: numbered(100)}
				Gather(context.Background(), []*Share{share})
				require.ErrorIs(t, share.Err, io.EOF)
				assert.InDelta(t, 50, len(share.Replies), 2)
				for i, reply := range share.Replies {
					assert.Equal(t, valueOf(share.Keys[i]), string(reply.Value))
				}
				s.wantValue(t, "b")
			})
		})
	}
}
