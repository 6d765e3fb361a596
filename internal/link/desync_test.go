package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/fakeserver"
)

// This file holds the ways in which a reply could reach a caller it is not
// for. In each the caller gets its own answer or an error, and the next one on
// a fresh connection is served well.

type onStage = func(*testing.T, time.Duration, ...func(*peer)) *stage

func TestHalfValueClosesTheConnection(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, 100*time.Millisecond, func(p *peer) {
			a := p.next()
			whole := a.hit("a value that stops half way")
			p.say(whole[:len(whole)/2])
			p.ignore()
		}, healthy)
		_, err := s.get("a")
		require.ErrorIs(t, err, ErrNoProgress)
		s.wantValue(t, "b")
		assert.EqualValues(t, 2, s.dials.Load())
	})
}

func TestLateReplyGoesToNobody(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		givenUp := make(chan struct{})
		s := on(t, patient, func(p *peer) {
			late := p.next().answer()
			<-givenUp
			p.say(late)
			p.serve()
		})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		_, err := s.getCtx(ctx, "a")
		close(givenUp)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.wantValue(t, "b")
		assert.EqualValues(t, 1, s.dials.Load(), "the connection lives on")
	})
}

func TestLateReplyOfLinesGoesToNobody(t *testing.T) {
	// touch, version and flush_all are paired by order alone.
	for _, op := range []Op{Touch, Version, FlushAll} {
		t.Run(op.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, time.Second, func(p *peer) {
					p.next()
					time.Sleep(40 * time.Millisecond)
					p.say("TOUCHED\r\n")
					p.serve()
				})
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				defer cancel()
				_, err := s.Do(ctx, &Request{Op: Touch, Key: "a"})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				reply, err := s.Do(context.Background(), &Request{Op: op, Key: "b"})
				require.NoError(t, err)
				assert.Equal(t, OK, reply.Status)
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

func TestInterruptedBatchLeavesNothingBehind(t *testing.T) {
	for _, protocol := range []Protocol{Meta, Classic} {
		t.Run(fmt.Sprint(protocol), func(t *testing.T) {
			transports(t, func(t *testing.T, on onStage) {
				resume := make(chan struct{})
				s := on(t, patient, func(p *peer) {
					first := p.next()
					<-resume
					p.say(first.answer())
					p.serve()
				})
				s.cfg.Protocol = protocol
				share := &Share{Link: s.Link, Keys: numbered(5)}
				ctx, cancel := context.WithCancel(context.Background())
				gathered := later(func() error { Gather(ctx, []*Share{share}); return share.Err })
				reached(t, s.look(func(c *conn) bool { return c.turns.reader != nil }))
				cancel()
				require.ErrorIs(t, <-gathered, context.Canceled)
				assert.Empty(t, share.Replies)
				close(resume)
				s.wantValue(t, "single")
				s.wantValue(t, "another")
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	return keys
}

// A reply that cannot be the next one closes the connection. Every caller on
// it gets an error, and the next connection is good.
func TestNonsenseClosesTheConnection(t *testing.T) {
	swap := func(a, b *asked) string { return b.answer() + a.answer() }
	rows := map[string]func(a, b *asked) string{
		"replies swapped":           swap,
		"opaque of another":         func(a, b *asked) string { return strings.Replace(a.answer(), a.opaque(), "Ozz", 1) },
		"no opaque":                 func(a, b *asked) string { return strings.Replace(a.answer(), " "+a.opaque(), "", 1) },
		"opaque of the next":        func(a, b *asked) string { return b.answer() },
		"a miss of another":         func(a, b *asked) string { return "EN " + b.opaque() + "\r\n" },
		"a stored of another":       func(a, b *asked) string { return "HD " + b.opaque() + "\r\n" },
		"not a kind for mg":         func(a, b *asked) string { return "HD " + a.opaque() + "\r\n" },
		"NF for mg":                 func(a, b *asked) string { return "NF " + a.opaque() + "\r\n" },
		"MN":                        func(a, b *asked) string { return "MN\r\n" },
		"no flags":                  func(a, b *asked) string { return "VA 1 c1 " + a.opaque() + "\r\nv\r\n" },
		"no version":                func(a, b *asked) string { return "VA 1 f0 " + a.opaque() + "\r\nv\r\n" },
		"garbage":                   func(a, b *asked) string { return "\x00\x81garbage\r\n" },
		"a line without end":        func(a, b *asked) string { return strings.Repeat("x", 4096) },
		"classic hit":               func(a, b *asked) string { return "VALUE a 0 1\r\nv\r\nEND\r\n" },
		"value shorter than it":     func(a, b *asked) string { return "VA 9 f0 c1 " + a.opaque() + "\r\nshort\r\n" + b.answer() },
		"value longer than it":      func(a, b *asked) string { return "VA 2 f0 c1 " + a.opaque() + "\r\nlonger\r\n" },
		"large value longer":        func(a, b *asked) string { return fmt.Sprintf("VA 70000 f0 c1 %s\r\n%070002d", a.opaque(), 0) },
		"larger than allowed":       func(a, b *asked) string { return fmt.Sprintf("VA %d f0 c1 %s\r\n", 64<<20+1, a.opaque()) },
		"size beyond any integer":   func(a, b *asked) string { return "VA 99999999999999999999 f0 c1 " + a.opaque() + "\r\n" },
		"negative size":             func(a, b *asked) string { return "VA -1 f0 c1 " + a.opaque() + "\r\n" },
		"one reply too many":        func(a, b *asked) string { return a.answer() + b.answer() + b.answer() },
		"CLIENT_ERROR without text": func(a, b *asked) string { return "CLIENT_ERROR\r\nERROR\r\n" },
	}
	for name, reply := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, time.Second, func(p *peer) {
					a := p.next()
					b := p.next()
					p.say(reply(a, b))
					p.serve()
				}, healthy)
				var wg sync.WaitGroup
				for _, key := range []string{"a", "b"} {
					wg.Go(func() {
						value, err := s.get(key)
						if err == nil {
							assert.Equal(t, valueOf(key), value)
						}
					})
				}
				wg.Wait()
				s.wantValue(t, "c")
				assert.EqualValues(t, 2, s.dials.Load())
			})
		})
	}
}

func TestNonsenseIsATypedError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Second, func(p *peer) {
			p.next()
			p.say("VALUE a 0 3\r\nabc\r\nEND\r\n")
			p.ignore()
		})
		_, err := s.get("a")
		var nonsense *ProtocolError
		require.ErrorAs(t, err, &nonsense)
		assert.Equal(t, "get", nonsense.Want)
		assert.Contains(t, string(nonsense.Got), "VALUE a 0 3")
		assert.NotContains(t, err.Error(), "VALUE", "what came stays out of the text")
	})
}

