package memcache_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/duplex"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file tests that a delete is the last word over what was sent before it,
// on connections that were given up.

// system is what lies between a client and a server that may be stopped: it
// takes requests at once, and hands those of each connection to the server when
// it is let, down to the last one.
type system struct {
	server *memcachetest.Server
	mu     sync.Mutex
	gate   chan struct{} // of the connections made from now on; nil = open

	running sync.WaitGroup
}

// stop holds back what comes by connections made from now on until resume. Those
// made after that are not held.
func (y *system) stop() (resume func()) {
	gate := make(chan struct{})
	y.mu.Lock()
	y.gate = gate
	y.mu.Unlock()
	return func() { close(gate) }
}

func (y *system) letPass() {
	y.mu.Lock()
	y.gate = nil
	y.mu.Unlock()
}

func (y *system) dial(context.Context, string, string) (net.Conn, error) {
	near, far := duplex.Pipe()
	y.mu.Lock()
	gate := y.gate
	y.mu.Unlock()
	client, server := net.Pipe()
	y.running.Go(func() { y.server.ServeConn(server) })
	var mu sync.Mutex
	var buffered []byte
	arrived, ended := make(chan struct{}, 1), false
	y.running.Go(func() {
		buf := make([]byte, 4096)
		for err := error(nil); err == nil; {
			var n int
			n, err = far.Read(buf)
			mu.Lock()
			buffered, ended = append(buffered, buf[:n]...), err != nil
			mu.Unlock()
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
	})
	y.running.Go(func() {
		defer client.Close()
		for range arrived {
			if gate != nil {
				<-gate
			}
			mu.Lock()
			b, last := buffered, ended
			buffered = nil
			mu.Unlock()
			client.Write(b)
			if last {
				time.Sleep(time.Microsecond) // in which the server answers all it was asked
				return
			}
		}
	})
	y.running.Go(func() {
		defer far.Close()
		io.Copy(far, client)
	})
	return near, nil
}

// stoppedSystem returns a client whose connections are held until resume is called.
func stoppedSystem(t *testing.T) (y *system, c *memcache.Client, resume func()) {
	y = &system{server: memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})}
	c = memcache.New(y.server.Addr())
	c.Timeout, c.Protocol, c.DialContext = timeout, memcache.Meta, y.dial
	var once sync.Once
	end := y.stop()
	resume = func() { once.Do(end) }
	t.Cleanup(func() {
		resume()
		assert.NoError(t, c.Close())
		y.running.Wait()
	})
	return y, c, resume
}

// behindASystem runs f in virtual time with a client whose connection is held
// with a write of "old" on it that has timed out, to a key that holds nothing,
// while all later connections are served.
func behindASystem(t *testing.T, f func(t *testing.T, c *memcache.Client, resume func())) {
	synctest.Test(t, func(t *testing.T) {
		_, c, resume := stoppedWithAWrite(t)
		f(t, c, resume)
	})
}

// stoppedWithAWrite is behindASystem for a test in virtual time that looks at the
// server, too.
func stoppedWithAWrite(t *testing.T) (y *system, c *memcache.Client, resume func()) {
	y, c, resume = stoppedSystem(t)
	err := c.Set(&memcache.Item{Key: "k", Value: []byte("old")})
	require.True(t, isTimeout(err), "%v", err)
	requirePending(t, err)
	y.letPass()
	require.Equal(t, 1, c.Health()[0].Owed)
	return y, c, resume
}

// finally waits until nothing is owed, and checks that the old value is gone for
// good.
func finally(t *testing.T, c *memcache.Client) {
	deadline := time.Now().Add(time.Minute)
	for c.Health()[0].Owed > 0 {
		require.True(t, time.Now().Before(deadline))
		c.Get("other")
		time.Sleep(10 * time.Millisecond)
	}
	for range 10 {
		item, err := c.Get("k")
		if err == nil {
			require.NotEqual(t, "old", string(item.Value))
		}
		time.Sleep(time.Second)
	}
}

var deletes = map[string]func(c *memcache.Client) error{
	"Delete": func(c *memcache.Client) error { return c.Delete("k") },
	"DeleteMulti": func(c *memcache.Client) error {
		return memcache.Ignore(c.DeleteMulti([]string{"a", "k", "b", "k"}), memcache.ErrCacheMiss)
	},
	"Pipeline": func(c *memcache.Client) error {
		p := c.Pipeline()
		p.Get("a")
		deleted := p.Delete("k")
		p.Do(context.Background())
		return deleted.Err()
	},
}

