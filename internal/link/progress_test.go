package link

import (
	"context"
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
)

// This file tests the bound on time without progress, in virtual time: what
// counts as progress, from when it is counted, and that nobody waits longer.

const limit = 500 * time.Millisecond

// patient is a bound that is not the point of a test.
const patient = 10 * time.Second

// after expects that d has passed since start, give or take a reader's grace.
func after(t *testing.T, d time.Duration, start time.Time) {
	t.Helper()
	assert.InDelta(t, d, time.Since(start), 2*float64(grace), "%v", time.Since(start))
}

func TestSilenceFailsEveryWaiterAtTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			p.say(p.next().answer())
			p.ignore()
		})
		s.wantValue(t, "a")
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			time.Sleep(time.Millisecond)
			wg.Go(func() {
				_, err := s.get(fmt.Sprint(i))
				assert.ErrorIs(t, err, ErrNoProgress)
				after(t, limit+time.Millisecond, start)
				var netError net.Error
				if assert.ErrorAs(t, err, &netError) {
					assert.True(t, netError.Timeout())
				}
			})
		}
		wg.Wait()
	})
}

func TestDripIsNoProgress(t *testing.T) {
	for _, size := range []int{100, directSize, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					whole := p.next().hit(strings.Repeat("x", size))
					for i := range whole {
						time.Sleep(400 * time.Millisecond)
						p.say(whole[i : i+1])
						if i > 1000 {
							return
						}
					}
				})
				start := time.Now()
				_, err := s.get("a")
				require.ErrorIs(t, err, ErrNoProgress)
				after(t, limit, start)
			})
		})
	}
}

// saySlowly sends s in steps of size bytes with a pause before each.
func (p *peer) saySlowly(s string, size int, pause time.Duration) {
	for len(s) > 0 {
		time.Sleep(pause)
		n := min(size, len(s))
		p.say(s[:n])
		s = s[n:]
	}
}

func TestStepsOfALargeValueAreProgress(t *testing.T) {
	rows := []struct {
		name  string
		step  int
		fails bool
	}{
		{"65 KiB per 400 ms", 65 << 10, false},
		{"32 KiB per 400 ms", 32 << 10, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				value := string(stamp("k", 1<<20))
				s := onPipe(t, limit, func(p *peer) {
					p.saySlowly(p.next().hit(value), row.step, 400*time.Millisecond)
					p.serve()
				})
				waiter := later(func() error {
					time.Sleep(100 * time.Millisecond)
					_, err := s.get("b")
					return err
				})
				got, err := s.get("k")
				if row.fails {
					require.ErrorIs(t, err, ErrNoProgress)
					require.ErrorIs(t, <-waiter, ErrNoProgress)
					return
				}
				require.NoError(t, err)
				require.True(t, got == value)
				require.NoError(t, <-waiter, "progress of one is progress for all")
			})
		})
	}
}

func TestRepliesExtendTheBound(t *testing.T) {
	for _, protocol := range []Protocol{Meta, Classic} {
		t.Run(fmt.Sprint(protocol), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					requests := make(chan *asked, 100)
					go func() {
						defer close(requests)
						for a := p.next(); a != nil; a = p.next() {
							requests <- a
						}
					}()
					for a := range requests {
						if a.words[0] == "gets" && len(a.words) > 2 { // value by value
							for _, v := range strings.SplitAfter(a.answer(), "\r\nVALUE") {
								p.saySlowly(v, len(v), 400*time.Millisecond)
							}
							continue
						}
						p.saySlowly(a.answer(), 1000, 400*time.Millisecond)
					}
				})
				s.cfg.Protocol = protocol
				single := later(func() error {
					time.Sleep(time.Second)
					_, err := s.get("single")
					return err
				})
				share := &Share{Link: s.Link, Keys: numbered(20)}
				Gather(context.Background(), []*Share{share})
				require.NoError(t, share.Err)
				assert.Len(t, share.Replies, 20)
				require.NoError(t, <-single, "behind 17 others, each in time")
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

// The deadline of the socket was set for an earlier call. Passing, it fails
// nobody else.
func TestOldDeadlineFailsNobody(t *testing.T) {
	for _, pause := range []time.Duration{0, limit / 2, limit - 10*time.Millisecond, limit, limit * 3 / 2, 10 * limit} {
		t.Run(pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					for a := p.next(); a != nil; a = p.next() {
						p.saySlowly(a.answer(), 1000, limit-20*time.Millisecond)
					}
				})
				for _, key := range numbered(5) {
					s.wantValue(t, key)
					time.Sleep(pause)
				}
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

// The bound passes, and the reply is there: it counts.
func TestReplyAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				time.Sleep(limit + time.Millisecond)
				p.say(a.answer())
			}
		})
		for range 3 {
			s.wantValue(t, "a")
		}
	})
}

