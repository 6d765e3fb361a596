package link

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// This file is the stage for the fault tests: servers that play a script, over
// pipes in virtual time or over sockets with buffers as small as they get.

// firstOpaque is that of the first meta request of a connection.
var firstOpaque = string(appendOpaque(nil, 0))

// peer is the server's end of one connection, played by a script.
type peer struct {
	net.Conn
	in *bufio.Reader
}

// asked is one request as it came: a line and, behind ms and the classic
// storing commands, a value.
type asked struct {
	words []string
	value string
}

// next reads a request; nil when the client has hung up.
func (p *peer) next() *asked {
	line, err := p.in.ReadString('\n')
	if err != nil {
		return nil
	}
	a := &asked{words: strings.Fields(line)}
	at := map[string]int{"ms": 2, "set": 4, "add": 4, "replace": 4, "append": 4, "prepend": 4, "cas": 4}[a.words[0]]
	if at == 0 {
		return a
	}
	size, _ := strconv.Atoi(a.words[at])
	value := make([]byte, size+len(crlf))
	if _, err := io.ReadFull(p.in, value); err != nil {
		return nil
	}
	a.value = string(value[:size])
	return a
}

// key is the key of a; opaque its flag O, with the letter.
func (a *asked) key() string { return a.words[1] }

func (a *asked) opaque() string {
	for _, w := range a.words[2:] {
		if w[0] == 'O' {
			return w
		}
	}
	return ""
}

// hit is the reply to a meta get that finds value.
func (a *asked) hit(value string) string {
	return fmt.Sprintf("VA %d f0 c1 %s\r\n%s\r\n", len(value), a.opaque(), value)
}

// answer is what a healthy server replies: each key's value is "value of" it.
func (a *asked) answer() string {
	switch a.words[0] {
	case "mg":
		if !slices.Contains(a.words, "v") {
			return "HD f0 c1 s1 t-1 h0 l0 " + a.opaque() + "\r\n"
		}
		return a.hit(valueOf(a.key()))
	case "ms", "md":
		return "HD " + a.opaque() + "\r\n"
	case "ma":
		return "VA 1 " + a.opaque() + "\r\n7\r\n"
	case "set", "add", "replace", "append", "prepend", "cas":
		return "STORED\r\n"
	case "delete":
		return "DELETED\r\n"
	case "incr", "decr":
		return "7\r\n"
	case "touch":
		return "TOUCHED\r\n"
	case "stats":
		return "STAT a 1\r\nEND\r\n"
	case "version":
		return "VERSION 1.6.45\r\n"
	case "mn":
		return "MN\r\n"
	case "flush_all":
		return "OK\r\n"
	case "gets":
		var b strings.Builder
		for _, key := range a.words[1:] {
			fmt.Fprintf(&b, "VALUE %s 0 %d 1\r\n%s\r\n", key, len(valueOf(key)), valueOf(key))
		}
		return b.String() + "END\r\n"
	}
	return "ERROR\r\n"
}

func valueOf(key string) string { return "value of " + key }

// say sends s. Once the client has hung up it does nothing.
func (p *peer) say(s string) { io.WriteString(p, s) }

// serve answers as a healthy server until the client hangs up.
func (p *peer) serve() {
	for a := p.next(); a != nil; a = p.next() {
		p.say(a.answer())
	}
}

// ignore reads and says nothing until the client hangs up.
func (p *peer) ignore() { io.Copy(io.Discard, p.in) }

func healthy(p *peer) { p.serve() }
func silent(p *peer)  { p.ignore() }

// stage is a Link whose connections are played by scripts.
type stage struct {
	*Link
	dials   atomic.Int32
	scripts []func(*peer)
	timeout time.Duration

	stop    func() // accepts no more connections
	running sync.WaitGroup
}

// play runs the script of the next connection, the last one for all that
// follow, and closes the connection when it returns.
func (s *stage) play(nc net.Conn) {
	n := int(s.dials.Add(1))
	script := s.scripts[min(n, len(s.scripts))-1]
	s.running.Go(func() {
		defer nc.Close()
		script(&peer{nc, bufio.NewReader(nc)})
	})
}

