//go:build unix

package outage

// One server that fails in one way, and how it ends: what callers see, that the
// server is down or not, and that it comes back.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/fakeserver"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

func TestKilled(t *testing.T) {
	t.Parallel()
	server := realserver.Start(t, realserver.Config{})
	s := newSubject(t, server.Addr())
	s.mustSet("key", "value")
	server.Stop()
	s.goesDown("key", server.Addr())
	s.staysDown("key", server.Addr())
	require.NoError(t, server.Restart(t.Context()))
	s.comesBack("key", server.Addr())
	_, err := s.Get("key")
	assert.Equal(t, memcache.ErrCacheMiss, err, "it came back empty")
	assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
}

// Nobody answers a SYN: the line of connections to be accepted is full.
func TestBlackhole(t *testing.T) {
	t.Parallel()
	address, open := fullListener(t)
	s := newSubject(t, address)
	s.goesDown("key", address)
	s.staysDown("key", address)
	assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
	open()
	s.comesBack("key", address)
}

// fullListener returns the address of a listener that completes no connection,
// until open makes a server of it.
func fullListener(t *testing.T) (address string, open func()) {
	syscall.ForkLock.RLock() // a server that another test starts must not inherit it, and keep it open
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	closed := false
	shut := func() {
		if !closed {
			closed = true
			syscall.Close(fd)
		}
	}
	t.Cleanup(shut)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)

	var filling []net.Conn
	t.Cleanup(func() {
		for _, c := range filling {
			c.Close()
		}
	})
	for {
		c, err := net.DialTimeout("tcp", address, patience)
		if err != nil {
			break
		}
		filling = append(filling, c)
		require.Less(t, len(filling), 100)
	}
	return address, func() {
		shut()
		until(t, "the address is free", func() bool {
			server, err := memcachetest.Start(memcachetest.Config{Addr: address})
			if err == nil {
				t.Cleanup(func() { server.Close() })
			}
			return err == nil
		})
	}
}

// What a server may do to the replies of its clients.
func TestSickServers(t *testing.T) {
	t.Parallel()
	// What is asked of each connection before it is used, in either protocol.
	but := func(fault memcachetest.Fault) memcachetest.Fault {
		fault.Except = []string{"version", "mn"}
		return fault
	}
	for _, row := range []struct {
		name  string
		fault memcachetest.Fault
		spare bool // what a probe asks for, or what comes while the machine is busy
	}{
		{"never answers", memcachetest.Fault{Do: memcachetest.Stall()}, false},
		{"answers questions about itself alone", but(memcachetest.Fault{Do: memcachetest.Stall()}), false},
		{"half a reply, then the end", but(memcachetest.Fault{Do: memcachetest.Cut(2)}), false},
		{"half a value, then the end", but(memcachetest.Fault{Do: memcachetest.CutValue()}), true},
		{"a reset in place of the reply", but(memcachetest.Fault{Do: memcachetest.Reset()}), false},
		{"a byte a second", but(memcachetest.Fault{Do: memcachetest.Drip(1, time.Second)}), false},
		{"an answer after twice the timeout", but(memcachetest.Fault{Do: memcachetest.Delay(2 * patience)}), true},
		{"the end in place of the version", memcachetest.Fault{Do: memcachetest.Cut(0)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := memcachetest.NewServer(t)
			server.Set(memcachetest.Item{Key: "key", Value: []byte("value")})
			s := newSubject(t, server.Addr())
			s.mustGet("key", "value")
			server.Inject(row.fault)
			s.goesDown("key", server.Addr())
			if !row.spare {
				s.staysDown("key", server.Addr())
			}
			server.Heal()
			s.comesBack("key", server.Addr())
			s.mustGet("key", "value")
			assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
		})
	}
}

// A server that ends its side after each reply has answered: it is not down, and
// no call is lost.
func TestHalfCloses(t *testing.T) {
	t.Parallel()
	server := memcachetest.NewServer(t)
	server.Set(memcachetest.Item{Key: "key", Value: []byte("value")})
	s := newSubject(t, server.Addr())
	s.Timeout = soon // which no busy machine reaches
	server.Inject(memcachetest.Fault{Except: []string{"version", "mn"}, Do: memcachetest.HalfClose()})
	for range 20 {
		s.mustGet("key", "value")
	}
	assert.Equal(t, memcache.ServerUp, s.health(server.Addr()).State)
	assert.Zero(t, s.health(server.Addr()).Downs)
}

// A reset in the middle of a value that was on its way for a while.
func TestResetInMidValue(t *testing.T) {
	t.Parallel()
	var healthy atomic.Bool
	address := fakeserver.Start(t, func(c *net.TCPConn) {
		if healthy.Load() {
			return
		}
		answer := func(line string) { io.WriteString(c, line) }
		for request := range requests(c) {
			switch request[0] {
			case "version":
				answer("VERSION 1.6.45\r\n")
			case "mn":
				answer("MN\r\n")
			case "mg":
				answer("VA 5 f0 c1 " + request[len(request)-1] + "\r\nval")
				c.SetLinger(0)
				return
			}
		}
	})
	s := newSubject(t, address)
	s.goesDown("key", address)
	s.staysDown("key", address)
}

// requests are the words of the lines that c sends.
func requests(c net.Conn) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if words := strings.Fields(lines.Text()); len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}

// A server that goes and comes all the time changes its state ever more seldom.
func TestFlaps(t *testing.T) {
	t.Parallel()
	server := memcachetest.NewServer(t)
	s := newSubject(t, server.Addr())
	s.Failover.MaxProbeDelay = 10 * time.Second
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for pause(stop, 5*time.Millisecond) {
			server.Stop()
			for pause(stop, 5*time.Millisecond) && server.RestartWarm() != nil {
				// Somebody has got the address for a moment.
			}
		}
	})
	const length = 3 * time.Second
	start := time.Now()
	for time.Since(start) < length {
		s.Get("key")
		pause(nil, time.Millisecond)
	}
	close(stop)
	wg.Wait()
	// With delays of at least 10 ms × 1.5^n, 14 returns take more than 5 s.
	h := s.health(server.Addr())
	t.Logf("down %d times, %d probes, %d dials", h.Downs, h.Probes, s.dials.Load())
	assert.NotZero(t, h.Downs)
	assert.LessOrEqual(t, h.Downs, uint64(14))
}

// Callers without number, and one who dials. They leave no processor to other
// tests, so these have to wait.
func TestCrowdBeforeADeadServer(t *testing.T) {
	for name, address := range map[string]func(*testing.T) string{
		"refused": func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			require.NoError(t, l.Close())
			return l.Addr().String()
		},
		"blackhole": func(t *testing.T) string {
			address, _ := fullListener(t)
			return address
		},
		"silence": func(t *testing.T) string {
			return fakeserver.Start(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			s := newSubject(t, address)
			const callers = 1000
			var down atomic.Int32
			var wg sync.WaitGroup
			stop := make(chan struct{})
			for range callers {
				wg.Go(func() {
					for pause(stop, 10*time.Millisecond) {
						_, err := s.Get("key")
						var failure net.Error
						assert.ErrorAs(t, err, &failure)
						if errors.Is(err, memcache.ErrServerDown) {
							down.Add(1)
						}
					}
				})
			}
			until(t, "down", func() bool { return down.Load() > callers })
			pause(nil, 10*maxProbeDelay)
			close(stop)
			wg.Wait()
			t.Logf("%d calls failed at once, %d dials", down.Load(), s.dials.Load())
			assert.LessOrEqual(t, s.most.Load(), int32(1), "dials at the same time")
		})
	}
}
