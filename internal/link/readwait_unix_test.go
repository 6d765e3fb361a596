//go:build unix

package link

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nobody can wake a reader that yields: it has to look by itself, or a call in a
// busy process returns long after its end.
func TestWhatEndsAReadEndsItBetweenYields(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(*wire)
		want error
	}{
		"deadline": {func(w *wire) { w.SetReadDeadline(longAgo) }, os.ErrDeadlineExceeded},
		"close":    {func(w *wire) { go w.Close() }, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			near, _ := connected(t)
			w := newWire(near)
			turns := share(t, 5, func() { row.end(w) })
			_, err := w.read(make([]byte, 1), true)
			assert.ErrorIs(t, err, row.want)
			assert.Less(t, turns(), 10)
		})
	}
}

// Each read of the socket may be the last one that is allowed, and comes behind
// the yield.
func TestAReadThatYieldsTakesWhatCameMeanwhile(t *testing.T) {
	near, far := connected(t)
	w := newWire(near)
	b := make([]byte, 2)
	w.sock.in, w.sock.crowd = b, true
	require.NoError(t, w.raw.Read(func(fd uintptr) bool {
		share(t, 1, func() {
			io.WriteString(far, "x")
			w.SetReadDeadline(longAgo)
		})
		return w.sock.read(fd)
	}))
	require.NoError(t, w.sock.inErr)
	assert.Equal(t, "x", string(b[:w.sock.inLen]))
}

// connected returns both ends of a TCP connection.
func connected(t *testing.T) (near, far net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	near, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	far, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		near.Close()
		far.Close()
	})
	return near, far
}

// share has t share one processor with a goroutine whose turns are longer than a
// yield in an idle process, and which calls do in its nth. It returns how to end
// that, and to learn how many turns there were.
func share(t *testing.T, nth int, do func()) (turns func() int) {
	procs := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	stop, n, ended := make(chan struct{}), 0, make(chan struct{})
	go func() {
		defer close(ended)
		for ; !isClosed(stop); runtime.Gosched() {
			if n++; n == nth {
				do()
			}
			for start := time.Now(); time.Since(start) < 2*longYield; {
			}
		}
	}()
	end := sync.OnceFunc(func() {
		close(stop)
		<-ended
	})
	t.Cleanup(end)
	return func() int {
		end()
		return n
	}
}
