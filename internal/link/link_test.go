package link

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vaquero-cache/memcache/internal/fakeserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newLink returns a Link to address with a timeout, closed at the end of t.
func newLink(t testing.TB, network, address string, timeout time.Duration) *Link {
	t.Helper()
	l := New(Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
		Timeout:  func() time.Duration { return timeout },
		MaxValue: 64 << 20,
		Activity: new(Activity),
	})
	t.Cleanup(func() { l.Close() })
	return l
}

// embedded returns a Link to a fresh embedded server.
func embedded(t testing.TB) *Link {
	s := memcachetest.NewServer(t)
	return newLink(t, s.Network(), s.Addr(), 5*time.Second)
}

func testEveryOperation(t *testing.T, l *Link) {
	ctx := context.Background()
	do := func(req Request) Reply {
		t.Helper()
		reply, err := l.Do(ctx, &req)
		require.NoError(t, err, req.Op)
		return reply
	}
	assert.Equal(t, Miss, do(Request{Op: Get, Key: "k"}).Status)
	assert.Equal(t, OK, do(Request{Op: Set, Key: "k", Value: []byte("one"), Flags: 7}).Status)
	hit := do(Request{Op: Get, Key: "k"})
	assert.Equal(t, OK, hit.Status)
	assert.Equal(t, "one", string(hit.Value))
	assert.Equal(t, uint32(7), hit.Flags)
	assert.NotZero(t, hit.CAS)

	assert.Equal(t, NotStored, do(Request{Op: Add, Key: "k", Value: []byte("x")}).Status)
	assert.Equal(t, OK, do(Request{Op: Append, Key: "k", Value: []byte("+")}).Status)
	assert.Equal(t, OK, do(Request{Op: Prepend, Key: "k", Value: []byte("-")}).Status)
	assert.Equal(t, "-one+", string(do(Request{Op: Get, Key: "k"}).Value))
	assert.Equal(t, Exists, do(Request{Op: CompareAndSwap, Key: "k", CAS: hit.CAS}).Status)
	assert.Equal(t, Miss, do(Request{Op: CompareAndSwap, Key: "absent", CAS: 1}).Status)
	assert.Equal(t, NotStored, do(Request{Op: Replace, Key: "absent"}).Status)

	got := do(Request{Op: GetAndTouch, Key: "k", Expiration: 100})
	assert.Equal(t, OK, do(Request{Op: CompareAndSwap, Key: "k", CAS: got.CAS, Value: []byte("41")}).Status)
	assert.Equal(t, uint64(42), do(Request{Op: Increment, Key: "k", Delta: 1}).Number)
	assert.Equal(t, uint64(0), do(Request{Op: Decrement, Key: "k", Delta: 100}).Number)
	assert.Equal(t, Miss, do(Request{Op: Increment, Key: "absent", Delta: 1}).Status)
	assert.Equal(t, OK, do(Request{Op: Touch, Key: "k", Expiration: 100}).Status)
	assert.Equal(t, Miss, do(Request{Op: Touch, Key: "absent", Expiration: 100}).Status)
	assert.Equal(t, OK, do(Request{Op: Delete, Key: "k"}).Status)
	assert.Equal(t, Miss, do(Request{Op: Delete, Key: "k"}).Status)

	assert.Equal(t, OK, do(Request{Op: Set, Key: "empty"}).Status)
	empty := do(Request{Op: Get, Key: "empty"})
	assert.NotNil(t, empty.Value)
	assert.Empty(t, empty.Value)

	do(Request{Op: Set, Key: "word", Value: []byte("word")})
	refused := do(Request{Op: Increment, Key: "word", Delta: 1})
	assert.Equal(t, Refused, refused.Status)
	assert.ErrorContains(t, refused.Err, "CLIENT_ERROR")

	_, ok := parseVersion(string(do(Request{Op: Version}).Value))
	assert.True(t, ok)
	assert.Equal(t, OK, do(Request{Op: FlushAll}).Status)
}

func TestLargeValuesComeBackWhole(t *testing.T) {
	l := embedded(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, directSize - 1, directSize, directSize + 1, readBuffer - 1, readBuffer, readBuffer + 1, 1000 * 1000} {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(rng.Uint32())
		}
		reply, err := l.Do(context.Background(), &Request{Op: Set, Key: "k", Value: value})
		require.NoError(t, err)
		require.Equal(t, OK, reply.Status, "%d: %v", size, reply.Err)
		reply, err = l.Do(context.Background(), &Request{Op: Get, Key: "k"})
		require.NoError(t, err)
		require.True(t, bytes.Equal(value, reply.Value), size)
	}
}

