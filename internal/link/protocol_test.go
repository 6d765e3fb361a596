package link

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/fakeserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// autoLink is a Link that asks, and the number of connections it made.
func autoLink(t *testing.T, address string) (*Link, *atomic.Int32) {
	var dials atomic.Int32
	l := New(Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			dials.Add(1)
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		},
		Protocol: Auto,
		Timeout:  func() time.Duration { return 5 * time.Second },
		MaxValue: 1 << 20,
		Activity: new(Activity),
	})
	t.Cleanup(func() { l.Close() })
	return l, &dials
}

func TestAutoChoosesByVersionAndBarrier(t *testing.T) {
	classicGet := func(line string) string {
		if strings.HasPrefix(line, "gets ") {
			return "VALUE k 0 1 7\r\nv\r\nEND\r\n"
		}
		return "close"
	}
	rows := []struct {
		name   string
		answer func(line string) string // "close" hangs up, "" says nothing
		meta   bool
		dials  int32
	}{
		{"1.6.18", func(line string) string {
			switch word, _, _ := strings.Cut(line, " "); word {
			case "version":
				return "VERSION 1.6.18\r\n"
			case "mn":
				return "MN\r\n"
			}
			return "VA 1 f0 c7 O" + firstOpaque + "\r\nv\r\n"
		}, true, 1},
		{"1.6.17 is never sent mn", func(line string) string {
			if line == "version" {
				return "VERSION 1.6.17\r\n"
			}
			return classicGet(line)
		}, false, 1},
		{"1.10.0 is newer, but says ERROR to mn", func(line string) string {
			switch line {
			case "version":
				return "VERSION 1.10.0\r\n"
			case "mn":
				return "ERROR\r\n"
			}
			return classicGet(line)
		}, false, 2},
		{"a text that is no number", func(line string) string {
			if line == "version" {
				return "VERSION go-client-unit-test\r\n"
			}
			return classicGet(line)
		}, false, 1},
		{"a proxy that passes version on and closes on mn", func(line string) string {
			if line == "version" {
				return "VERSION 1.6.45\r\n"
			}
			return classicGet(line)
		}, false, 2},
		{"closes on anything else", classicGet, false, 2},
		{"nonsense", func(line string) string {
			if line == "version" {
				return "?\r\n!\r\n"
			}
			return classicGet(line)
		}, false, 2},
		{"silence", func(line string) string {
			if line == "version" {
				return ""
			}
			return classicGet(line)
		}, false, 2},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			address := fakeserver.Start(t, func(c *net.TCPConn) {
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					answer := row.answer(lines.Text())
					if answer == "close" {
						return
					}
					fmt.Fprint(c, answer)
				}
			})
			l, dials := autoLink(t, address)
			reply, err := l.Do(context.Background(), &Request{Op: Get, Key: "k"})
			require.NoError(t, err)
			assert.Equal(t, "v", string(reply.Value))
			assert.Equal(t, uint64(7), reply.CAS)
			_, meta := l.current[0].Load().codec.(*metaCodec)
			assert.Equal(t, row.meta, meta)
			assert.Equal(t, row.dials, dials.Load())
		})
	}
}

// The answer of one connection says nothing about the next: a server may have
// been replaced by an older one.
func TestAutoAsksEachConnection(t *testing.T) {
	var old atomic.Bool
	address := fakeserver.Start(t, func(c *net.TCPConn) {
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			switch word, _, _ := strings.Cut(lines.Text(), " "); {
			case word == "version" && old.Load():
				fmt.Fprint(c, "VERSION 1.4.15\r\n")
			case word == "version":
				fmt.Fprint(c, "VERSION 1.6.45\r\n")
			case word == "mn":
				fmt.Fprint(c, "MN\r\n")
			case word == "mg":
				fmt.Fprint(c, "EN O"+firstOpaque+"\r\n")
			case word == "gets":
				fmt.Fprint(c, "END\r\n")
			default:
				return
			}
		}
	})
	l, _ := autoLink(t, address)
	get := func() codec {
		reply, err := l.Do(context.Background(), &Request{Op: Get, Key: "k"})
		require.NoError(t, err)
		require.Equal(t, Miss, reply.Status)
		return l.current[0].Load().codec
	}
	assert.IsType(t, &metaCodec{}, get())
	old.Store(true)
	require.NoError(t, l.Close())
	assert.IsType(t, &classicCodec{}, get())
}

func TestParseVersion(t *testing.T) {
	rows := map[string]struct {
		want version
		ok   bool
	}{
		"1.6.18":                 {version{1, 6, 18}, true},
		"1.6.45-beta1":           {version{1, 6, 45}, true},
		"10.0.0":                 {version{10, 0, 0}, true},
		"1.6":                    {},
		"":                       {},
		"1..6":                   {},
		"go-client-unit-test":    {},
		"99999999999999999999.0": {},
	}
	for text, row := range rows {
		v, ok := parseVersion(text)
		assert.Equal(t, row.ok, ok, text)
		if ok {
			assert.Equal(t, row.want, v, text)
		}
	}
}

// A stub that a meta client left to say that it computes the value is a miss,
// also where the batch was asked in a classic line.
func TestBatchTellsStubFromEmptyValue(t *testing.T) {
	s := memcachetest.NewServer(t)
	l, _ := autoLink(t, s.Addr())
	ctx := context.Background()
	nc, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer nc.Close()
	fmt.Fprint(nc, "mg stub v N30\r\n")
	_, err = nc.Read(make([]byte, 100))
	require.NoError(t, err)
	_, err = l.Do(ctx, &Request{Op: Set, Key: "empty"})
	require.NoError(t, err)

	for _, n := range []int{3, fewKeys + 2} {
		keys := []string{"stub", "empty"}
		for i := range n - 2 {
			keys = append(keys, fmt.Sprintf("absent%d", i))
		}
		share := &Share{Link: l, Keys: keys}
		Gather(ctx, []*Share{share})
		require.NoError(t, share.Err)
		assert.Equal(t, Miss, share.Replies[0].Status, "%d keys", n)
		assert.Equal(t, OK, share.Replies[1].Status, "%d keys", n)
		assert.Equal(t, Miss, share.Replies[n-1].Status, "%d keys", n)
	}
}

// So is one that came before the connection was lost.
func TestLostBatchTellsStubFromEmptyValue(t *testing.T) {
	opening := func(p *peer) {
		p.say(p.next().answer()) // to version
		p.say(p.next().answer()) // to mn
	}
	s := onTCP(t, time.Minute, func(p *peer) {
		opening(p)
		p.next()
		p.say("VALUE key:0 0 0 1\r\n\r\nVALUE key:1 0 0 2\r\n\r\nVALUE key:2 0 1 3\r\nx\r\n")
	}, func(p *peer) {
		opening(p)
		p.say("EN " + p.next().opaque() + "\r\n")
		p.say(p.next().hit(""))
		p.serve()
	})
	s.cfg.Protocol = Auto
	share := &Share{Link: s.Link, Keys: numbered(fewKeys + 1)}
	Gather(context.Background(), []*Share{share})
	require.Error(t, share.Err)
	require.Len(t, share.Replies, 3)
	assert.Equal(t, []Status{Miss, OK, OK}, []Status{share.Replies[0].Status, share.Replies[1].Status, share.Replies[2].Status})
}
