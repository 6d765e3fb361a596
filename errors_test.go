package memcache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// Outcomes are compared with ==, so they may not be wrapped.

func TestMissesAreTheBareSentinel(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		item, err := c.Get("absent")
		assert.Nil(t, item)
		assert.True(t, err == memcache.ErrCacheMiss)
		item, err = c.GetAndTouch("absent", 60)
		assert.Nil(t, item)
		assert.True(t, err == memcache.ErrCacheMiss)
		for _, name := range []string{"Delete", "Touch", "Increment", "Decrement", "CompareAndSwap"} {
			assert.True(t, operations[name](c, "absent", nil) == memcache.ErrCacheMiss, name)
		}
	})
}

func TestUnmetConditionsAreTheBareSentinel(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		mustSet(t, c, "present", "v")
		assert.True(t, c.Add(&memcache.Item{Key: "present"}) == memcache.ErrNotStored)
		for _, name := range []string{"Replace", "Append", "Prepend"} {
			assert.True(t, operations[name](c, "absent", nil) == memcache.ErrNotStored, name)
		}
		item := mustGet(t, c, "present")
		mustSet(t, c, "present", "w")
		assert.True(t, c.CompareAndSwap(item) == memcache.ErrCASConflict)
	})
}

// The documentation of gomemcache promises ErrNotStored here; its code, and the
// programs written against it, know ErrCacheMiss.
func TestCompareAndSwapOfAnAbsentKeyIsAMiss(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		mustSet(t, c, "key", "v")
		item := mustGet(t, c, "key")
		require.NoError(t, c.Delete("key"))
		assert.True(t, c.CompareAndSwap(item) == memcache.ErrCacheMiss)
	})
}

func TestWithoutServers(t *testing.T) {
	for name, c := range map[string]*memcache.Client{
		"New":        newClient(t),
		"ServerList": memcache.NewFromSelector(new(memcache.ServerList)),
		"Continuum":  memcache.NewFromSelector(new(memcache.Continuum)),
	} {
		t.Run(name, func(t *testing.T) {
			for name, do := range operations {
				assert.True(t, do(c, "key", nil) == memcache.ErrNoServers, name)
			}
			assert.True(t, c.DeleteAll() == memcache.ErrNoServers)
			assert.NoError(t, c.Ping())
			assert.NoError(t, c.FlushAll())
			items, err := c.GetMulti(nil)
			assert.NoError(t, err)
			assert.NotNil(t, items)
		})
	}
}

func TestNilItemIsRefused(t *testing.T) {
	c := newClient(t, deadAddress(t))
	for name, store := range stores {
		assert.True(t, store(c, nil) == memcache.ErrNilItem, name)
	}
}

// A dead server: the cause comes through whatever wraps it.
func TestRefusedConnection(t *testing.T) {
	dead := deadAddress(t)
	c := newClient(t, dead)
	check := func(name string, err error) {
		require.Error(t, err, name)
		assert.ErrorIs(t, err, syscall.ECONNREFUSED, name)
		assert.Contains(t, err.Error(), dead, name)
		netErr, ok := err.(net.Error)
		require.True(t, ok, name)
		assert.False(t, netErr.Timeout(), name)
		var op *memcache.OpError
		require.ErrorAs(t, err, &op, name)
		assert.Equal(t, dead, op.Server, name)
		assert.False(t, op.OutcomeUnknown, name)
	}
	for name, do := range operations {
		check(name, do(c, "key", []byte("value")))
	}
	check("Ping", c.Ping())
	check("FlushAll", c.FlushAll())
	check("DeleteAll", c.DeleteAll())
}

