package memcachetest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roundTrip returns the least time of n exchanges of one mn: a busy machine only
// adds to it.
func roundTrip(t *testing.T, network, addr string, n int) time.Duration {
	nc, err := net.Dial(network, addr)
	require.NoError(t, err)
	defer nc.Close()
	r := bufio.NewReader(nc)
	least := time.Hour
	for range n {
		start := time.Now()
		_, err := io.WriteString(nc, "mn\r\n")
		require.NoError(t, err)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "MN\r\n", line)
		least = min(least, time.Since(start))
	}
	return least
}

// eventually retries a measurement that a busy machine may spoil, but not for ever.
func eventually(t *testing.T, what func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = what(); err == nil {
			return
		}
	}
	t.Error(err)
}

func TestProxyLatencyIsAsSet(t *testing.T) {
	s := NewServer(t)
	p := NewProxy(t, s.Addr())
	for _, latency := range []time.Duration{150 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		p.SetLatency(latency)
		eventually(t, func() error {
			direct := roundTrip(t, s.Network(), s.Addr(), 200)
			added := roundTrip(t, p.Network(), p.Addr(), 100) - direct
			t.Logf("%v each way: %v added to a round trip of %v", latency, added, direct)
			if added < 2*latency*8/10 || added > 2*latency*12/10 {
				return fmt.Errorf("%v each way added %v to the round trip", latency, added)
			}
			return nil
		})
	}
}

func TestProxyDoesNotBatchOrReorder(t *testing.T) {
	s := NewServer(t)
	p := NewProxy(t, s.Addr(), ProxyConfig{Latency: 20 * time.Millisecond})
	c := dial(t, p)
	const n, gap = 10, 2 * time.Millisecond
	eventually(t, func() error {
		go func() {
			for i := range n {
				fmt.Fprintf(c.nc, "mg k%d k\r\n", i)
				time.Sleep(gap)
			}
		}()
		var first, last time.Time
		for i := range n {
			c.want(fmt.Sprintf("EN kk%d\r\n", i))
			last = time.Now()
			if i == 0 {
				first = last
			}
		}
		// Sent over (n-1) gaps, they must come over that time too, and not at once.
		if span := last.Sub(first); span < (n-1)*gap/2 {
			return fmt.Errorf("%d replies came within %v", n, span)
		}
		return nil
	})
}

func TestProxyBandwidth(t *testing.T) {
	s := NewServer(t)
	const size = 100_000
	s.Set(Item{Key: "k", Value: make([]byte, size)})
	p := NewProxy(t, s.Addr(), ProxyConfig{Bandwidth: 1_000_000})
	c := dial(t, p)
	get := func() time.Duration {
		start := time.Now()
		c.send("mg k v\r\n")
		_, err := io.CopyN(io.Discard, c.r, int64(len("VA 100000\r\n\r\n")+size))
		require.NoError(t, err)
		return time.Since(start)
	}
	eventually(t, func() error {
		if took := get(); took < 90*time.Millisecond || took > 150*time.Millisecond {
			return fmt.Errorf("100 kB at 1 MB/s took %v", took)
		}
		return nil
	})
	p.SetBandwidth(0)
	eventually(t, func() error {
		if took := get(); took > 50*time.Millisecond {
			return fmt.Errorf("without a limit it took %v", took)
		}
		return nil
	})
}

func TestProxyRecordsEveryByte(t *testing.T) {
	s := NewServer(t)
	p := NewProxy(t, s.Addr(), ProxyConfig{Record: true, SocketBuffer: 4096})
	value := strings.Repeat("\x00\r\n\xff", 50_000)
	c := dial(t, p)
	script := fmt.Sprintf("ms k %d\r\n%s\r\nmg k v\r\n", len(value), value)
	go io.WriteString(c.nc, script)
	reply := fmt.Sprintf("HD\r\nVA %d\r\n%s\r\n", len(value), value)
	c.want(reply)
	p.Inject(Fault{Do: WrongOpaque()})
	d := dial(t, p)
	d.send("mg x O1\r\n")
	d.want("EN O0\r\n")
	tapes := p.Recordings()
	require.Len(t, tapes, 2)
	assert.Equal(t, 1, tapes[0].Conn)
	assert.True(t, script == string(tapes[0].Sent), "what the client sent")
	assert.True(t, reply == string(tapes[0].Received), "what the client got")
	assert.Equal(t, Recording{2, []byte("mg x O1\r\n"), []byte("EN O0\r\n")}, tapes[1])
}

func TestProxyBackPressure(t *testing.T) {
	s := NewServer(t)
	s.Set(Item{Key: "k", Value: make([]byte, 10_000)})
	p := NewProxy(t, s.Addr(), ProxyConfig{SocketBuffer: 4096})
	c := dial(t, p)
	const n = 500
	go io.WriteString(c.nc, strings.Repeat("mg k v\r\n", n))
	_, err := io.CopyN(io.Discard, c.r, n*int64(len("VA 10000\r\n\r\n")+10_000))
	require.NoError(t, err)
	c.send("mn\r\n")
	c.want("MN\r\n")
}

