package link

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file tests the making of connections: one at a time, not too often,
// bounded, and none that nobody owns.

// dialer is a Link whose dial function is the test's. It counts how many dials
// there were and how many at once.
type dialer struct {
	*Link
	dials, now, most atomic.Int32
}

func newDialer(t *testing.T, timeout time.Duration, dial func(context.Context) (net.Conn, error)) *dialer {
	d := new(dialer)
	d.Link = New(Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			d.dials.Add(1)
			d.most.Store(max(d.most.Load(), d.now.Add(1)))
			defer d.now.Add(-1)
			return dial(ctx)
		},
		Timeout:  func() time.Duration { return timeout },
		MaxValue: 1 << 20,
		Activity: new(Activity),
	})
	t.Cleanup(func() { d.Close() })
	return d
}

func (d *dialer) get(ctx context.Context) error {
	_, err := d.Do(ctx, &Request{Op: Get, Key: "k"})
	return err
}

var errRefusedDial = errors.New("connection refused")

// A trial dials when no call does, and calls wait until it has; they do not get
// its connection.
func TestATrialAndCallsDialOneAtATime(t *testing.T) {
	for name, works := range map[string]bool{"that work": true, "that fail": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memoryServer(t)
				d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
					time.Sleep(limit / 4)
					if works {
						return server(ctx)
					}
					return nil, errRefusedDial
				})
				var wg sync.WaitGroup
				for i := range 20 {
					try := i%2 == 0
					wg.Go(func() {
						var err error
						if !try {
							err = d.get(context.Background())
						} else if trial, failed := d.Try(context.Background()); failed == nil {
							trial.Close()
						} else {
							err = failed
						}
						if !works {
							require.ErrorIs(t, err, errRefusedDial)
						} else if !try {
							require.NoError(t, err)
						}
					})
				}
				wg.Wait()
				assert.EqualValues(t, 1, d.most.Load())
			})
		})
	}
}

// Close ends the dial of a trial, too.
func TestCloseEndsATrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		err := later(func() error { _, err := d.Try(context.Background()); return err })
		synctest.Wait()
		start := time.Now()
		d.Close()
		assert.Zero(t, time.Since(start))
		assert.Error(t, <-err)
	})
}

// A thousand callers of a dead server make one dial at a time and fail fast.
func TestOneDialForAThousandCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialer(t, limit, func(context.Context) (net.Conn, error) {
			time.Sleep(3 * time.Millisecond)
			return nil, errRefusedDial
		})
		start := time.Now()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				for time.Since(start) < 2*time.Second {
					begun := time.Now()
					err := d.get(context.Background())
					var lost *LostError
					require.ErrorAs(t, err, &lost)
					assert.True(t, lost.Dial)
					assert.False(t, lost.Sent)
					assert.ErrorIs(t, err, errRefusedDial)
					assert.LessOrEqual(t, time.Since(begun), 3*time.Millisecond)
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, d.most.Load())
		assert.Less(t, d.dials.Load(), int32(15), "in two seconds")
		assert.Greater(t, d.dials.Load(), int32(5))
	})
}

// The pauses between dials grow, are not the same for all clients, and end with
// the first success.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		var at []time.Time
		s := memoryServer(t)
		d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
			at = append(at, time.Now())
			if up.Load() {
				return s(ctx)
			}
			return nil, errRefusedDial
		})
		for len(at) < 12 {
			d.get(context.Background())
			time.Sleep(time.Millisecond)
		}
		for i := range 11 {
			pause, mean := at[i+1].Sub(at[i]), min(10*time.Millisecond<<i, time.Second)
			assert.GreaterOrEqual(t, pause, mean/2, i)
			assert.LessOrEqual(t, pause, mean*3/2+time.Millisecond, i)
		}
		up.Store(true)
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, d.get(context.Background()), "it recovers without a restart")
		up.Store(false)
		d.current[0].Load().close(errRefusedDial)
		n := len(at)
		require.Error(t, d.get(context.Background()))
		assert.Len(t, at, n+1, "after a success the first dial is made at once")
	})
}