// A delete that an older write could undo waits for that, and is repeated.
func TestADeleteWaitsForOlderWrites(t *testing.T) {
	for name, do := range deletes {
		t.Run(name, func(t *testing.T) {
			behindASystem(t, func(t *testing.T, c *memcache.Client, resume func()) {
				start := time.Now()
				time.AfterFunc(timeout/2, resume)
				err := do(c)
				assert.NoError(t, memcache.Ignore(err, memcache.ErrCacheMiss))
				assert.GreaterOrEqual(t, time.Since(start), timeout/2)
				_, err = c.Get("k")
				assert.Equal(t, memcache.ErrCacheMiss, err)
				finally(t, c)
			})
		})
	}
}

// If the server refuses to repeat it, the delete is no success, and is made up for.
func TestADeleteWhoseRepetitionIsRefused(t *testing.T) {
	for name, do := range deletes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y, c, resume := stoppedWithAWrite(t)
				time.AfterFunc(timeout/2, func() {
					y.server.Inject(memcachetest.Fault{Command: "md", Do: memcachetest.OutOfMemory()})
					resume()
				})
				err := do(c)
				assert.ErrorIs(t, err, memcache.ErrInvalidationPending)
				assert.ErrorIs(t, err, memcache.ErrServerError)
				assert.Equal(t, 1, c.Health()[0].Owed)
				y.server.Heal()
				finally(t, c)
			})
		})
	}
}

// If that takes too long the delete is no success, and is made up for.
func TestADeleteThatAnOlderWriteMayUndo(t *testing.T) {
	for name, do := range deletes {
		t.Run(name, func(t *testing.T) {
			behindASystem(t, func(t *testing.T, c *memcache.Client, resume func()) {
				for range 3 {
					start := time.Now()
					err := do(c)
					requirePending(t, err)
					requireWaited(t, err)
					assert.NotErrorIs(t, err, memcache.ErrServerDown)
					assert.LessOrEqual(t, time.Since(start), timeout)
				}
				ctx, cancel := context.WithTimeout(context.Background(), timeout/10)
				defer cancel()
				start := time.Now()
				requirePending(t, c.DeleteContext(ctx, "k"))
				assert.Equal(t, timeout/10, time.Since(start))
				time.Sleep(10 * timeout)
				assert.Equal(t, 1, c.Health()[0].Owed)
				resume()
				finally(t, c)
			})
		})
	}
}

// requireWaited checks that err says that time ran out, and what was waited for.
func requireWaited(t *testing.T, err error) {
	t.Helper()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout(), "%v", err)
	assert.ErrorContains(t, err, "an older write may still be carried out")
}

// Whatever stores something that an older write could undo waits for that, too, and
// is not sent if it takes too long.
func TestAStoreWaitsForOlderWrites(t *testing.T) {
	item := &memcache.Item{Key: "k", Value: []byte("7"), CasID: 1}
	for name, do := range map[string]func(c *memcache.Client) error{
		"Set":            func(c *memcache.Client) error { return c.Set(item) },
		"SetMulti":       func(c *memcache.Client) error { return c.SetMulti([]*memcache.Item{item}) },
		"Add":            func(c *memcache.Client) error { return c.Add(item) },
		"AddMulti":       func(c *memcache.Client) error { return c.AddMulti([]*memcache.Item{item}) },
		"Replace":        func(c *memcache.Client) error { return c.Replace(item) },
		"Append":         func(c *memcache.Client) error { return c.Append(item) },
		"Prepend":        func(c *memcache.Client) error { return c.Prepend(item) },
		"CompareAndSwap": func(c *memcache.Client) error { return c.CompareAndSwap(item) },
		"Increment":      func(c *memcache.Client) error { _, err := c.Increment("k", 1); return err },
		"Decrement":      func(c *memcache.Client) error { _, err := c.Decrement("k", 1); return err },
		"Pipeline": func(c *memcache.Client) error {
			p := c.Pipeline()
			r := p.Replace(item)
			p.Do(context.Background())
			return r.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			behindASystem(t, func(t *testing.T, c *memcache.Client, resume func()) {
				start := time.Now()
				err := do(c)
				var failed *memcache.OpError
				require.ErrorAs(t, err, &failed)
				assert.False(t, failed.OutcomeUnknown)
				requireWaited(t, err)
				assert.Equal(t, strings.HasPrefix(name, "Set"), errors.Is(err, memcache.ErrInvalidationPending))
				assert.Equal(t, timeout, time.Since(start))
				mustSet(t, c, "another", "is not concerned")
				assert.NoError(t, c.Add(&memcache.Item{Key: "third"}))
				require.NoError(t, memcache.Ignore(c.Touch("k", 60), memcache.ErrCacheMiss), "it leaves the value alone")

				start = time.Now()
				time.AfterFunc(timeout/2, resume)
				err = do(c)
				assert.False(t, errors.As(err, &failed), "an outcome: %v", err)
				assert.GreaterOrEqual(t, time.Since(start), timeout/2)
				finally(t, c)
				require.NoError(t, c.Set(item))
				time.Sleep(time.Minute)
				assert.Equal(t, "7", string(mustGet(t, c, "k").Value))
			})
		})
	}
}