// Bytes that nobody asked for must not become the answer to the next request.
func TestUnsolicitedBytesAreNobodysReply(t *testing.T) {
	rows := map[string]struct {
		bytes string
		after time.Duration // since the reply before it
		pause time.Duration // before the next request
	}{
		"an error line after a long idle": {"SERVER_ERROR out of memory\r\n", 0, 20 * time.Millisecond},
		"an error line behind the reply":  {"SERVER_ERROR out of memory\r\n", 0, 0},
		"a classic line after long idle":  {"TOUCHED\r\n", 0, 20 * time.Millisecond},
		"a duplicate of the reply":        {"HD O" + firstOpaque + "\r\n", time.Millisecond, 2 * time.Millisecond},
		"a miss without opaque":           {"EN\r\n", time.Millisecond, 2 * time.Millisecond},
	}
	for name, row := range rows {
		for _, op := range []Op{Get, Touch, Set} {
			t.Run(fmt.Sprintf("%s, then %v", name, op), func(t *testing.T) {
				s := onTCP(t, patient, func(p *peer) {
					a := p.next()
					p.say("EN " + a.opaque() + "\r\n")
					a = p.next()
					if row.after == 0 {
						p.say(a.answer() + row.bytes)
					} else {
						p.say(a.answer())
						time.Sleep(row.after)
						p.say(row.bytes)
					}
					p.serve()
				}, healthy)
				_, err := s.get("absent")
				require.ErrorIs(t, err, errMiss)
				_, err = s.Do(context.Background(), &Request{Op: Set, Key: "a"})
				require.NoError(t, err)
				time.Sleep(row.pause)
				reply, err := s.Do(context.Background(), &Request{Op: op, Key: "b", Value: []byte("v")})
				if err == nil {
					assert.Equal(t, OK, reply.Status, "%v", reply.Err)
				} else {
					var nonsense *ProtocolError
					assert.ErrorAs(t, err, &nonsense)
				}
			})
		}
	}
}

