package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file cancels calls wherever their callers can be. The caller is back at
// once, and nobody else notices.

// promptly is how long a cancelled call may take to return. Of several tries on
// a busy machine the median counts.
const promptly = 5 * time.Millisecond

// atOnce runs try a few times and expects the median of the times it returns,
// from cancel to return, to be prompt.
func atOnce(t *testing.T, try func(t *testing.T) time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 9 {
		took = append(took, try(t))
	}
	slices.Sort(took)
	assert.LessOrEqual(t, took[len(took)/2], promptly, "%v", took)
}

// cancelIn cancels a call that do makes, once it is where reached says, and
// returns how long it took to come back.
func cancelIn(t *testing.T, where func() bool, do func(context.Context) error) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	done := later(func() error { return do(ctx) })
	reached(t, where)
	start := time.Now()
	cancel(errGivenUp)
	require.ErrorIs(t, <-done, errGivenUp, "the cause of its context")
	return time.Since(start)
}

var errGivenUp = errors.New("given up by the test")

// hold is a script that takes all requests and answers them, as a healthy
// server, once it is released.
func hold(release <-chan struct{}) func(*peer) {
	return func(p *peer) {
		waiting := make(chan *asked, 1000)
		go func() {
			defer close(waiting)
			for a := p.next(); a != nil; a = p.next() {
				waiting <- a
			}
		}()
		<-release
		for a := range waiting {
			p.say(a.answer())
		}
	}
}

func TestCancelWhileReading(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, hold(release))
		atOnce(t, func(t *testing.T) time.Duration {
			return cancelIn(t, s.look(func(c *conn) bool { return c.turns.reader != nil && c.written == len(c.flight) }),
				func(ctx context.Context) error { _, err := s.getCtx(ctx, "a"); return err })
		})
		close(release)
		s.wantValue(t, "b")
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

func TestCancelWhileParked(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, hold(release))
		reader := later(func() error { _, err := s.get("reader"); return err })
		reached(t, s.look(func(c *conn) bool { return c.turns.reader != nil }))
		atOnce(t, func(t *testing.T) time.Duration {
			return cancelIn(t, s.look(func(c *conn) bool { return c.turns.last.state == parked }),
				func(ctx context.Context) error { _, err := s.getCtx(ctx, "a"); return err })
		})
		close(release)
		require.NoError(t, <-reader)
		s.wantValue(t, "b")
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// A cancelled reader hands the reading on, also to calls that have no context.
func TestCancelledReaderHandsOn(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, hold(release))
		ctx, cancel := context.WithCancel(context.Background())
		reader := later(func() error { _, err := s.getCtx(ctx, "reader"); return err })
		reached(t, s.look(func(c *conn) bool { return c.turns.reader != nil }))
		var others sync.WaitGroup
		for _, key := range numbered(20) {
			others.Go(func() {
				value, err := s.get(key)
				assert.NoError(t, err)
				assert.Equal(t, valueOf(key), value)
			})
		}
		reached(t, s.look(func(c *conn) bool { return c.turns.last.state == parked }))
		cancel()
		require.ErrorIs(t, <-reader, context.Canceled)
		close(release)
		others.Wait()
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// stuck is a connection on which a large set cannot go on: the server reads
// only when it is released.
func stuck(release <-chan struct{}) func(*peer) {
	return func(p *peer) {
		<-release
		p.serve()
	}
}

var large = make([]byte, 4<<20)

func blockedWrite(c *conn) bool { return c.turns.flusher != nil && c.writeArmed }

func TestCancelInBlockedWrite(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		atOnce(t, func(t *testing.T) time.Duration {
			release := make(chan struct{})
			defer close(release)
			s := on(t, time.Minute, stuck(release))
			return cancelIn(t, s.look(blockedWrite), func(ctx context.Context) error {
				_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
				return err
			})
		})
	})
}