func TestProxyEnds(t *testing.T) {
	s := NewServer(t)
	p := NewProxy(t, s.Addr())
	t.Run("server closes", func(t *testing.T) {
		c := dial(t, p)
		c.send("mn\r\nquit\r\n")
		c.wantClosed("MN\r\n")
	})
	t.Run("client closes its side", func(t *testing.T) {
		c := dial(t, p)
		c.send("mn\r\n")
		require.NoError(t, c.nc.(*net.TCPConn).CloseWrite())
		c.wantClosed("MN\r\n")
	})
	t.Run("no server", func(t *testing.T) {
		gone := NewServer(t)
		require.NoError(t, gone.Close())
		dial(t, NewProxy(t, gone.Addr())).wantClosed("")
	})
	t.Run("stop and restart", func(t *testing.T) {
		c := dial(t, p)
		c.send("mn\r\n")
		c.want("MN\r\n")
		p.Stop()
		c.wantClosed("")
		require.NoError(t, p.Restart())
		c = dial(t, p)
		c.send("mn\r\n")
		c.want("MN\r\n")
	})
	assert.Positive(t, p.Accepted())
}

func TestProxyToUnixSocketRaw(t *testing.T) {
	s := NewServer(t, Config{Network: "unix"})
	p := NewProxy(t, s.Addr(), ProxyConfig{Network: "unix", Raw: true})
	c := dial(t, p)
	c.send("mn\r\n")
	c.want("MN\r\n")
	p.Inject(Fault{Do: Cut(1)})
	c.send("mn\r\n")
	c.wantClosed("M")
}

func TestStartProxyFails(t *testing.T) {
	for name, configs := range map[string][]ProxyConfig{
		"two configs":    {{}, {}},
		"pipe":           {{Network: NetworkPipe}},
		"address in use": {{Addr: NewServer(t).Addr()}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := StartProxy("127.0.0.1:1", configs...)
			require.Error(t, err)
		})
	}
}

// TestFramesSurviveAnySplit cuts both streams at random places: requests and replies
// must be told apart all the same.
func TestFramesSurviveAnySplit(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	noop := "\x80\x0a" + string(make([]byte, 22))
	statRequest := "\x80\x10" + string(make([]byte, 22))
	statReply := "\x81\x10\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02" + string(make([]byte, 12)) + "ab"
	for name, row := range map[string]struct {
		requests []string
		replies  []string
		commands []string
	}{
		"text": {
			[]string{
				"ms a 7\r\nmg x v\n\r\n", "mg q q O1\r\n", "mg a v O2\r\n", "get a b\r\n", "set a 0 0 2 noreply\r\nhi\r\n", "stats\r\n",
				"md a q\r\n", "mn\r\n", "version\r\n", "mg a q k\r\n", "ms b 2 q\r\nxx\r\n", "mn\r\n",
			},
			[]string{
				"HD\r\n", "VA 7 O2\r\nmg x v\n\r\n", "VALUE a 0 7\r\nEND\r\n\r\n\r\nEND\r\n", "STAT a b\r\nSTAT c d\r\nEND\r\n",
				"MN\r\n", "VERSION 1\r\n", "HD ka\r\n", "MN\r\n",
			},
			[]string{"ms", "mg", "get", "stats", "mn", "version", "mg", "mn"},
		},
		"binary": {
			[]string{noop, statRequest, noop},
			[]string{"\x81" + noop[1:], statReply + statReply + "\x81" + statRequest[1:], "\x81" + noop[1:]},
			[]string{"noop", "stat", "noop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 200 {
				var p pending
				requests := requestFrames{pending: &p}
				for piece := range pieces(rng, strings.Join(row.requests, "")) {
					requests.see(piece)
				}
				replies := replyFrames{pending: &p}
				var got []string
				var commands []string
				current := ""
				for piece := range pieces(rng, strings.Join(row.replies, "")) {
					for len(piece) > 0 {
						n, whole := replies.see(piece)
						current += string(piece[:n])
						piece = piece[n:]
						if whole {
							got, commands = append(got, current), append(commands, replies.asked.command)
							current = ""
						}
					}
				}
				require.Equal(t, row.replies, got)
				require.Equal(t, row.commands, commands)
				require.Empty(t, current)
			}
		})
	}
}

// pieces cuts s at random places.
func pieces(rng *rand.Rand, s string) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(s) > 0 {
			n := min(1+rng.IntN(6), len(s))
			if !yield([]byte(s[:n])) {
				return
			}
			s = s[n:]
		}
	}
}