// A context that ends meanwhile is what the caller is told.
func TestAContextThatEndsWhileOlderWritesAreWaitedFor(t *testing.T) {
	item := &memcache.Item{Key: "k", Value: []byte("new")}
	for name, do := range map[string]func(ctx context.Context, c *memcache.Client) error{
		"Set": func(ctx context.Context, c *memcache.Client) error { return c.SetContext(ctx, item) },
		"Add": func(ctx context.Context, c *memcache.Client) error { return c.AddContext(ctx, item) },
		"SetMulti": func(ctx context.Context, c *memcache.Client) error {
			return c.SetMultiContext(ctx, []*memcache.Item{item})
		},
		"Delete":      func(ctx context.Context, c *memcache.Client) error { return c.DeleteContext(ctx, "k") },
		"DeleteMulti": func(ctx context.Context, c *memcache.Client) error { return c.DeleteMultiContext(ctx, []string{"k"}) },
	} {
		t.Run(name, func(t *testing.T) {
			behindASystem(t, func(t *testing.T, c *memcache.Client, resume func()) {
				ctx, cancel := context.WithTimeoutCause(context.Background(), timeout/2, errTest)
				defer cancel()
				start := time.Now()
				err := do(ctx, c)
				assert.Equal(t, timeout/2, time.Since(start))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorIs(t, err, errTest)
				assert.True(t, isTimeout(err))
				assert.Equal(t, name != "Add", errors.Is(err, memcache.ErrInvalidationPending))
				resume()
				finally(t, c)
			})
		})
	}
}

// A server that went down and came back is up although a connection that was
// lost has not come to its end; what was on it stays owed until then.
func TestAFenceThatOutlivesTheOutage(t *testing.T) {
	behindASystem(t, func(t *testing.T, c *memcache.Client, resume func()) {
		address := c.Health()[0].Server
		require.NoError(t, c.SetServerState(address, memcache.ServerForcedDown))
		requirePending(t, c.Delete("k"))
		require.NoError(t, c.Restore(address))
		for c.Health()[0].State != memcache.ServerUp {
			_, err := c.Get("k")
			require.Error(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, 1, c.Health()[0].Owed)
		requirePending(t, c.Delete("k"))
		resume()
		finally(t, c)
	})
}

// A server that missed more than can be remembered is not emptied before writes
// have come to their end that there was no room to hold.
func TestAFlushWaitsForOlderWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y, c, resume := stoppedSystem(t)
		c.Failover.JournalKeys, c.Failover.Overflow = 1, memcache.FlushServer
		p := c.Pipeline()
		p.Delete("takes-the-room")
		set := p.Set(&memcache.Item{Key: "k", Value: []byte("old")})
		p.Do(context.Background())
		requirePending(t, set.Err())
		require.True(t, c.Health()[0].Overflowed)
		y.letPass()
		for range 20 {
			_, err := c.Get("k")
			requireDown(t, err)
			time.Sleep(time.Second)
		}
		resume()
		for err := error(nil); err != memcache.ErrCacheMiss; time.Sleep(time.Second) {
			_, err = c.Get("k")
			require.Error(t, err, "the old value")
		}
		assert.False(t, c.Health()[0].Overflowed)
		finally(t, c)
	})
}

// Close waits for older writes, but not for long. What is owed is made up for
// when the client is used again, and still behind them.
func TestCloseWhileSomethingIsOwed(t *testing.T) {
	behindASystem(t, func(t *testing.T, c *memcache.Client, resume func()) {
		start := time.Now()
		require.NoError(t, c.Close())
		assert.Equal(t, timeout, time.Since(start))
		assert.Equal(t, 1, c.Health()[0].Owed)
		requirePending(t, c.Delete("k"))
		start = time.Now()
		require.NoError(t, c.Close())
		assert.Zero(t, time.Since(start), "they have had their time")
		resume()
		finally(t, c)
	})
}