// Everybody gave up and nobody reads. The next caller finds the old replies,
// throws them away and gets its own.
func TestAbandonedCallsAreDrainedByTheNext(t *testing.T) {
	const timeout = 500 * time.Millisecond // of a handshake on a busy machine, too
	transports(t, func(t *testing.T, on onStage) {
		for _, pause := range []time.Duration{20 * time.Millisecond, timeout + 100*time.Millisecond} {
			s := on(t, timeout, func(p *peer) {
				requests := make(chan *asked, 100)
				go func() {
					defer close(requests)
					for a := p.next(); a != nil; a = p.next() {
						requests <- a
					}
				}()
				time.Sleep(15 * time.Millisecond)
				for a := range requests {
					p.say(a.answer())
				}
			})
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			var wg sync.WaitGroup
			for _, key := range numbered(20) {
				wg.Go(func() {
					_, err := s.getCtx(ctx, key)
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				})
			}
			wg.Wait()
			cancel()
			time.Sleep(pause)
			for _, key := range []string{"a", "b"} {
				s.wantValue(t, key)
			}
		}
	})
}

// Nobody listened while nobody waited: the clock starts with the next caller.
func TestClockStartsWithTheNextCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) { p.ignore() })
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		_, err := s.getCtx(ctx, "a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(limit - 50*time.Millisecond)
		start := time.Now()
		_, err = s.get("b")
		require.ErrorIs(t, err, ErrNoProgress)
		after(t, limit, start)
	})
}

// Callers that give up earlier than Timeout must not keep a dead connection
// alive for ever: no reply for as long as Timeout, and the next gets a new one.
func TestShortDeadlinesReplaceADeadConnection(t *testing.T) {
	rows := []struct {
		name    string
		callers int
		pause   time.Duration
	}{
		{"one caller", 1, 0},
		{"one caller, with pauses", 1, 100 * time.Millisecond},
		{"callers that overlap", 4, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			transports(t, func(t *testing.T, on onStage) {
				s := on(t, limit, silent, healthy)
				start := time.Now()
				var wg sync.WaitGroup
				for g := range row.callers {
					wg.Go(func() {
						time.Sleep(time.Duration(g) * 10 * time.Millisecond)
						for time.Since(start) < 4*limit {
							ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
							_, err := s.getCtx(ctx, "a")
							cancel()
							if err == nil {
								break
							}
							time.Sleep(row.pause)
						}
						assert.Less(t, time.Since(start), 3*limit)
					})
				}
				wg.Wait()
				assert.EqualValues(t, 2, s.dials.Load())
			})
		})
	}
}

// Readers that come and go do not move the bound of a caller that stays.
func TestLeavingReadersDoNotMoveTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, silent)
		start := time.Now()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for g := range 3 {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(20+7*g+i%5)*time.Millisecond)
					s.getCtx(ctx, "short")
					cancel()
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		begun := time.Now()
		_, err := s.get("a")
		require.ErrorIs(t, err, ErrNoProgress)
		assert.LessOrEqual(t, time.Since(begun), limit+2*time.Duration(grace))
		after(t, limit, start)
		close(stop)
		wg.Wait()
	})
}

func TestBlockedWriteFailsAtTheBound(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		defer close(release)
		s := on(t, limit, stuck(release))
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				_, err := s.Do(context.Background(), &Request{Op: Set, Key: "large", Value: large})
				assert.ErrorIs(t, err, ErrNoProgress)
				// What the kernel's buffers still take counts as progress; a busy
				// machine is late beside it.
				assert.Less(t, time.Since(start), patient)
			})
		}
		wg.Wait()
	})
}

// A write that was begun by somebody who left is not granted more time.
func TestHandedOverWriteKeepsItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		s := onPipe(t, limit, stuck(release))
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), limit*8/10)
		defer cancel()
		first := later(func() error {
			_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := s.get("a")
				assert.ErrorIs(t, err, ErrNoProgress)
				after(t, limit, start)
			})
		}
		wg.Wait()
		require.ErrorIs(t, <-first, context.DeadlineExceeded)
	})
}

// A large value that is sent slowly is progress, for those behind it as well.
func TestSlowUploadIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			line, _ := p.in.ReadString('\n')
			left := int64(len(large) + len(crlf))
			for range 20 {
				time.Sleep(400 * time.Millisecond)
				n, _ := io.CopyN(io.Discard, p.in, 65<<10)
				left -= n
			}
			io.CopyN(io.Discard, p.in, left)
			p.say("HD " + (&asked{words: strings.Fields(line)}).opaque() + "\r\n")
			p.serve()
		})
		stored := later(func() error {
			_, err := s.Do(context.Background(), &Request{Op: Set, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		value, err := s.get("behind")
		require.NoError(t, err)
		assert.Equal(t, valueOf("behind"), value)
		require.NoError(t, <-stored)
	})
}

// While a batch waited for another server, what this one sent lay unread, and
// what it could not send has not even begun.
func TestBatchThatWaitedElsewhereListensFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := onPipe(t, limit, func(p *peer) {
			for range 10 {
				a := p.next()
				if a == nil {
					return
				}
				p.saySlowly(a.answer(), 1000, 400*time.Millisecond)
			}
			p.serve()
		})
		stopped := onPipe(t, limit, func(p *peer) {
			a := p.next()
			whole := a.hit(strings.Repeat("x", 200000))
			p.say(whole[:10]) // blocks until somebody reads
			p.saySlowly(whole[10:], 64<<10, 400*time.Millisecond)
			p.serve()
		})
		shares := []*Share{{Link: slow.Link, Keys: numbered(5)}, {Link: stopped.Link, Keys: []string{"k"}}}
		Gather(context.Background(), shares)
		require.NoError(t, shares[0].Err)
		require.NoError(t, shares[1].Err)
		assert.Len(t, shares[1].Replies[0].Value, 200000)
	})
}

