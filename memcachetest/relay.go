package memcachetest

// One connection of a Proxy: two streams, each read by one goroutine and written by
// another, with a delay line between them.

import (
	"bytes"
	"net"
	"sync"
	"time"
)

const relayBuffer = 32 << 10

type relay struct {
	proxy  *Proxy
	id     int
	client net.Conn
	server net.Conn // nil until dialled
	tape   *Recording

	pending  pending
	requests requestFrames
	replies  replyFrames

	toServer, toClient *delayLine

	reply []byte // the reply that is held until it is whole
	out   []byte // replies that are not on the delay line yet
	held  []byte // a reply that goes out behind the next one
	over  bool   // nothing more goes to the client

	done chan struct{}
	once sync.Once
	mu   sync.Mutex // guards server while it is dialled
}

func newRelay(p *Proxy, nc net.Conn, number int) *relay {
	r := &relay{proxy: p, id: number, client: nc, tape: p.tape(number), done: make(chan struct{})}
	r.requests.pending = &r.pending
	r.replies.pending = &r.pending
	return r
}

func (r *relay) number() int { return r.id }

func (r *relay) close() {
	r.once.Do(func() { close(r.done) })
	r.client.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.server != nil {
		r.server.Close()
	}
}

// dial connects to the target. It reports false when that fails or the relay was
// closed meanwhile.
func (r *relay) dial() bool {
	dialer := net.Dialer{Timeout: 5 * time.Second, Control: bufferControl(r.proxy.cfg.SocketBuffer)}
	nc, err := dialer.Dial(r.proxy.network, r.proxy.target)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = nc
	select {
	case <-r.done:
		nc.Close()
		return false
	default:
		return true
	}
}

func (r *relay) serve() {
	if !r.proxy.front.waitPaused(r.done) || !r.dial() {
		return
	}
	for _, nc := range []net.Conn{r.client, r.server} {
		shrink(nc, r.proxy.cfg.SocketBuffer)
	}
	r.toServer = r.line(func(b []byte) error {
		_, err := r.server.Write(b)
		return err
	})
	r.toClient = r.line(func(b []byte) error {
		r.record(nil, b)
		_, err := r.client.Write(b)
		return err
	})
	var lines, readers sync.WaitGroup
	lines.Go(r.toServer.run)
	lines.Go(r.toClient.run)
	readers.Go(r.readRequests)
	readers.Go(r.readReplies)
	readers.Wait()
	r.close()
	lines.Wait()
}

func (r *relay) line(write func([]byte) error) *delayLine {
	return &delayLine{
		speed: &r.proxy.speed, done: r.done, in: make(chan packet, packetsOnTheWay),
		write: func(b []byte) error {
			r.proxy.front.waitPaused(r.done)
			return write(b)
		},
	}
}

func (r *relay) record(sent, received []byte) {
	if r.tape == nil {
		return
	}
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	r.tape.Sent = append(r.tape.Sent, sent...)
	r.tape.Received = append(r.tape.Received, received...)
}

// shrink sets the socket's buffers, where it has some.
func shrink(nc net.Conn, size int) {
	buffered, ok := nc.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	})
	if ok && size > 0 {
		buffered.SetReadBuffer(size)
		buffered.SetWriteBuffer(size)
	}
}

// readRequests hands on what the client sends, to its end.
func (r *relay) readRequests() {
	b := make([]byte, relayBuffer)
	for {
		n, err := r.client.Read(b)
		if n > 0 {
			r.record(b[:n], nil)
			if !r.proxy.cfg.Raw {
				r.requests.see(b[:n])
			}
			if !r.toServer.send(packet{bytes: bytes.Clone(b[:n])}) {
				return
			}
		}
		if err != nil {
			r.toServer.send(packet{end: func() { closeWrite(r.server) }})
			return
		}
	}
}

// closeWrite ends one side of a connection.
func closeWrite(nc net.Conn) {
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	nc.Close()
}

// readReplies hands on what the server sends, with the faults that replies suffer.
func (r *relay) readReplies() {
	b := make([]byte, relayBuffer)
	for !r.over {
		n, err := r.server.Read(b)
		r.pass(b[:n])
		if !r.flush() {
			break
		}
		if err != nil {
			break
		}
	}
	r.write(r.reply)
	r.flush()
	// The client's side ends when all before it is delivered.
	sent := make(chan struct{})
	if r.toClient.send(packet{end: func() { closeWrite(r.client) }, sent: sent}) {
		select {
		case <-sent:
		case <-r.done:
		}
	}
	r.close()
}

// pass looks at bytes from the server, and lets each reply have its faults.
func (r *relay) pass(b []byte) {
	faults := &r.proxy.faults
	for len(b) > 0 && !r.over {
		n, whole := len(b), true
		if !r.proxy.cfg.Raw {
			holding := len(r.reply) > 0 || !r.replies.inside && len(r.replies.head) == 0 &&
				(faults.count.Load() > 0 || r.held != nil)
			n, whole = r.replies.see(b)
			if !holding {
				r.write(b[:n])
				b = b[n:]
				continue
			}
		}
		r.reply = append(r.reply, b[:n]...)
		b = b[n:]
		if !whole {
			continue
		}
		reply := r.reply
		r.reply = nil
		command := r.replies.asked.command
		hit := append(faults.take(r.id, command, true), faults.take(r.id, command, false)...)
		deliver(r, hit, reply)
	}
}

func (r *relay) write(b []byte) { r.out = append(r.out, b...) }

func (r *relay) swapped() *[]byte { return &r.held }

// flush puts what was written on the delay line. What is held because its reply is
// not whole stays.
func (r *relay) flush() bool {
	if len(r.out) == 0 {
		return true
	}
	b := r.out
	r.out = nil
	return r.toClient.send(packet{bytes: b})
}

// wait sleeps for d, or until gone when d is negative.
func (r *relay) wait(d time.Duration, gone <-chan struct{}) bool {
	if pause(d, gone, r.done) {
		return true
	}
	r.over = true
	return false
}

// cut ends the connection behind what was written.
func (r *relay) cut() { r.over = true }

// reset ends it at once, when what was written is out.
func (r *relay) reset() {
	r.over = true
	sent := make(chan struct{})
	if r.flush() && r.toClient.send(packet{sent: sent}) {
		select {
		case <-sent:
		case <-r.done:
		}
	}
	resetConn(r.client)
}

// halfClose ends the client's receiving side. Its requests still reach the server.
func (r *relay) halfClose() {
	r.flush()
	sent := make(chan struct{})
	r.toClient.send(packet{end: func() { closeWrite(r.client) }, sent: sent})
	r.mute()
}

// mute drops what the server still sends, until the connection is over.
func (r *relay) mute() {
	b := make([]byte, relayBuffer)
	for {
		if _, err := r.server.Read(b); err != nil {
			r.over = true
			return
		}
	}
}