func TestConnectTimeout(t *testing.T) {
	dialers := map[string]func(ctx context.Context, network, address string) (net.Conn, error){
		"returns the error of its context": func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"returns a net.Error": func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		},
	}
	for name, dial := range dialers {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, "192.0.2.1:11211")
			c.Timeout = 20 * time.Millisecond
			c.DialContext = dial
			neverDown(c)
			_, err := c.Get("key")
			timeout, ok := err.(*memcache.ConnectTimeoutError)
			require.True(t, ok, "%v", err)
			assert.Equal(t, "192.0.2.1:11211", timeout.Addr.String())
			assert.EqualError(t, err, "memcache: connect timeout to 192.0.2.1:11211")
			assert.True(t, isTimeout(err))
			assert.NotErrorIs(t, err, memcache.ErrInvalidationPending)

			err = c.Delete("key")
			require.ErrorAs(t, err, &timeout)
			assert.ErrorIs(t, err, memcache.ErrInvalidationPending)
			assert.EqualError(t, err, "memcache: connect timeout to 192.0.2.1:11211")

			_, err = c.GetMulti([]string{"key"})
			assert.ErrorAs(t, err, &timeout)
			assert.True(t, isTimeout(err))
		})
	}
}

func TestErrorOfTheDialerComesThrough(t *testing.T) {
	c := newClient(t, "192.0.2.1:11211")
	c.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errTest }
	for name, do := range operations {
		assert.ErrorIs(t, do(c, "key", nil), errTest, name)
	}
	assert.ErrorIs(t, c.Ping(), errTest)
}

func TestSilentServerIsATimeoutAndNoMiss(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	var wg sync.WaitGroup
	ask := func(p memcache.Protocol, do func(c *memcache.Client) error, check func(err error)) {
		c := newClient(t, address)
		c.Timeout, c.Conn.DialTimeout = 200*time.Millisecond, fast
		c.Protocol = p
		wg.Go(func() {
			err := do(c)
			assert.True(t, isTimeout(err), "%v", err)
			check(err)
		})
	}
	for name, do := range operations {
		call := func(c *memcache.Client) error { return do(c, "key", nil) }
		ask(memcache.Auto, call, func(err error) {
			assert.NotErrorIs(t, err, memcache.ErrCacheMiss, name)
		})
		ask(memcache.Meta, call, func(err error) {
			var op *memcache.OpError
			if assert.ErrorAs(t, err, &op, name) {
				assert.Equal(t, address, op.Server, name)
				assert.Equal(t, changes(name), op.OutcomeUnknown, name)
			}
		})
	}
	ask(memcache.Auto, (*memcache.Client).Ping, func(error) {})
	wg.Wait()
}

func TestServerThatDoesNotReadIsATimeout(t *testing.T) {
	release := make(chan struct{})
	address := fakeServer(t, func(c *fakeConn) { <-release })
	defer close(release)
	c := newClient(t, address)
	c.Protocol = memcache.Meta
	c.Timeout = 200 * time.Millisecond
	err := c.Set(&memcache.Item{Key: "key", Value: make([]byte, 32<<20)})
	assert.True(t, isTimeout(err), "%v", err)
	var op *memcache.OpError
	require.ErrorAs(t, err, &op)
	assert.True(t, op.OutcomeUnknown)
}

// changes reports whether an operation leaves a trace on the server.
func changes(operation string) bool { return operation != "Get" && operation != "GetMulti" }

// A server that hangs up on a request has not lain idle, so nothing is repeated.
func TestHangUpIsAnError(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) { c.next() })
	for name, do := range operations {
		// A client for each: one that is owed a key deletes it, and may be hung up
		// on with the next operation unsent.
		c := metaClient(t, address)
		neverDown(c)
		err := do(c, "key", nil)
		assert.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE), "%s: %v", name, err)
		_, ok := err.(net.Error)
		assert.True(t, ok, name)
		assert.Contains(t, err.Error(), address, name)
		var op *memcache.OpError
		require.ErrorAs(t, err, &op, name)
		assert.Equal(t, changes(name), op.OutcomeUnknown, name)
	}
}

// eachRestart runs f on an embedded server and on real ones, each with a way to
// end it and start it again, empty, on the same address.
func eachRestart(t *testing.T, f func(t *testing.T, address string, stop, start func())) {
	t.Run("embedded", func(t *testing.T) {
		s := memcachetest.NewServer(t)
		f(t, s.Addr(), func() { require.NoError(t, s.Close()) }, func() {
			s = memcachetest.NewServer(t, memcachetest.Config{Addr: s.Addr()})
		})
	})
	t.Run("memcached", func(t *testing.T) {
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			s := realserver.Start(t, realserver.Config{Version: b.Version})
			f(t, s.Addr(), s.Stop, func() { require.NoError(t, s.Restart(t.Context())) })
		})
	})
}