// Half a request must not stay on the wire while others wait: somebody else
// writes the rest, and everybody gets an answer.
func TestCancelInBlockedWriteCostsNobodyElse(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, stuck(release))
		ctx, cancel := context.WithCancel(context.Background())
		writer := later(func() error {
			_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		var others sync.WaitGroup
		for _, key := range numbered(20) {
			others.Go(func() {
				value, err := s.get(key)
				assert.NoError(t, err)
				assert.Equal(t, valueOf(key), value)
			})
		}
		reached(t, s.look(func(c *conn) bool { return c.turns.last.state == parked }))
		cancel()
		require.ErrorIs(t, <-writer, context.Canceled)
		close(release)
		others.Wait()
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// The flusher's role may come to a caller while it is parked. It must be able
// to leave then, too.
func TestCancelInWriteThatWasHandedOver(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		atOnce(t, func(t *testing.T) time.Duration {
			one := make(chan struct{})
			rest := make(chan struct{})
			s := on(t, time.Minute, func(p *peer) {
				<-one
				p.say(p.next().answer())
				<-rest
				p.serve()
			})
			first := later(func() error {
				_, err := s.Do(context.Background(), &Request{Op: Set, Key: "first", Value: large[:1<<20]})
				return err
			})
			reached(t, s.look(func(c *conn) bool { return c.turns.reader == &c.turns.spare }))
			defer close(rest)
			took := make(chan time.Duration, 1)
			go func() {
				took <- cancelIn(t, s.look(func(c *conn) bool {
					f := c.turns.flusher // on a pipe a helper writes for second
					return blockedWrite(c) && (f == &c.turns.spare || f.call.oneReq[0].Key == "second") &&
						c.turns.first.call.oneReq[0].Key == "second"
				}), func(ctx context.Context) error {
					_, err := s.Do(ctx, &Request{Op: Set, Key: "second", Value: large})
					return err
				})
			}()
			reached(t, s.look(func(c *conn) bool { return c.turns.last.state == parked && c.turns.last.call.oneReq[0].Key == "second" }))
			close(one)
			require.NoError(t, <-first)
			return <-took
		})
	})
}

func TestCancelBatchBetweenServers(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		good, bad := on(t, time.Minute, healthy), on(t, time.Minute, hold(release))
		bad.cfg.Activity = good.cfg.Activity
		atOnce(t, func(t *testing.T) time.Duration {
			var shares []*Share
			waits := bad.look(func(c *conn) bool { return c.turns.reader != nil && c.turns.reader != &c.turns.spare })
			took := cancelIn(t, waits, func(ctx context.Context) error {
				shares = []*Share{{Link: good.Link, Keys: numbered(100)}, {Link: bad.Link, Keys: numbered(100)}}
				Gather(ctx, shares)
				return shares[1].Err
			})
			assert.NoError(t, shares[0].Err)
			assert.Len(t, shares[0].Replies, 100, "what came in time is kept")
			return took
		})
		close(release)
		good.wantValue(t, "a")
		bad.wantValue(t, "a")
		assert.EqualValues(t, 1, bad.dials.Load())
	})
}

func TestCancelWhileDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := New(Config{
			Dial: func(ctx context.Context) (net.Conn, error) {
				<-release
				return nil, errors.New("refused")
			},
			Timeout: func() time.Duration { return time.Minute }, Activity: new(Activity),
		})
		took := cancelIn(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.dialing != nil },
			func(ctx context.Context) error { _, err := l.Do(ctx, &Request{Op: Get, Key: "a"}); return err })
		assert.Zero(t, took)
		close(release)
		l.Close()
	})
}

// What a call has left in the buffer goes out after it was given up: its outcome
// is unknown, although not a byte of it has been sent.
func TestGivenUpBeforeItWasSentMayHappenYet(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		var counted atomic.Int32
		s := on(t, time.Minute, func(p *peer) {
			<-release
			for a := p.next(); a != nil; a = p.next() {
				if a.words[0] == "ma" {
					counted.Add(1)
				}
				p.say(a.answer())
			}
		})
		stored := later(func() error {
			_, err := s.Do(context.Background(), &Request{Op: Set, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, err := s.Do(ctx, &Request{Op: Increment, Key: "n", Delta: 1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var lost *LostError
		require.ErrorAs(t, err, &lost)
		assert.True(t, lost.Sent)
		close(release)
		require.NoError(t, <-stored)
		s.wantValue(t, "behind")
		assert.EqualValues(t, 1, counted.Load())
	})
}

// A context that has ended before the call performs nothing.
func TestEndedContextSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := onPipe(t, time.Second, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				asked = append(asked, a.key())
				p.say(a.answer())
			}
		})
		s.wantValue(t, "before")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Do(ctx, &Request{Op: Increment, Key: "counter", Delta: 1})
		require.ErrorIs(t, err, context.Canceled)
		share := &Share{Link: s.Link, Keys: numbered(3)}
		Gather(ctx, []*Share{share})
		require.ErrorIs(t, share.Err, context.Canceled)
		s.wantValue(t, "after")
		assert.Equal(t, []string{"before", "after"}, asked)
	})
}