func (s *stage) start(t *testing.T, dial func(context.Context) (net.Conn, error)) *stage {
	s.Link = New(Config{
		Dial:     dial,
		Timeout:  func() time.Duration { return s.timeout },
		MaxValue: 64 << 20,
		Activity: new(Activity),
	})
	t.Cleanup(func() {
		s.Close()
		for _, c := range s.all() { // half open yet; a pipe does not go with the Link
			c.wire.abort()
		}
		s.stop()
		s.running.Wait()
	})
	return s
}

// onPipe is a stage over unbuffered pipes.
func onPipe(t *testing.T, timeout time.Duration, scripts ...func(*peer)) *stage {
	s := &stage{scripts: scripts, timeout: timeout, stop: func() {}}
	return s.start(t, func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		s.play(far)
		return near, nil
	})
}

// onTCP is a stage over TCP whose buffers hold about 4 KiB in each direction.
func onTCP(t *testing.T, timeout time.Duration, scripts ...func(*peer)) *stage {
	s := &stage{scripts: scripts, timeout: timeout}
	listen := net.ListenConfig{Control: smallBuffers}
	l, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.play(nc)
		}
	})
	s.stop = func() {
		l.Close()
		accepting.Wait()
	}
	return s.start(t, func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Control: smallBuffers}
		return d.DialContext(ctx, "tcp", l.Addr().String())
	})
}

// transports runs f over pipes in virtual time, and over TCP and TLS in real
// time.
func transports(t *testing.T, f func(t *testing.T, on func(*testing.T, time.Duration, ...func(*peer)) *stage)) {
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, onPipe) })
	})
	t.Run("tcp", func(t *testing.T) { f(t, onTCP) })
	t.Run("tls", func(t *testing.T) { f(t, onTLS) })
}

// get is a Get without a deadline.
func (s *stage) get(key string) (string, error) { return s.getCtx(context.Background(), key) }

func (s *stage) getCtx(ctx context.Context, key string) (string, error) {
	reply, err := s.Do(ctx, &Request{Op: Get, Key: key})
	if err == nil && reply.Status != OK {
		err = cmp.Or(reply.Err, errMiss)
	}
	return string(reply.Value), err
}

var errMiss = errors.New("a miss")

// wantValue asks for key and expects its value.
func (s *stage) wantValue(t *testing.T, key string) {
	t.Helper()
	value, err := s.get(key)
	require.NoError(t, err)
	require.Equal(t, valueOf(key), value)
}

// later runs f beside the test and returns where its error will come.
func later(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// reached waits until cond holds: at once in a bubble when all else sleeps.
func reached(t *testing.T, cond func() bool) {
	t.Helper()
	for range 5000 {
		if cond() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.FailNow(t, "state not reached")
}

// look reads a connection's state under its lock.
func (s *stage) look(f func(c *conn) bool) func() bool {
	return func() bool {
		c := s.current[0].Load()
		if c == nil {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return f(c)
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// onTLS is a stage over TLS.
func onTLS(t *testing.T, timeout time.Duration, scripts ...func(*peer)) *stage {
	certificate, roots := selfSigned(t)
	server := &tls.Config{Certificates: []tls.Certificate{certificate}}
	secure := make([]func(*peer), len(scripts))
	for i, script := range scripts {
		secure[i] = func(p *peer) {
			nc := tls.Server(p.Conn, server)
			if nc.Handshake() == nil {
				script(&peer{nc, bufio.NewReader(nc)})
			}
			nc.Close()
		}
	}
	s := onTCP(t, timeout, secure...)
	s.cfg.DialTimeout = func() time.Duration { return time.Minute } // handshakes are slow on a busy machine
	dial := s.cfg.Dial
	s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
		nc, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		c := tls.Client(nc, &tls.Config{RootCAs: roots, ServerName: "localhost"})
		if err := c.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, err
		}
		return c, nil
	}
	return s
}

// length is how many calls have no reply.
func (s *turns) length() (n int) {
	for t := s.first; t != nil; t = t.next {
		n++
	}
	return n
}

// selfSigned makes a certificate for localhost.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
