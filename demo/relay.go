package main

// A relay that passes bytes both ways until it is cut.

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

type relay struct {
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	isCut bool       // guarded by mu
	conns []net.Conn // guarded by mu: all that were opened, both sides
}

// startRelay listens on a loopback port for connections to target, which must
// accept one now.
func startRelay(ctx context.Context, target string) (*relay, error) {
	var dialer net.Dialer
	probe, err := dialer.DialContext(ctx, networkOf(target), target)
	if err != nil {
		return nil, fmt.Errorf("MEMCACHE_SERVERS: %w", err)
	}
	probe.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{target: target, listener: listener}
	r.wg.Go(r.accept)
	return r, nil
}

func (r *relay) addr() string { return r.listener.Addr().String() }

// cut breaks every connection, refuses new ones, and returns when all is over.
func (r *relay) cut() {
	r.mu.Lock()
	r.isCut = true
	r.listener.Close()
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial(networkOf(r.target), r.target)
		if err != nil || !r.adopt(near, far) {
			near.Close()
			continue
		}
		r.wg.Go(func() { pass(near, far) })
		r.wg.Go(func() { pass(far, near) })
	}
}

// adopt takes a pair of connections into the care of cut, unless that came first.
func (r *relay) adopt(near, far net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isCut {
		far.Close()
		return false
	}
	r.conns = append(r.conns, near, far)
	return true
}

// pass copies until one side ends, and then ends the other.
func pass(dst, src net.Conn) {
	_, _ = io.Copy(dst, src) // either side may break at any time
	dst.Close()
	src.Close()
}