// A reply that comes before its request has left is not its reply.
func TestReplyBeforeTheRequestClosesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queued := make(chan struct{})
		s := onPipe(t, time.Second, func(p *peer) {
			p.in.ReadString('\n') // the line of a set, whose value is being written
			<-queued
			p.say("SERVER_ERROR object too large for cache\r\nTOUCHED\r\n")
			time.Sleep(time.Millisecond) // until it has been looked at
			p.ignore()
		}, healthy)
		stored := later(func() error {
			_, err := s.Do(context.Background(), &Request{Op: Set, Key: "big", Value: make([]byte, 1<<20)})
			return err
		})
		reached(t, s.look(func(c *conn) bool { return c.taken > 0 }))
		touched := later(func() error {
			_, err := s.Do(context.Background(), &Request{Op: Touch, Key: "b"})
			return err
		})
		reached(t, s.look(func(c *conn) bool { return c.turns.last.call.reqs[0].Op == Touch }))
		close(queued)
		var nonsense *ProtocolError
		require.ErrorAs(t, <-touched, &nonsense)
		<-stored
		s.wantValue(t, "c")
	})
}

func TestErrorLineInStepCostsNobodyElse(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				if a.key() == "big" {
					p.say("SERVER_ERROR object too large for cache\r\n")
				} else {
					p.say(a.answer())
				}
			}
		})
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if i%3 == 0 {
					reply, err := s.Do(context.Background(), &Request{Op: Set, Key: "big", Value: make([]byte, 100)})
					assert.NoError(t, err)
					assert.Equal(t, Refused, reply.Status)
					assert.EqualError(t, reply.Err, "SERVER_ERROR object too large for cache")
					return
				}
				value, err := s.get(fmt.Sprint(i))
				assert.NoError(t, err)
				assert.Equal(t, valueOf(fmt.Sprint(i)), value)
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// After some error lines the server reads the rest of the request as commands:
// what comes then is an answer to nothing.
func TestErrorLineOutOfStepCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Second, func(p *peer) {
			p.next()
			p.say("CLIENT_ERROR bad data chunk\r\nERROR\r\n")
			p.serve()
		}, healthy)
		stored := later(func() error {
			reply, err := s.Do(context.Background(), &Request{Op: Set, Key: "k", Value: []byte("v")})
			return errors.Join(err, reply.Err)
		})
		require.EqualError(t, <-stored, "CLIENT_ERROR bad data chunk", "its own caller is told why")
		s.wantValue(t, "b")
		assert.EqualValues(t, 2, s.dials.Load())
	})
}

// With extstore, a server may take a value that it has refused for commands: what
// it says to the first of them is no answer to the next request.
func TestErrorLinesOfARefusedValueGoToNobody(t *testing.T) {
	for _, said := range []string{"ERROR", "CLIENT_ERROR bad command line format"} {
		for name, protocol := range map[string]Protocol{"meta": Meta, "classic": Classic} {
			t.Run(said+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := onPipe(t, time.Second, func(p *peer) {
						p.next()
						p.say("SERVER_ERROR object too large for cache\r\n")
						p.next()
						p.say(said + "\r\n")
						p.ignore()
					}, healthy)
					s.cfg.Protocol = protocol
					share := &Share{Link: s.Link, Reqs: []Request{{Op: Set, Key: "big", Value: []byte("hello\r\n")}, {Op: Delete, Key: "b"}}}
					Gather(context.Background(), []*Share{share})
					require.Len(t, share.Replies, 1, "the second request has no answer")
					assert.EqualError(t, share.Replies[0].Err, "SERVER_ERROR object too large for cache")
					var nonsense *ProtocolError
					require.ErrorAs(t, share.Err, &nonsense)
					s.wantValue(t, "c")
					assert.EqualValues(t, 2, s.dials.Load())
				})
			})
		}
	}
}

