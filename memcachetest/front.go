package memcachetest

// The side of a Server or Proxy that clients come to: a listener that can go away
// and come back, and the connections it brought.

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// peer is one connection of a front.
type peer interface {
	number() int
	serve()
	close() // from any goroutine; makes serve return
}

// front must not be copied.
type front struct {
	network string      // as in Config
	tls     *tls.Config // or nil
	config  net.ListenConfig
	newPeer func(nc net.Conn, number int) peer

	addr    string
	tempDir string                        // removed by close
	paused  atomic.Pointer[chan struct{}] // closed by resume; nil when not paused
	turned  atomic.Int64                  // connections turned away
	wg      sync.WaitGroup                // the accept loops and every connection

	mu       sync.Mutex
	listener net.Listener // nil for NetworkPipe, and while nothing is accepted
	maxPeers int
	peers    map[peer]struct{}
	last     int  // the number of the latest connection
	down     bool // stopped or refusing: dial fails too
	closed   bool
}

// pipeAddrs numbers the fronts without a listener, so that each has an address of
// its own (in 192.0.2.0/24, which no host on earth has).
var pipeAddrs atomic.Int64

// open starts to listen on addr, or on an address of its own when it is empty.
func (f *front) open(addr string) error {
	f.peers = map[peer]struct{}{}
	switch {
	case f.network == NetworkPipe:
		if addr == "" {
			addr = fmt.Sprintf("192.0.2.%d:11211", pipeAddrs.Add(1)%254+1)
		}
	case f.network == "unix" && addr == "":
		dir, err := os.MkdirTemp("", "memcachetest")
		if err != nil {
			return fmt.Errorf("memcachetest: %w", err)
		}
		f.tempDir = dir
		addr = filepath.Join(dir, "sock")
	case f.network == "tcp6" && addr == "":
		addr = "[::1]:0"
	case addr == "":
		addr = "127.0.0.1:0"
	}
	f.addr = addr
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.listen()
	if err != nil {
		os.RemoveAll(f.tempDir) // "" removes nothing
		return err
	}
	if f.listener != nil {
		f.addr = f.listener.Addr().String()
	}
	return nil
}

// listen opens the listener unless it is open. Needs f.mu.
func (f *front) listen() error {
	if f.listener != nil || f.network == NetworkPipe {
		return nil
	}
	ln, err := f.config.Listen(context.Background(), f.network, f.addr)
	if err != nil {
		return fmt.Errorf("memcachetest: %w", err)
	}
	f.listener = ln
	f.wg.Go(func() { f.accept(ln) })
	return nil
}

// deafen closes the listener. Needs f.mu.
func (f *front) deafen() {
	if f.listener != nil {
		f.listener.Close()
		f.listener = nil
	}
}

// accept serves what a listener brings until it is closed.
func (f *front) accept(ln net.Listener) {
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		if f.tls != nil {
			nc = tls.Server(nc, f.tls)
		}
		if p := f.admit(nc); p != nil {
			go f.serve(p)
		}
	}
}

// admit makes nc one of the connections, for serve, or closes it and returns nil.
func (f *front) admit(nc net.Conn) peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.down {
		nc.Close()
		return nil
	}
	if len(f.peers) >= f.maxPeers {
		f.turned.Add(1)
		f.wg.Go(func() { turnAway(nc) })
		return nil
	}
	f.last++
	p := f.newPeer(nc, f.last)
	f.peers[p] = struct{}{}
	f.wg.Add(1)
	return p
}

// turnAway tells a client, which may not be listening, that there are too many.
func turnAway(nc net.Conn) {
	const patience = time.Second
	nc.SetDeadline(time.Now().Add(patience))
	nc.Write([]byte("ERROR Too many open connections\r\n"))
	nc.Close()
}

// serve serves an admitted connection to its end.
func (f *front) serve(p peer) {
	defer f.wg.Done()
	p.serve()
	p.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.peers, p)
}

// sorted returns the open connections by number. Needs f.mu.
func (f *front) sorted() []peer {
	return slices.SortedFunc(maps.Keys(f.peers), func(a, b peer) int { return cmp.Compare(a.number(), b.number()) })
}

// stop closes the listener and all connections.
func (f *front) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	f.deafen()
	for p := range f.peers {
		p.close()
	}
}

// refuse closes the listener alone, or opens it again.
func (f *front) refuse(on bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return net.ErrClosed
	}
	f.down = on
	if on {
		f.deafen()
		return nil
	}
	return f.listen()
}

// limit changes how many connections are admitted at once.
func (f *front) limit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.maxPeers = n
}

// pause makes waitPaused wait until resume.
func (f *front) pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused.Load() == nil {
		until := make(chan struct{})
		f.paused.Store(&until)
	}
}

func (f *front) resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until := f.paused.Swap(nil); until != nil {
		close(*until)
	}
}

// waitPaused returns when the front is not paused. It reports false when done was
// closed first.
func (f *front) waitPaused(done <-chan struct{}) bool {
	until := f.paused.Load()
	if until == nil {
		return true
	}
	select {
	case <-*until:
		return true
	case <-done:
		return false
	}
}

// close ends everything and waits for it.
func (f *front) close() {
	f.mu.Lock()
	f.closed = true
	f.deafen()
	for p := range f.peers {
		p.close()
	}
	f.mu.Unlock()
	f.wg.Wait()
	os.RemoveAll(f.tempDir) // "" removes nothing
}

// kind is the network of the address.
func (f *front) kind() string {
	switch f.network {
	case NetworkPipe, "unix":
		return f.network
	}
	return "tcp"
}