// memoryServer answers as a healthy server over pipes.
func memoryServer(t *testing.T) func(context.Context) (net.Conn, error) {
	s := &stage{scripts: []func(*peer){healthy}}
	t.Cleanup(s.running.Wait)
	return func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		s.play(far)
		return near, nil
	}
}

func TestDialIsBoundedByTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		err := d.get(context.Background())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, limit, time.Since(start))
	})
}

// closeNoted notes when it is closed.
type closeNoted struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *closeNoted) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func noted() *closeNoted {
	near, far := net.Pipe()
	go far.Read(make([]byte, 1))
	return &closeNoted{Conn: near, closed: make(chan struct{})}
}

// A dialer may not heed its context. Its callers are back in time, and the
// connection that comes too late is closed.
func TestLateConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := noted()
		first := true
		s := memoryServer(t)
		d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
			if first {
				first = false
				time.Sleep(3 * limit)
				return late, nil
			}
			return s(ctx)
		})
		start := time.Now()
		require.ErrorIs(t, d.get(context.Background()), context.DeadlineExceeded)
		assert.Equal(t, limit, time.Since(start))
		<-late.closed
		assert.Equal(t, 3*limit, time.Since(start))
		time.Sleep(time.Second)
		require.NoError(t, d.get(context.Background()), "it recovers")
	})
}

// A waiter that gives up does not end the dial for the others.
func TestCancelledWaiterLeavesTheDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memoryServer(t)
		d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
			time.Sleep(100 * time.Millisecond)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return s(ctx)
		})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			start := time.Now()
			assert.ErrorIs(t, d.get(ctx), context.DeadlineExceeded)
			assert.Equal(t, 10*time.Millisecond, time.Since(start))
		})
		for range 5 {
			wg.Go(func() { assert.NoError(t, d.get(context.Background())) })
		}
		wg.Wait()
		assert.EqualValues(t, 1, d.dials.Load())
	})
}

// A server that hangs up on every connection at once, as one that has too many,
// must not keep its callers dialing for ever.
func TestServerThatHangsUpAtOnce(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, limit, func(*peer) {})
		s.cfg.Dial = slowly(s.cfg.Dial)
		for range 3 {
			start := time.Now()
			_, err := s.get("a")
			require.Error(t, err)
			assert.Less(t, time.Since(start), 2*limit)
		}
		assert.LessOrEqual(t, s.dials.Load(), int32(3*maxTries))
	})
}

// slowly makes a dial take so long that the peer has hung up when it is over.
func slowly(dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		nc, err := dial(ctx)
		time.Sleep(20 * time.Millisecond)
		return nc, err
	}
}

// From a cold start all of many first calls succeed.
func TestColdStart(t *testing.T) {
	l := embedded(t)
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			_, err := l.Do(context.Background(), &Request{Op: Set, Key: "k", Value: []byte("v")})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Len(t, l.conns, 1)
}

// Close while a dial is under way: its waiters are told, the connection that it
// brings is closed, and the next call dials at once.
func TestCloseDuringADial(t *testing.T) {
	for name, heeds := range map[string]bool{"the dialer heeds its context": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := noted()
				first := true
				s := memoryServer(t)
				d := newDialer(t, limit, func(ctx context.Context) (net.Conn, error) {
					if !first {
						return s(ctx)
					}
					first = false
					if heeds {
						<-ctx.Done()
						late.Close()
						return nil, ctx.Err()
					}
					time.Sleep(100 * time.Millisecond)
					return late, nil
				})
				waiter := later(func() error { return d.get(context.Background()) })
				synctest.Wait()
				require.NoError(t, d.Close())
				err := <-waiter
				require.ErrorIs(t, err, ErrClosed)
				assert.NotErrorIs(t, err, context.Canceled, "no context of the caller's ended")
				<-late.closed
				require.NoError(t, d.get(context.Background()), "nothing failed: no pause")
			})
		})
	}
}