// Values carry their key: whoever gets another caller's bytes notices.
func stamp(key string, size int) []byte {
	return bytes.Repeat([]byte(key+"."), size/(len(key)+1)+1)
}

func TestManyCallersGetTheirOwn(t *testing.T) {
	l := embedded(t)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for range 200 {
				key := fmt.Sprintf("k%d", rng.IntN(50))
				want := stamp(key, len(key)*400)
				switch rng.IntN(4) {
				case 0:
					reply, err := l.Do(context.Background(), &Request{Op: Set, Key: key, Value: want})
					assert.NoError(t, err)
					assert.Equal(t, OK, reply.Status)
				case 1:
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(200))*time.Microsecond)
					reply, err := l.Do(ctx, &Request{Op: Get, Key: key})
					if err == nil && reply.Status == OK {
						assert.True(t, bytes.Equal(want, reply.Value), key)
					} else if err != nil {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					}
					cancel()
				default:
					reply, err := l.Do(context.Background(), &Request{Op: Get, Key: key})
					assert.NoError(t, err)
					if reply.Status == OK {
						assert.True(t, bytes.Equal(want, reply.Value), key)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestGatherOverFourServers(t *testing.T) {
	const keys = 5000
	var links []*Link
	for range 4 {
		links = append(links, embedded(t))
	}
	parts := make([][]string, 4)
	for i := range keys {
		key := fmt.Sprintf("key:%d", i)
		parts[i%4] = append(parts[i%4], key)
		if i%5 != 0 {
			_, err := links[i%4].Do(context.Background(), &Request{Op: Set, Key: key, Value: stamp(key, 100)})
			require.NoError(t, err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var shares []*Share
			for i := range 4 {
				shares = append(shares, &Share{Link: links[i], Keys: parts[i]})
			}
			Gather(context.Background(), shares)
			hits := 0
			for _, s := range shares {
				assert.NoError(t, s.Err)
				if !assert.Len(t, s.Replies, len(s.Keys)) {
					continue
				}
				for i, r := range s.Replies {
					if r.Status == OK {
						hits++
						assert.Equal(t, stamp(s.Keys[i], 100), r.Value)
					}
				}
			}
			assert.Equal(t, keys/5*4, hits)
		})
	}
	wg.Wait()
}

func TestDeadServerFailsFast(t *testing.T) {
	s, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := s.Addr().String()
	require.NoError(t, s.Close())
	l := newLink(t, "tcp", address, time.Second)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, err := l.Do(context.Background(), &Request{Op: Get, Key: "k"})
			var lost *LostError
			if assert.ErrorAs(t, err, &lost) {
				assert.True(t, lost.Dial)
			}
		})
	}
	wg.Wait()
}

func TestSilentServerIsGivenUp(t *testing.T) {
	var closed atomic.Int32
	address := fakeserver.Start(t, func(c *net.TCPConn) {
		b := make([]byte, 1000)
		for {
			if _, err := c.Read(b); err != nil {
				closed.Add(1)
				return
			}
		}
	})
	l := newLink(t, "tcp", address, 100*time.Millisecond)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			start := time.Now()
			_, err := l.Do(context.Background(), &Request{Op: Get, Key: "k"})
			assert.ErrorIs(t, err, ErrNoProgress)
			assert.Less(t, time.Since(start), time.Second)
			var timeout net.Error
			assert.True(t, errors.As(err, &timeout) && timeout.Timeout())
		})
	}
	wg.Wait()
}

func TestCancelReturnsAtOnceAndCostsNobodyElse(t *testing.T) {
	release := make(chan struct{})
	address := fakeserver.Start(t, func(c *net.TCPConn) {
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			<-release
			words := strings.Fields(lines.Text())
			fmt.Fprintf(c, "VA 1 f0 c1 %s\r\n%s\r\n", words[len(words)-1], words[1])
		}
	})
	l := newLink(t, "tcp", address, 5*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := l.Do(ctx, &Request{Op: Get, Key: "a"})
		first <- err
	}()
	require.Eventually(t, func() bool { return l.current[0].Load() != nil }, time.Second, time.Millisecond)
	second := make(chan Reply)
	start := time.Now()
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	require.Less(t, time.Since(start), time.Second)
	go func() {
		reply, err := l.Do(context.Background(), &Request{Op: Get, Key: "b"})
		assert.NoError(t, err)
		second <- reply
	}()
	close(release)
	assert.Equal(t, "b", string((<-second).Value), "the late reply of a goes to nobody")
}