// Servers that say nothing are silent all at the same time, though a batch
// listens to one after the other. What the others said lies there to be read.
func TestBatchOverStoppedServersTakesOneTimeout(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		const stopped = 8
		timeout := limit
		if t.Name() != "TestBatchOverStoppedServersTakesOneTimeout/pipe" {
			timeout = 2 * time.Second // on a busy machine
		}
		var shares []*Share
		for i := range 2 * stopped {
			script := healthy
			if i%2 == 0 {
				script = silent
			}
			shares = append(shares, &Share{Link: on(t, timeout, script).Link, Keys: numbered(50)})
		}
		start := time.Now()
		Gather(context.Background(), shares)
		assert.Less(t, time.Since(start), timeout+(stopped+1)*2*time.Duration(grace)+timeout/2)
		for i, s := range shares {
			if i%2 == 0 {
				assert.ErrorIs(t, s.Err, ErrNoProgress)
				continue
			}
			require.NoError(t, s.Err)
			for j, reply := range s.Replies {
				require.Equal(t, valueOf(s.Keys[j]), string(reply.Value))
			}
		}
	})
}

// What a server drips is no progress for a batch either.
func TestDripIsNoProgressForABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) { p.saySlowly(p.next().answer(), 1, 400*time.Millisecond) })
		start := time.Now()
		share := &Share{Link: s.Link, Keys: []string{"a"}}
		Gather(context.Background(), []*Share{share})
		require.ErrorIs(t, share.Err, ErrNoProgress)
		after(t, limit, start)
	})
}

// rekeying writes while it reads, as crypto/tls does when the server sends a new
// key.
type rekeying struct{ net.Conn }

func (c rekeying) Read(b []byte) (n int, err error) {
	if n, err = c.Conn.Read(b); err == nil {
		_, err = io.WriteString(c.Conn, "rekeyed\r\n")
	}
	return n, err
}

// The deadline of a write is over when the write is.
func TestConnectionsMayWriteWhileTheyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				time.Sleep(limit - 10*time.Millisecond)
				go p.say(a.answer())
				if a = p.next(); a == nil || a.words[0] != "rekeyed" {
					return
				}
			}
		})
		dial := s.cfg.Dial
		s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
			nc, err := dial(ctx)
			return rekeying{nc}, err
		}
		s.cfg.WriteTimeout = func() time.Duration { return limit / 10 }
		s.wantValue(t, "a")
		s.wantValue(t, "b")
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// A server that a batch turns to late, after half of its time, has the other
// half and no more.
func TestBatchThatTurnsLateGrantsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := onPipe(t, limit, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				p.saySlowly(a.answer(), 1000, limit/2)
			}
		})
		late := onPipe(t, limit, func(p *peer) {
			a := p.next()
			time.Sleep(limit - 10*time.Millisecond)
			p.say(a.answer())
			p.ignore()
		})
		for _, fails := range []bool{false, true} {
			start := time.Now()
			shares := []*Share{{Link: slow.Link, Keys: []string{"a"}}, {Link: late.Link, Keys: []string{"b"}}}
			Gather(context.Background(), shares)
			require.NoError(t, shares[0].Err)
			if fails {
				require.ErrorIs(t, shares[1].Err, ErrNoProgress)
				after(t, limit, start)
			} else {
				require.NoError(t, shares[1].Err)
			}
		}
	})
}

// A stopped server that goes on after the callers were failed answers nobody.
func TestStoppedServerThatGoesOnAnswersNobody(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		var failed sync.WaitGroup
		failed.Add(10)
		s := on(t, time.Second, func(p *peer) {
			var late strings.Builder
			for range 10 {
				if a := p.next(); a != nil {
					late.WriteString(a.answer())
				}
			}
			failed.Wait()
			p.say(late.String())
		}, healthy)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				_, err := s.get(fmt.Sprint(i))
				assert.ErrorIs(t, err, ErrNoProgress)
				failed.Done()
				for n := range 100 {
					s.wantValue(t, fmt.Sprintf("%d.%d", i, n))
				}
			})
		}
		wg.Wait()
	})
}