// Of several connections only the first is waited for. One that cannot be made,
// or takes its time, costs no call anything while another is open.
func TestOpenConnectionsStandInForOthers(t *testing.T) {
	rows := []struct {
		name string
		dial func(context.Context) error
	}{
		{"refused", func(context.Context) error { return errRefusedDial }},
		{"silent", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, healthy)
				s.cfg.MaxConns = 3
				dial, dials := s.cfg.Dial, atomic.Int32{}
				s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
					if dials.Add(1) > 1 {
						if err := row.dial(ctx); err != nil {
							return nil, err
						}
					}
					return dial(ctx)
				}
				s.Link = New(s.cfg)
				s.wantValue(t, "first")
				start := time.Now()
				for _, key := range numbered(20) {
					s.wantValue(t, key)
					share := &Share{Link: s.Link, Keys: []string{key}}
					Gather(context.Background(), []*Share{share})
					require.NoError(t, share.Err)
				}
				assert.Zero(t, time.Since(start))
				time.Sleep(10 * limit)
				for _, key := range numbered(3) { // one for each place
					s.wantValue(t, key)
				}
				synctest.Wait()
				assert.Greater(t, dials.Load(), int32(2), "it is tried again")
			})
		})
	}
}

// A large value holds up what comes behind it on its connection, so calls go by
// another one, as long as there is any.
func TestLargeValuesDoNotHoldUpOtherConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		s := onPipe(t, time.Minute, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				if a.key() != "large" {
					p.say(a.answer())
					continue
				}
				whole := a.hit(strings.Repeat("x", size))
				p.say(whole[:size/2])
				time.Sleep(30 * time.Second)
				p.say(whole[size/2:])
			}
		})
		s.cfg.MaxConns = 2
		s.Link = New(s.cfg)
		for _, key := range numbered(2) { // both are open
			s.wantValue(t, key)
			synctest.Wait()
		}
		start := time.Now()
		get := later(func() error { _, err := s.get("large"); return err })
		synctest.Wait()
		for _, key := range numbered(10) {
			s.wantValue(t, key)
		}
		assert.Zero(t, time.Since(start))
		require.NoError(t, <-get)
		after(t, 30*time.Second, start)
		for _, key := range numbered(4) { // either one serves again
			s.wantValue(t, key)
		}
	})
}

// A server that goes away closes all its connections, and each is found dead by
// the same call when it is back.
func TestAllConnectionsDieIdle(t *testing.T) {
	const conns = 8
	var mu sync.Mutex
	var open []*peer
	s := onTCP(t, 10*time.Second, func(p *peer) {
		mu.Lock()
		open = append(open, p)
		mu.Unlock()
		p.serve()
	})
	s.cfg.MaxConns = conns
	s.Link = New(s.cfg)
	count := func() (n, alive int) {
		for lane := range s.current {
			if c := s.current[lane].Load(); c != nil {
				n++
				c.mu.Lock()
				if c.quietLocked() {
					alive++
				}
				c.mu.Unlock()
			}
		}
		return n, alive
	}
	up := Request{Op: Increment, Key: "a", Delta: 1} // must not be sent twice
	for _, batch := range []bool{false, true} {
		reached(t, func() bool {
			s.wantValue(t, "a")
			n, _ := count()
			return n == conns
		})
		time.Sleep(2 * time.Duration(idleCheck))
		mu.Lock()
		for _, p := range open {
			p.Close()
		}
		open = nil
		mu.Unlock()
		reached(t, func() bool { _, alive := count(); return alive == 0 })
		if batch {
			share := &Share{Link: s.Link, Reqs: []Request{up}}
			Gather(context.Background(), []*Share{share})
			require.NoError(t, share.Err)
		} else {
			_, err := s.Do(context.Background(), &up)
			require.NoError(t, err)
		}
	}
}