// All values of a batch have come, and an error line where END belongs.
func TestErrorLineInPlaceOfEnd(t *testing.T) {
	for _, line := range []string{"SERVER_ERROR out of memory writing get response", "ERROR Too many open connections", "CLIENT_ERROR"} {
		for _, n := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d keys", line, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := onPipe(t, time.Second, func(p *peer) {
						p.say(strings.Replace(p.next().answer(), "END", line, 1))
						p.ignore()
					})
					s.cfg.Protocol = Classic
					share := &Share{Link: s.Link, Keys: numbered(n)}
					Gather(context.Background(), []*Share{share})
					for i, reply := range share.Replies {
						if reply.Status == OK {
							assert.Equal(t, valueOf(share.Keys[i]), string(reply.Value))
						}
					}
				})
			})
		}
	}
}

// Misses of servers before 1.6.18 carry no opaque.
func TestBareMissIsPairedByOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Second, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				if strings.HasPrefix(a.key(), "absent") {
					p.say("EN\r\n")
				} else {
					p.say(a.answer())
				}
			}
		})
		share := &Share{Link: s.Link, Keys: []string{"absent1", "a", "absent2", "absent3", "b"}}
		Gather(context.Background(), []*Share{share})
		require.NoError(t, share.Err)
		for i, key := range share.Keys {
			if strings.HasPrefix(key, "absent") {
				assert.Equal(t, Miss, share.Replies[i].Status)
			} else {
				assert.Equal(t, valueOf(key), string(share.Replies[i].Value))
			}
		}
	})
}

func TestValuesMayLookLikeTheProtocol(t *testing.T) {
	values := []string{"END\r\n", "\r\nEND\r\n", "VA 1 f0 c1 O0\r\nx\r\n", "SERVER_ERROR\r\n", "\r\n", "\n", "MN\r\n" + strings.Repeat("HD O1\r\n", 3000)}
	for _, protocol := range []Protocol{Meta, Classic} {
		t.Run(fmt.Sprint(protocol), func(t *testing.T) {
			l := embedded(t)
			l.cfg.Protocol = protocol
			for i, value := range values {
				_, err := l.Do(context.Background(), &Request{Op: Set, Key: fmt.Sprint(i), Value: []byte(value)})
				require.NoError(t, err)
			}
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					for i, value := range values {
						reply, err := l.Do(context.Background(), &Request{Op: Get, Key: fmt.Sprint(i)})
						assert.NoError(t, err)
						assert.Equal(t, value, string(reply.Value))
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestValueNeverChangesAfterReturn(t *testing.T) {
	l := embedded(t)
	ctx := context.Background()
	for i := range 100 {
		key := fmt.Sprint(i)
		_, err := l.Do(ctx, &Request{Op: Set, Key: key, Value: stamp(key, 100+i*500)})
		require.NoError(t, err)
	}
	var kept []Reply
	for range 3 {
		for i := range 100 {
			reply, err := l.Do(ctx, &Request{Op: Get, Key: fmt.Sprint(i)})
			require.NoError(t, err)
			kept = append(kept, reply)
		}
	}
	for i, reply := range kept {
		key := fmt.Sprint(i % 100)
		assert.Equal(t, string(stamp(key, 100+i%100*500)), string(reply.Value))
	}
}

// However a reply is cut into packets, the value is the same.
func TestReplySplitAnywhere(t *testing.T) {
	sizes := []int{0, 1, 100, directSize - 1, directSize, directSize + 1, 2 * readBuffer}
	for _, protocol := range []Protocol{Meta, Classic} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%v, %d bytes", protocol, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					value := string(stamp("k", size)[:size])
					cut := make(chan int, 1)
					s := onPipe(t, time.Second, func(p *peer) {
						for a := p.next(); a != nil; a = p.next() {
							reply := a.hit(value)
							if a.words[0] == "gets" {
								reply = fmt.Sprintf("VALUE %s 0 %d 1\r\n%s\r\nEND\r\n", a.key(), size, value)
							}
							at := <-cut
							if at < 0 {
								at += len(reply)
							}
							p.say(reply[:at])
							p.say(reply[at:])
						}
					})
					s.cfg.Protocol = protocol
					for _, from := range []int{0, -12} { // around the header, around the end
						for i := range 40 {
							if at := from + i; from == 0 && at <= size || from < 0 && at < 0 {
								cut <- at
								got, err := s.get("k")
								require.NoError(t, err, "cut at %d", at)
								require.True(t, got == value, "cut at %d", at)
							}
						}
					}
				})
			})
		}
	}
}

