package memcache_test

// What the end of a context does to a call, and to nobody else.

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

// contextOperations are all operations that take a context, each as a call that
// returns its error.
var contextOperations = map[string]func(ctx context.Context, c *memcache.Client) error{
	"GetContext": func(ctx context.Context, c *memcache.Client) error { _, err := c.GetContext(ctx, "key"); return err },
	"GetAndTouchContext": func(ctx context.Context, c *memcache.Client) error {
		_, err := c.GetAndTouchContext(ctx, "key", 60)
		return err
	},
	"GetMultiContext": func(ctx context.Context, c *memcache.Client) error {
		_, err := c.GetMultiContext(ctx, []string{"key"})
		return err
	},
	"TouchContext":  func(ctx context.Context, c *memcache.Client) error { return c.TouchContext(ctx, "key", 60) },
	"DeleteContext": func(ctx context.Context, c *memcache.Client) error { return c.DeleteContext(ctx, "key") },
	"IncrementContext": func(ctx context.Context, c *memcache.Client) error {
		_, err := c.IncrementContext(ctx, "key", 1)
		return err
	},
	"DecrementContext": func(ctx context.Context, c *memcache.Client) error {
		_, err := c.DecrementContext(ctx, "key", 1)
		return err
	},
	"SetContext":            storingContext((*memcache.Client).SetContext),
	"AddContext":            storingContext((*memcache.Client).AddContext),
	"ReplaceContext":        storingContext((*memcache.Client).ReplaceContext),
	"AppendContext":         storingContext((*memcache.Client).AppendContext),
	"PrependContext":        storingContext((*memcache.Client).PrependContext),
	"CompareAndSwapContext": storingContext((*memcache.Client).CompareAndSwapContext),
	"SetMultiContext":       storingMultiContext((*memcache.Client).SetMultiContext),
	"AddMultiContext":       storingMultiContext((*memcache.Client).AddMultiContext),
	"ReplaceMultiContext":   storingMultiContext((*memcache.Client).ReplaceMultiContext),
	"DeleteMultiContext":    func(ctx context.Context, c *memcache.Client) error { return c.DeleteMultiContext(ctx, []string{"key"}) },
	"TouchMultiContext": func(ctx context.Context, c *memcache.Client) error {
		return c.TouchMultiContext(ctx, []string{"key"}, 60)
	},
	"IncrementMultiContext": func(ctx context.Context, c *memcache.Client) error {
		_, err := c.IncrementMultiContext(ctx, []string{"key"}, 1)
		return err
	},
	"DecrementMultiContext": func(ctx context.Context, c *memcache.Client) error {
		_, err := c.DecrementMultiContext(ctx, []string{"key"}, 1)
		return err
	},
	"PingContext":      func(ctx context.Context, c *memcache.Client) error { return c.PingContext(ctx) },
	"FlushAllContext":  func(ctx context.Context, c *memcache.Client) error { return c.FlushAllContext(ctx) },
	"DeleteAllContext": func(ctx context.Context, c *memcache.Client) error { return c.DeleteAllContext(ctx) },
}

func storingContext(store func(*memcache.Client, context.Context, *memcache.Item) error) func(context.Context, *memcache.Client) error {
	return func(ctx context.Context, c *memcache.Client) error {
		return store(c, ctx, &memcache.Item{Key: "key", Value: []byte("value"), CasID: 1})
	}
}

func storingMultiContext(store func(*memcache.Client, context.Context, []*memcache.Item) error) func(context.Context, *memcache.Client) error {
	return func(ctx context.Context, c *memcache.Client) error {
		return store(c, ctx, []*memcache.Item{{Key: "key", Value: []byte("value")}})
	}
}

// A plain operation and its form with a context differ in the context alone.
func TestEveryOperationHasAContextForm(t *testing.T) {
	client := reflect.TypeFor[*memcache.Client]()
	for i := range reflect.TypeFor[gomemcacheClient]().NumMethod() {
		if name := reflect.TypeFor[gomemcacheClient]().Method(i).Name; name != "Close" {
			_, ok := client.MethodByName(name + "Context")
			assert.True(t, ok, name)
		}
	}
	for i := range client.NumMethod() {
		with := client.Method(i)
		name, ok := strings.CutSuffix(with.Name, "Context")
		if !ok {
			continue
		}
		assert.Contains(t, contextOperations, with.Name)
		plain, ok := client.MethodByName(name)
		require.True(t, ok, name)
		in := []reflect.Type{client, reflect.TypeFor[context.Context]()}
		for i := 1; i < plain.Type.NumIn(); i++ {
			in = append(in, plain.Type.In(i))
		}
		var out []reflect.Type
		for i := range plain.Type.NumOut() {
			out = append(out, plain.Type.Out(i))
		}
		assert.Equal(t, reflect.FuncOf(in, out, false), with.Type, name)
	}
}

// requireGaveUp checks that err is what a caller gets whose context has ended
// with cause.
func requireGaveUp(t *testing.T, err, cause error, msg string) *memcache.OpError {
	t.Helper()
	require.ErrorIs(t, err, cause, msg)
	var failed *memcache.OpError
	require.ErrorAs(t, err, &failed, msg)
	require.NotEmpty(t, failed.Server, msg)
	_, ok := err.(net.Error)
	require.True(t, ok, msg)
	require.Equal(t, cause == context.DeadlineExceeded, isTimeout(err), msg)
	return failed
}

