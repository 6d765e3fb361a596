package link

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// relay stands between a Link and a server, and is the network when it fails.
// It knows nothing of what passes.
type relay struct {
	net.Listener
	network, target string

	mood atomic.Int32
	cut  atomic.Int64 // bytes that may still pass before a connection breaks; below zero: no end

	mu    sync.Mutex
	pairs map[net.Conn]net.Conn
	work  sync.WaitGroup
}

const (
	passes int32 = iota
	stalls       // nothing passes, and nothing is lost
	drips        // a few bytes now and then
	splits       // in pieces of any size
)

func newRelay(t testing.TB, network, target string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{Listener: l, network: network, target: target, pairs: map[net.Conn]net.Conn{}}
	r.cut.Store(-1)
	r.work.Go(r.accept)
	return r
}

func (r *relay) accept() {
	for {
		near, err := r.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial(r.network, r.target)
		if err != nil {
			near.Close()
			continue
		}
		r.mu.Lock()
		r.pairs[near] = far
		r.mu.Unlock()
		r.work.Go(func() { r.carry(near, far) })
		r.work.Go(func() { r.carry(far, near) })
	}
}

// carry takes bytes from one side to the other until either ends.
func (r *relay) carry(from, to net.Conn) {
	defer r.end(from, to)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			step := len(b)
			switch r.mood.Load() {
			case stalls:
				time.Sleep(time.Millisecond)
				if r.cut.Load() != 0 {
					continue
				}
			case drips:
				time.Sleep(time.Millisecond)
				step = min(step, 1+rand.IntN(40))
			case splits:
				step = 1 + rand.IntN(len(b))
			}
			if left := r.cut.Load(); left >= 0 {
				step = min(step, int(left))
				if r.cut.Add(-int64(step)) <= 0 {
					to.Write(b[:step])
					return
				}
			}
			if _, err := to.Write(b[:step]); err != nil {
				return
			}
			b = b[step:]
		}
		if err != nil {
			return
		}
	}
}

func (r *relay) end(a, b net.Conn) {
	if rand.IntN(2) == 0 { // a reset in place of a proper end
		for _, c := range []net.Conn{a, b} {
			if tcp, ok := c.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
		}
	}
	a.Close()
	b.Close()
	r.mu.Lock()
	delete(r.pairs, a)
	delete(r.pairs, b)
	r.mu.Unlock()
}

// breakAll breaks every connection there is.
func (r *relay) breakAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for near, far := range r.pairs {
		near.Close()
		far.Close()
	}
}

// heal lets everything pass again.
func (r *relay) heal() {
	r.cut.Store(-1)
	r.mood.Store(passes)
}

func (r *relay) Close() error {
	r.heal()
	err := r.Listener.Close()
	r.breakAll()
	r.work.Wait()
	return err
}