// The reply to a call that was given up costs no memory, however large, nor does
// the rest of one that had begun.
func TestAbandonedReplyIsNotKept(t *testing.T) {
	const size = 32 << 20
	for _, begun := range []int{0, 100_000} {
		t.Run(fmt.Sprint(begun), func(t *testing.T) {
			release := make(chan struct{})
			s := onTCP(t, time.Minute, func(p *peer) {
				a := p.next()
				chunk := make([]byte, 64<<10)
				left := size
				send := func(n int) {
					for end := left - n; left > end; left -= len(chunk[:min(len(chunk), left-end)]) {
						p.Write(chunk[:min(len(chunk), left-end)])
					}
				}
				if begun > 0 {
					p.say(fmt.Sprintf("VA %d f0 c1 %s\r\n", size, a.opaque()))
					send(begun)
				}
				<-release
				if begun == 0 {
					p.say(fmt.Sprintf("VA %d f0 c1 %s\r\n", size, a.opaque()))
				}
				send(left)
				p.say("\r\n")
				p.serve()
			})
			cancelIn(t, s.look(func(c *conn) bool { return c.turns.reader != nil && (begun == 0 || c.reads > 1) }),
				func(ctx context.Context) error { _, err := s.getCtx(ctx, "large"); return err })
			before := allocated()
			close(release)
			s.wantValue(t, "b")
			assert.Less(t, allocated()-before, uint64(1<<20))
		})
	}
}

// What comes for a batch after it was given up is thrown away, and must not be
// taken for what came in time: the values are missing.
func TestAbandonedBatchHasOnlyWhatCameInTime(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, func(p *peer) {
			for i := 0; ; i++ {
				a := p.next()
				if a == nil {
					return
				}
				if i == 4 { // of the batch three have been answered
					<-release
				}
				p.say(a.answer())
			}
		})
		s.wantValue(t, "a")
		k, c := s.newCall(), s.current[0].Load()
		k.keys, k.replies = numbered(10), make([]Reply, 10)
		require.NoError(t, s.sendOn(context.Background(), c, k))
		reader := later(func() error { _, err := s.get("reader"); return err })
		reached(t, func() bool { return k.got.Load() == 3 })
		require.True(t, c.leave(k, false))
		close(release)
		require.NoError(t, <-reader)
		assert.EqualValues(t, 10, k.got.Load())
		assert.Equal(t, 3, k.replied())
		for i, reply := range k.replies[:k.replied()] {
			assert.Equal(t, valueOf(k.keys[i]), string(reply.Value))
		}
	})
}

// A large value whose caller leaves half way is dropped.
func TestCancelInMidValue(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		value := stamp("k", 8<<20)
		s := on(t, time.Minute, func(p *peer) {
			whole := p.next().hit(string(value))
			p.say(whole[:100000])
			<-release
			p.say(whole[100000:])
			p.serve()
		})
		atMiddle := s.look(func(c *conn) bool { return c.reads > 1 })
		took := cancelIn(t, atMiddle, func(ctx context.Context) error { _, err := s.getCtx(ctx, "k"); return err })
		assert.Less(t, took, time.Second)
		close(release)
		s.wantValue(t, "b")
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// Many callers that come and go leave nothing behind.
func TestStormOfCancels(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				time.Sleep(10 * time.Microsecond)
				p.say(a.answer())
			}
		})
		var wg sync.WaitGroup
		for g := range 32 {
			wg.Go(func() {
				for i := range 50 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(g*i)*time.Microsecond)
					key := fmt.Sprintf("%d.%d", g, i)
					if value, err := s.getCtx(ctx, key); err == nil {
						assert.Equal(t, valueOf(key), value)
					} else {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		s.wantValue(t, "last")
		c := s.current[0].Load()
		c.mu.Lock()
		defer c.mu.Unlock()
		assert.Nil(t, c.turns.first)
		assert.Nil(t, c.turns.reader)
		assert.Nil(t, c.turns.flusher)
	})
}

// A server takes nothing, and callers do not wait for it: what they leave behind
// is bounded, and others are told.
func TestGivenUpRequestsDoNotPileUp(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, stuck(release))
		ctx, cancel := context.WithCancel(context.Background())
		first := later(func() error {
			_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		refused := 0
		for range 300 {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Microsecond)
			_, err := s.Do(ctx, &Request{Op: Set, Key: "k", Value: large[:1<<20]})
			cancel()
			if errors.Is(err, ErrTooManyCalls) {
				refused++
			} else {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
		}
		assert.Greater(t, refused, 200)
		c := s.current[0].Load()
		c.mu.Lock()
		assert.Less(t, cap(c.out)+cap(c.flight), 64<<20)
		c.mu.Unlock()
		cancel()
		<-first
		close(release)
	})
}
