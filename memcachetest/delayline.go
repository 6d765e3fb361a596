package memcachetest

// A wire with a length and a width: what goes in comes out later, in order, each
// piece at its own time, and no faster than so many bytes a second.

import (
	"runtime"
	"sync/atomic"
	"time"
)

// linkSpeed is what both directions of a Proxy share. It may change at any time.
type linkSpeed struct {
	latency   atomic.Int64 // ns, one way
	bandwidth atomic.Int64 // bytes a second, each way; 0 = no limit
}

// packet is a piece of a stream on its way. After is done once it has been written.
type packet struct {
	bytes []byte
	at    time.Time     // when it went in
	end   func()        // in place of bytes: the sender's side ends here
	sent  chan struct{} // closed when all before it was written; nil for none
}

// hopTime is about what passing through the proxy takes by itself, each way. It is
// part of the latency that was asked for.
const hopTime = 18 * time.Microsecond

const (
	packetsOnTheWay = 1024
	segment         = 1448 // bytes that a limited link hands over at once
)

// delayLine carries packets to write.
type delayLine struct {
	speed *linkSpeed
	write func([]byte) error
	in    chan packet
	done  <-chan struct{} // closed when the connection is over
}

// send puts a packet on the way. It reports false when the connection is over.
func (l *delayLine) send(p packet) bool {
	p.at = time.Now()
	select {
	case l.in <- p:
		return true
	case <-l.done:
		return false
	}
}

// run delivers until the connection is over or a write fails, and keeps taking
// packets after that so that no sender waits for ever.
func (l *delayLine) run() {
	var free time.Time // when the link has sent what it was given
	dead := false
	for {
		var p packet
		select {
		case p = <-l.in:
		case <-l.done:
			return
		}
		if !dead {
			due := p.at.Add(time.Duration(l.speed.latency.Load()) - hopTime)
			if due.Before(free) {
				due = free
			}
			dead = !l.deliver(p.bytes, &due)
			free = due
		}
		if p.end != nil {
			p.end()
		}
		if p.sent != nil {
			close(p.sent)
		}
	}
}

// deliver writes b at due, and moves due to when the last of it was sent.
func (l *delayLine) deliver(b []byte, due *time.Time) bool {
	width := l.speed.bandwidth.Load()
	for len(b) > 0 {
		n := len(b)
		if width > 0 {
			n = min(n, segment)
			*due = due.Add(time.Duration(int64(n) * int64(time.Second) / width))
		}
		if !waitUntil(*due, l.done) || l.write(b[:n]) != nil {
			return false
		}
		b = b[n:]
	}
	return true
}

// finePart is the end of a wait that is spent awake, because a timer may be late by
// about this much.
const finePart = 2 * time.Millisecond

// waitUntil returns at that time and not much later. It reports false when done was
// closed first.
func waitUntil(at time.Time, done <-chan struct{}) bool {
	if rest := time.Until(at); rest > finePart && !pause(rest-finePart, nil, done) {
		return false
	}
	for {
		rest := time.Until(at)
		if rest <= 0 {
			return true
		}
		if !nap(rest) {
			runtime.Gosched()
		}
		select {
		case <-done:
			return false
		default:
		}
	}
}