func TestConnectionThatDiedIdleIsReplaced(t *testing.T) {
	eachRestart(t, func(t *testing.T, address string, stop, start func()) {
		c := newClient(t, address)
		for _, name := range []string{"Get", "Set", "Delete", "GetMulti"} {
			require.NoError(t, c.Ping())
			stop()
			start()
			err := operations[name](c, "key", nil)
			assert.True(t, err == nil || err == memcache.ErrCacheMiss, "%s: %v", name, err)
		}
	})
}

// After a pause the connection is looked at before anything is sent on it, so
// that even what may not be repeated goes to a live one.
func TestConnectionThatDiedIdleIsNoticed(t *testing.T) {
	eachRestart(t, func(t *testing.T, address string, stop, start func()) {
		c := newClient(t, address)
		for _, name := range []string{"Increment", "Append", "Touch", "GetAndTouch", "CompareAndSwap", "Add"} {
			require.NoError(t, c.Ping())
			stop()
			start()
			time.Sleep(20 * time.Millisecond)
			err := operations[name](c, "key", nil)
			assert.True(t, err == nil || err == memcache.ErrCacheMiss || err == memcache.ErrNotStored, "%s: %v", name, err)
		}
	})
}

// A server that is gone fails its calls at once and is asked again when it is
// back.
func TestServerThatComesBackIsUsed(t *testing.T) {
	eachRestart(t, func(t *testing.T, address string, stop, start func()) {
		c := newClient(t, address)
		mustSet(t, c, "key", "before")
		stop()
		began := time.Now()
		for range 100 {
			_, err := c.Get("key")
			var op *memcache.OpError
			require.ErrorAs(t, err, &op)
			assert.Contains(t, err.Error(), address)
		}
		assert.Less(t, time.Since(began), fast)
		start()
		require.Eventually(t, func() bool {
			_, err := c.Get("key")
			return err == memcache.ErrCacheMiss
		}, fast, time.Millisecond)
		mustSet(t, c, "key", "after")
	})
}

// The words that programs look for in the text of a refusal are gomemcache's.
func TestServerErrorTexts(t *testing.T) {
	const line = "SERVER_ERROR out of memory storing object"
	prefixes := map[string]string{
		"Get":         "memcache: unexpected line in get response: ",
		"GetAndTouch": "memcache: unexpected line in get response: ",
		"GetMulti":    "memcache: unexpected line in get response: ",
	}
	address := replying(t, func([]string) string { return line })
	c := metaClient(t, address)
	dials := countDials(c)
	for name, do := range operations {
		err := do(c, "key", []byte("value"))
		prefix := prefixes[name]
		if prefix == "" {
			prefix = "memcache: unexpected response line from "
		}
		require.Error(t, err, name)
		assert.True(t, strings.HasPrefix(err.Error(), prefix), "%s: %v", name, err)
		assert.Contains(t, err.Error(), line, name)
		assert.Contains(t, err.Error(), address, name)
		assert.ErrorIs(t, err, memcache.ErrServerError, name)
		var refusal *memcache.ServerError
		require.ErrorAs(t, err, &refusal, name)
		assert.Equal(t, address, refusal.Server, name)
		assert.Equal(t, "SERVER_ERROR", refusal.Kind, name)
		assert.Equal(t, "out of memory storing object", refusal.Message, name)
	}
	assert.ErrorIs(t, c.Ping(), memcache.ErrServerError)
	wantDials(t, c, 1, dials)
}

func TestCountingWhatIsNoNumberIsAClientError(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		mustSet(t, c, "word", "not-numeric")
		for _, name := range []string{"Increment", "Decrement"} {
			err := operations[name](c, "word", nil)
			require.Error(t, err, name)
			assert.True(t, strings.HasPrefix(err.Error(), "memcache: client error: "), err)
			assert.Contains(t, strings.ToLower(err.Error()), "non-numeric", name)
			assert.ErrorIs(t, err, memcache.ErrServerError)
		}
		assert.Equal(t, "not-numeric", string(mustGet(t, c, "word").Value))
	})
}

