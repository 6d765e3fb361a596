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

// These tests share one processor with a goroutine, and a busy machine may end a
// yield before that has had its turn. So each begins anew until the turn has come
// inside a yield: a read that does not look behind its yields never gets there.

// Nobody can wake a reader that yields: it has to look by itself, or a call in a
// busy process returns long after its end.
func TestWhatEndsAReadEndsItBetweenYields(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(*wire)
		want error
	}{
		"deadline": {func(w *wire) { w.SetReadDeadline(longAgo) }, os.ErrDeadlineExceeded},
		"close": {func(w *wire) {
			go w.Close() // it waits for the reader
			for w.SetDeadline(time.Time{}) == nil {
				runtime.Gosched()
			}
		}, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			reached(t, func() bool {
				near, _ := connected(t)
				w := newWire(near)
				end := share(t, 5, func() { row.end(w) })
				defer end()
				_, err := w.read(make([]byte, 1), true)
				assert.ErrorIs(t, err, row.want)
				return w.sock.yields > 0 // it has not parked
			})
		})
	}
}

// Each read of the socket may be the last one that is allowed, and comes behind
// the yield.
func TestAReadThatYieldsTakesWhatCameMeanwhile(t *testing.T) {
	reached(t, func() bool {
		near, far := connected(t)
		w := newWire(near)
		b := make([]byte, 2)
		w.sock.in, w.sock.crowd = b, true
		var end func()
		err := w.raw.Read(func(fd uintptr) bool {
			end = share(t, 1, func() {
				io.WriteString(far, "x")
				w.SetReadDeadline(longAgo)
			})
			return w.sock.read(fd)
		})
		end()
		if err != nil {
			return false
		}
		require.NoError(t, w.sock.inErr)
		return string(b[:w.sock.inLen]) == "x"
	})
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
// that.
func share(t *testing.T, nth int, do func()) (end func()) {
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
	end = sync.OnceFunc(func() {
		close(stop)
		<-ended
	})
	t.Cleanup(end)
	return end
}