func TestNothingIsSentForAContextThatHasEnded(t *testing.T) {
	ended := map[error]context.Context{}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	ended[context.Canceled] = canceled
	late, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	ended[context.DeadlineExceeded] = late

	address := embedded(t, 1)[0]
	for cause, ctx := range ended {
		c := newClient(t, address)
		dials := countDials(c)
		for name, do := range contextOperations {
			failed := requireGaveUp(t, do(ctx, c), cause, name)
			assert.False(t, failed.OutcomeUnknown, name)
		}
		assert.Zero(t, dials.Load())
		mustSet(t, c, "key", "7") // with a connection that is open
		for name, do := range contextOperations {
			failed := requireGaveUp(t, do(ctx, c), cause, name)
			assert.False(t, failed.OutcomeUnknown, name)
		}
		assert.Equal(t, "7", string(mustGet(t, c, "key").Value))
	}
}

// gaveUpWithin is how soon a call returns after its context has ended. A machine
// that is busy with other things may take longer now and then.
const gaveUpWithin = 5 * time.Millisecond

func TestACanceledCallReturnsAtOnce(t *testing.T) {
	asked := make(chan struct{})
	silent := fakeServer(t, func(c *fakeConn) {
		c.asked = true // what it is asked is not the question of a new connection
		for words := c.next(); words != nil; words = c.next() {
			asked <- struct{}{}
		}
	})
	for name, do := range contextOperations {
		t.Run(name, func(t *testing.T) {
			c := metaClient(t, silent)
			soonest := time.Hour
			for range 50 {
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error)
				go func() { done <- do(ctx, c) }()
				<-asked
				start := time.Now()
				cancel()
				err := <-done
				soonest = min(soonest, time.Since(start))
				requireGaveUp(t, err, context.Canceled, name)
				if soonest < gaveUpWithin {
					break
				}
			}
			assert.Less(t, soonest, gaveUpWithin)
		})
	}
}

func TestACanceledCallSaysThatItsOutcomeIsUnknown(t *testing.T) {
	asked := make(chan struct{})
	address := fakeServer(t, func(c *fakeConn) {
		c.asked = true // as above
		for words := c.next(); words != nil; words = c.next() {
			asked <- struct{}{}
		}
	})
	for name, do := range contextOperations {
		c := metaClient(t, address)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- do(ctx, c) }()
		<-asked
		cancel()
		failed := requireGaveUp(t, <-done, context.Canceled, name)
		reads := slices.Contains([]string{"GetContext", "GetMultiContext", "PingContext"}, name)
		assert.Equal(t, !reads, failed.OutcomeUnknown, name)
		assert.Equal(t, !reads, strings.Contains(failed.Error(), "outcome unknown"), name)
	}
}

func TestACanceledCallCostsOthersNothing(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	address := fakeServer(t, func(c *fakeConn) {
		for words := c.next(); words != nil; words = c.next() {
			if words[1] == "slow" {
				asked <- struct{}{}
				<-release
			}
			io.WriteString(c, "VA 1 f0 c1 "+opaque(words)+"\r\n"+words[1][:1]+"\r\n")
		}
	})
	c := metaClient(t, address)
	dials := countDials(c)
	mustGet(t, c, "a")

	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := c.GetContext(ctx, "slow")
		gone <- err
	}()
	<-asked
	keys := []string{"b", "c", "d", "e"}
	got := make(chan string)
	for _, key := range keys {
		go func() {
			item, err := c.Get(key)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- item.Key + string(item.Value)
		}()
	}
	cancel()
	requireGaveUp(t, <-gone, context.Canceled, "slow")
	close(release)
	for range keys {
		pair := <-got
		require.Len(t, pair, 2, pair)
		assert.Equal(t, pair[0], pair[1])
	}
	wantDials(t, c, 1, dials)
}

func TestTheEarlierOfDeadlineAndTimeoutCounts(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	c := newClient(t, silent)
	c.Protocol = memcache.Meta
	neverDown(c)
	for name, do := range contextOperations {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		start := time.Now()
		requireGaveUp(t, do(ctx, c), context.DeadlineExceeded, name)
		assert.Less(t, time.Since(start), fast, name)
		cancel()
	}
	c.Timeout = 20 * time.Millisecond
	for name, do := range contextOperations {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		start := time.Now()
		err := do(ctx, c)
		assert.True(t, isTimeout(err), "%s: %v", name, err)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, name)
		assert.Less(t, time.Since(start), fast, name)
		cancel()
	}
}

// Cancelled while the connection is being made.
func TestACallIsCanceledWhileItDials(t *testing.T) {
	dialing := make(chan struct{})
	c := newClient(t, "192.0.2.1:1")
	c.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialing)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := c.GetContext(ctx, "key")
		done <- err
	}()
	<-dialing
	cancel()
	failed := requireGaveUp(t, <-done, context.Canceled, "")
	assert.False(t, failed.OutcomeUnknown)
}

func TestTheCauseOfAContextIsInTheError(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	for name, do := range contextOperations {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(5*time.Millisecond, func() { cancel(errTest) })
		err := do(ctx, newClient(t, silent))
		assert.ErrorIs(t, err, context.Canceled, name)
		assert.ErrorIs(t, err, errTest, name)
	}
}

func TestGetMultiContextKeepsWhatCameInTime(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	addresses := append(embedded(t, 1), silent)
	keys := strings.Split("abcdefghij", "")
	groups := byServer(t, addresses, keys)
	c := newClient(t, addresses...)
	for _, key := range groups[addresses[0]] {
		require.NoError(t, c.Set(&memcache.Item{Key: key, Value: stamp(key, 10)}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	items, err := c.GetMultiContext(ctx, keys)
	requireStamped(t, items, groups[addresses[0]], 10)
	var failed *memcache.MultiError
	require.True(t, errors.As(err, &failed))
	require.Len(t, failed.Failures, 1)
	assert.Equal(t, silent, failed.Failures[0].Server)
	assert.ElementsMatch(t, groups[silent], failed.Failures[0].Keys)
	requireGaveUp(t, failed.Failures[0].Err, context.DeadlineExceeded, "")
}