// Bytes that come one at a time are what they are in one piece.
func TestReplyByteByByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Second, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				for _, b := range []byte(a.answer()) {
					p.say(string(b))
				}
			}
		})
		for _, key := range numbered(20) {
			s.wantValue(t, key)
		}
		share := &Share{Link: s.Link, Keys: numbered(20)}
		Gather(context.Background(), []*Share{share})
		require.NoError(t, share.Err)
		for i, key := range share.Keys {
			assert.Equal(t, valueOf(key), string(share.Replies[i].Value))
		}
	})
}

func TestReplyThenHangUp(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) { p.say(p.next().answer()) })
		for _, key := range numbered(20) {
			s.wantValue(t, key)
		}
	})
}

func TestHalfReplyThenHangUp(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"FIN": func(p *peer) { p.Close() },
		"RST": func(p *peer) { p.Conn.(*net.TCPConn).SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{100, directSize, 1 << 20} {
				s := onTCP(t, patient, func(p *peer) {
					whole := p.next().hit(strings.Repeat("x", size))
					p.say(whole[:len(whole)/2])
					end(p)
				}, healthy)
				_, err := s.get("a")
				var lost *LostError
				require.ErrorAs(t, err, &lost)
				assert.True(t, lost.Sent)
				if name == "FIN" {
					assert.ErrorIs(t, err, io.EOF)
				}
				s.wantValue(t, "b")
			}
		})
	}
}

// Statistics without an end cost a connection, not the memory.
func TestEndlessStatistics(t *testing.T) {
	s := onTCP(t, patient, func(p *peer) {
		p.next()
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(p, "STAT name:%d %0500d\r\n", i, i); err != nil {
				return
			}
		}
	}, healthy)
	before := allocated()
	_, err := s.Do(context.Background(), &Request{Op: Stats})
	require.Error(t, err)
	assert.Less(t, allocated()-before, uint64(64<<20))
	s.wantValue(t, "b")
}

// A proxy that asks several servers may give values in another order than that of
// the keys. Their keys say where they belong.
func TestBatchFromAProxyInAnotherOrder(t *testing.T) {
	large := stamp("b", directSize+10)
	address := fakeserver.Start(t, func(c *net.TCPConn) {
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			fmt.Fprintf(c, "VALUE d 0 1 4\r\nD\r\nVALUE b 7 %d 2\r\n%s\r\nVALUE e 0 0 5\r\n\r\nVALUE a 0 1 1\r\nA\r\nEND\r\n", len(large), large)
		}
	})
	l := newLink(t, "tcp", address, time.Second)
	l.cfg.Protocol = Classic
	share := &Share{Link: l, Keys: []string{"a", "b", "c", "d", "e", "f"}}
	Gather(context.Background(), []*Share{share})
	require.NoError(t, share.Err)
	var got []string
	for _, r := range share.Replies {
		got = append(got, fmt.Sprintf("%d %d %.1s", r.Status, r.CAS, r.Value))
	}
	assert.Equal(t, []string{"1 1 A", "1 2 b", "2 0 ", "1 4 D", "1 5 ", "2 0 "}, got)
	assert.Equal(t, string(large), string(share.Replies[1].Value))

	// What was not asked for, or came before, is still no reply.
	for _, wrong := range []string{"VALUE x 0 1 1\r\nX\r\n", "VALUE a 0 1 1\r\nA\r\nVALUE a 0 1 1\r\nA\r\n"} {
		address := fakeserver.Start(t, func(c *net.TCPConn) {
			bufio.NewReader(c).ReadString('\n')
			fmt.Fprint(c, "VALUE b 0 1 1\r\nB\r\n"+wrong+"END\r\n")
		})
		l := newLink(t, "tcp", address, time.Second)
		l.cfg.Protocol = Classic
		share := &Share{Link: l, Keys: []string{"a", "b"}}
		Gather(context.Background(), []*Share{share})
		var nonsense *ProtocolError
		require.ErrorAs(t, share.Err, &nonsense)
	}
}
