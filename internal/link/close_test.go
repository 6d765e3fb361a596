package link

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file ends connections while calls are on them, by faults and by Close:
// every caller is told, and nothing is left behind.

// A write that fails while calls behind it are parked wakes them all, though
// nothing is wrong with the reading.
func TestFailedWriteWakesEverybody(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		for _, cancellable := range []bool{false, true} { // true: on a pipe a helper writes
			release := make(chan struct{})
			s := on(t, time.Minute, stuck(release))
			t.Cleanup(func() { close(release) })
			var bound atomic.Int64
			bound.Store(int64(time.Minute))
			s.cfg.WriteTimeout = func() time.Duration { return time.Duration(bound.Load()) }
			ctx, cancel := context.Background(), func() {}
			if cancellable {
				ctx, cancel = context.WithCancel(ctx)
			}
			defer cancel()
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
				assert.ErrorIs(t, err, ErrNoProgress)
			})
			reached(t, s.look(blockedWrite))
			for _, key := range numbered(5) {
				wg.Go(func() {
					_, err := s.get(key)
					assert.ErrorIs(t, err, ErrNoProgress)
				})
			}
			reached(t, s.look(func(c *conn) bool { return c.turns.length() == 6 }))
			bound.Store(1)
			s.current[0].Load().wire.SetWriteDeadline(longAgo) // have the writer look
			wg.Wait()
		}
	})
}

// Close comes while calls are wherever they can be. Each is told, or had its
// answer; nothing stays open, and the Link works again.
func TestCloseFailsEveryCall(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		release := make(chan struct{})
		s := on(t, time.Minute, func(p *peer) {
			p.say(p.next().answer())
			<-release
		}, healthy)
		s.wantValue(t, "a")
		var wg sync.WaitGroup
		fails := func(do func() error) {
			wg.Go(func() {
				err := do()
				assert.ErrorIs(t, err, ErrClosed)
				var lost *LostError
				assert.ErrorAs(t, err, &lost)
			})
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		fails(func() error {
			_, err := s.Do(ctx, &Request{Op: Set, Key: "large", Value: large})
			return err
		})
		reached(t, s.look(blockedWrite))
		for _, key := range numbered(5) {
			fails(func() error { _, err := s.get(key); return err })
			fails(func() error { _, err := s.getCtx(ctx, key); return err })
			fails(func() error {
				share := &Share{Link: s.Link, Keys: numbered(50)}
				Gather(ctx, []*Share{share})
				return share.Err
			})
		}
		reached(t, s.look(func(c *conn) bool { return c.turns.length() == 16 }))
		assert.NoError(t, s.Close())
		wg.Wait()
		s.mu.Lock()
		assert.Empty(t, s.conns)
		s.mu.Unlock()
		s.wantValue(t, "b")
		close(release)
	})
}

func TestCloseBesideCalls(t *testing.T) {
	l := embedded(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%d.%d", g, i%10)
				reply, err := l.Do(context.Background(), &Request{Op: Set, Key: key, Value: []byte(key)})
				if err == nil {
					assert.Equal(t, OK, reply.Status)
				} else if !assert.ErrorIs(t, err, ErrClosed) {
					return
				}
				reply, err = l.Do(context.Background(), &Request{Op: Get, Key: key})
				if err == nil && reply.Status == OK {
					assert.Equal(t, key, string(reply.Value))
				}
			}
		})
	}
	for range 200 {
		time.Sleep(time.Millisecond)
		assert.NoError(t, l.Close())
	}
	close(stop)
	wg.Wait()
	require.NoError(t, l.Close())
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Empty(t, l.conns)
	assert.Nil(t, l.dialing)
}

func TestCloseTwiceAndUnused(t *testing.T) {
	l := embedded(t)
	require.NoError(t, l.Close(), "before the first call")
	_, err := l.Do(context.Background(), &Request{Op: Set, Key: "k", Value: []byte("v")})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { assert.NoError(t, l.Close()) })
	}
	wg.Wait()
	reply, err := l.Do(context.Background(), &Request{Op: Get, Key: "k"})
	require.NoError(t, err)
	assert.Equal(t, "v", string(reply.Value))
}

// A connection that takes its time to close holds up Close, and no call.
func TestConnectionThatIsSlowToClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, healthy)
		dial := s.cfg.Dial
		s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
			nc, err := dial(ctx)
			return slowClose{nc}, err
		}
		s.wantValue(t, "a")
		start := time.Now()
		s.current[0].Load().close(io.EOF)
		s.wantValue(t, "b")
		assert.Zero(t, time.Since(start))
		require.NoError(t, s.Close())
		assert.Equal(t, time.Second, time.Since(start))
	})
}

type slowClose struct{ net.Conn }

func (c slowClose) Close() error {
	time.Sleep(time.Second)
	return c.Conn.Close()
}

// The server goes away while requests are in flight: every call is back with an
// error, and the next ones, when it is there again, are served.
func TestServerGoesAwayUnderLoad(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, limit, func(p *peer) {
			for range 100 {
				a := p.next()
				if a == nil {
					return
				}
				p.say(a.answer())
			}
		})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 50 {
					key := fmt.Sprintf("%d.%d", g, i)
					value, err := s.get(key)
					if err == nil {
						assert.Equal(t, valueOf(key), value)
					}
				}
			})
		}
		wg.Wait()
	})
}

// A connection that is to close may do so before a call that waited for it is on it.
// However often that is, the server has not hung up, and the call goes on to the next.
func TestACallOutlastsConnectionsThatAreDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Minute, healthy)
		dial := s.cfg.Dial
		s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
			synctest.Wait() // until the call waits for it
			return dial(ctx)
		}
		const drained = 3 * maxTries
		opened := 0
		s.cfg.Opened = func(time.Duration, error) {
			if opened++; opened <= drained {
				s.Drain()
			}
		}
		s.wantValue(t, "a")
		assert.Equal(t, drained+1, opened)
	})
}

// A retired Link lets calls end, and keeps no connection for those that were
// given up.
func TestRetiredConnectionsClose(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		for name, givenUp := range map[string]bool{"answered": false, "given up": true} {
			release := make(chan struct{})
			s := on(t, time.Minute, hold(release))
			ctx, cancel := context.WithCancel(context.Background())
			called := later(func() error { _, err := s.getCtx(ctx, "a"); return err })
			reached(t, s.look(func(c *conn) bool { return c.turns.reader != nil }))
			s.Retire()
			if givenUp {
				cancel()
				require.ErrorIs(t, <-called, context.Canceled, name)
			} else {
				close(release)
				require.NoError(t, <-called, name)
			}
			reached(t, func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.conns) == 0
			})
			cancel()
			if givenUp {
				close(release)
			}
		}
	})
}