// What came is kept for those who look for it and never shown: it may be
// somebody's data.
func TestNonsenseIsAProtocolErrorAndEndsTheConnection(t *testing.T) {
	replies := map[string]func(words []string) string{
		"no reply at all":       func([]string) string { return "secret 1 2 3" },
		"reply of another call": func([]string) string { return "VA 6 f0 c1 Ozzzz\r\nsecret" },
		"value without its end": func(words []string) string { return "VA 6 f0 c1 " + opaque(words) + "\r\nsecretXX" },
		"size that is none":     func(words []string) string { return "VA secret f0 c1 " + opaque(words) },
		"size beyond all bounds": func(words []string) string {
			return "VA 1073741825 f0 c1 " + opaque(words) + "\r\nsecret"
		},
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			address := replying(t, reply)
			c := metaClient(t, address)
			dials := countDials(c)
			for _, get := range []func() error{
				func() error { _, err := c.Get("key"); return err },
				func() error { _, err := c.GetMulti([]string{"key"}); return err },
			} {
				err := get()
				var nonsense *memcache.ProtocolError
				require.ErrorAs(t, err, &nonsense)
				assert.Equal(t, address, nonsense.Server)
				assert.NotEmpty(t, nonsense.Got)
				assert.LessOrEqual(t, len(nonsense.Got), 64)
				assert.Error(t, nonsense.Err)
				assert.Contains(t, err.Error(), "memcache: unexpected line in get response")
				assert.Contains(t, err.Error(), address)
				assert.NotContains(t, err.Error(), "secret")
				assert.NotErrorIs(t, err, memcache.ErrCacheMiss)
			}
			wantDials(t, c, 2, dials)
		})
	}
}

func TestErrorsShowNoKeysAndNoValues(t *testing.T) {
	address := map[string]string{
		"dead":    deadAddress(t),
		"silent":  fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) }),
		"hang up": fakeServer(t, func(c *fakeConn) { c.next() }),
		"refuses": replying(t, func([]string) string { return "SERVER_ERROR no" }),
		"babbles": replying(t, func(words []string) string { return strings.Join(words, " ") + " secret" }),
		"small":   memcachetest.NewServer(t, memcachetest.Config{MaxItemSize: 1024}).Addr(),
	}
	for name, address := range address {
		t.Run(name, func(t *testing.T) {
			c := metaClient(t, address)
			c.Timeout = 20 * time.Millisecond
			for name, do := range operations {
				for err := do(c, "secret", bytes.Repeat([]byte("secret"), 1000)); err != nil; err = errors.Unwrap(err) {
					assert.NotContains(t, err.Error(), "secret", name)
				}
			}
			_, err := c.GetMulti([]string{"secret", "secret2", "secret3"})
			if err != nil {
				assert.NotContains(t, err.Error(), "secret")
			}
		})
	}
}

func TestMultiErrorLooksIntoEachServer(t *testing.T) {
	refused := &memcache.OpError{Op: "get", Server: "a:1", Err: syscall.ECONNREFUSED}
	slow := &memcache.ConnectTimeoutError{Addr: &net.UnixAddr{Name: "/b", Net: "unix"}}
	tests := []struct {
		name    string
		err     *memcache.MultiError
		timeout bool
	}{
		{"none", &memcache.MultiError{}, false},
		{"refused", &memcache.MultiError{Failures: []memcache.Failure{{Server: "a:1", Err: refused}}}, false},
		{"slow", &memcache.MultiError{Failures: []memcache.Failure{{Server: "/b", Err: slow}}}, true},
		{"both", &memcache.MultiError{Failures: []memcache.Failure{{Server: "a:1", Err: refused}, {Server: "/b", Err: slow}}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Len(t, tt.err.Unwrap(), len(tt.err.Failures))
			assert.Equal(t, tt.timeout, tt.err.Timeout())
			for _, f := range tt.err.Failures {
				assert.ErrorIs(t, tt.err, f.Err)
				assert.Contains(t, tt.err.Error(), f.Server)
			}
		})
	}
}
