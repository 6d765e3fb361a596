package link

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file plays servers that are broken or mean: whatever they announce or go
// on sending, a call ends in bounded time and memory, with a typed error.

// reply is one of the binary protocol with lengths that need not be true.
func binaryReply(opcode byte, status uint16, extras, key int, body uint32, opaque uint32, rest string) string {
	h := make([]byte, 24)
	h[0], h[1], h[4] = 0x81, opcode, byte(extras)
	binary.BigEndian.PutUint16(h[2:], uint16(key))
	binary.BigEndian.PutUint16(h[6:], status)
	binary.BigEndian.PutUint32(h[8:], body)
	binary.BigEndian.PutUint32(h[12:], opaque)
	return string(h) + rest
}

func TestHostileReplies(t *testing.T) {
	var (
		get     = Request{Op: Get, Key: "k"}
		set     = Request{Op: Set, Key: "k", Value: []byte("v")}
		incr    = Request{Op: Increment, Key: "k", Delta: 1}
		version = Request{Op: Version}
		stats   = Request{Op: Stats}
	)
	const endless = 1 << 20                 // bytes: more than any of these may take
	o := "O" + string(appendOpaque(nil, 0)) // of the first request
	rows := []struct {
		name     string
		protocol Protocol
		ask      Request
		begin    string // said once
		forever  string // said again and again behind it; none: silence
		timeout  bool   // the error is ErrNoProgress, else a *ProtocolError
	}{
		{"meta: length of 2^32-1", Meta, get, "VA 4294967295 f0 c1 " + o + "\r\n", "x", false},
		{"meta: length above MaxValue", Meta, get, "VA 67108865 f0 c1 " + o + "\r\n", "x", false},
		{"meta: negative length", Meta, get, "VA -1 f0 c1 " + o + "\r\n", "x", false},
		{"meta: length beyond 64 bits", Meta, get, "VA 18446744073709551617 f0 c1 " + o + "\r\n", "x", false},
		{"meta: length beyond int64", Meta, get, "VA 9223372036854775808 f0 c1 " + o + "\r\n", "x", false},
		{"meta: no length", Meta, get, "VA f0 c1 " + o + "\r\n", "x", false},
		{"meta: length without a value", Meta, get, "VA 67108864 f0 c1 " + o + "\r\n", "", true},
		{"meta: small length without a value", Meta, get, "VA 100 f0 c1 " + o + "\r\n", "", true},
		{"meta: endless header", Meta, get, "VA 1 f0 c1 ", o, false},
		{"meta: endless flags", Meta, get, "VA 1 f0 c1 " + o, " f0", false},
		{"meta: endless line without a word", Meta, get, "", "x", false},
		{"meta: endless error line", Meta, get, "SERVER_ERROR ", "x", false},
		{"meta: endless empty lines", Meta, get, "", "\r\n", false},
		{"meta: endless number", Meta, incr, "VA 67108864 " + o + "\r\n", "1", false},
		{"meta: number of 21 digits", Meta, incr, "VA 21 " + o + "\r\n", "1", false},
		{"meta: no number", Meta, incr, "VA 1 " + o + "\r\nx\r\n", "", false},
		{"meta: value for a store", Meta, set, "VA 67108864 " + o + "\r\n", "x", false},
		{"meta: endless stats", Meta, stats, "", "STAT name value\r\n", false},
		{"meta: endless nameless stats", Meta, stats, "", "STAT \r\n", false},
		{"meta: endless statistic", Meta, stats, "STAT name ", "x", false},
		{"meta: huge version", Meta, version, "VERSION ", "1", false},
		{"classic: length of 2^32-1", Classic, get, "VALUE k 0 4294967295 1\r\n", "x", false},
		{"classic: length above MaxValue", Classic, get, "VALUE k 0 67108865 1\r\n", "x", false},
		{"classic: negative length", Classic, get, "VALUE k 0 -1 1\r\n", "x", false},
		{"classic: length beyond 64 bits", Classic, get, "VALUE k 0 18446744073709551617 1\r\n", "x", false},
		{"classic: endless key", Classic, get, "VALUE ", "k", false},
		{"classic: value without an end", Classic, get, "VALUE k 0 1 1\r\nv\r\n", "", true},
		{"classic: value again and again", Classic, get, "", "VALUE k 0 1 1\r\nv\r\n", false},
		{"classic: endless number", Classic, incr, "", "1", false},
		{"classic: endless stats", Classic, stats, "", "STAT name value\r\n", false},
		{"classic: huge version", Classic, version, "VERSION ", "1", false},
		{"binary: length of 2^32-1", Binary, get, binaryReply(0, 0, 4, 0, 1<<32-1, 0, ""), "x", false},
		{"binary: length above MaxValue", Binary, get, binaryReply(0, 0, 4, 0, 64<<20+5, 0, ""), "x", false},
		{"binary: lengths that contradict", Binary, get, binaryReply(0, 0, 4, 9, 5, 0, ""), "x", false},
		{"binary: length without a value", Binary, get, binaryReply(0, 0, 4, 0, 64<<20, 0, ""), "", true},
		{"binary: longest key and extras", Binary, get, binaryReply(0, 0, 4, 65535, 65535+4+1, 0, ""), "x", false},
		{"binary: longest key of a miss", Binary, get, binaryReply(0, 1, 255, 65535, 65535+255, 0, ""), "x", false},
		{"binary: endless error text", Binary, get, binaryReply(0, 0x81, 0, 0, 64<<20, 0, ""), "x", false},
		{"binary: endless text of a miss", Binary, get, binaryReply(0, 1, 0, 0, 64<<20, 0, ""), "x", false},
		{"binary: value for a store", Binary, set, binaryReply(1, 0, 0, 0, 64<<20, 0, ""), "x", false},
		{"binary: number of many bytes", Binary, incr, binaryReply(5, 0, 0, 0, 64<<20, 0, ""), "x", false},
		{"binary: huge version", Binary, version, binaryReply(0x0b, 0, 0, 0, 64<<20, 0, ""), "x", false},
		{"binary: huge statistic", Binary, stats, binaryReply(0x10, 0, 0, 1, 64<<20, 0, ""), "x", false},
		{"binary: endless stats", Binary, stats, "", binaryReply(0x10, 0, 0, 4, 9, 0, "namevalue"), false},
		{"binary: endless empty stats", Binary, stats, "", binaryReply(0x10, 0, 1, 0, 1, 0, "x"), false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said atomic.Int64
				s := onPipe(t, limit, func(p *peer) {
					p.in.ReadByte()
					go p.ignore()
					p.say(row.begin)
					if row.forever == "" {
						p.Read(make([]byte, 1)) // until the client hangs up
						return
					}
					chunk := strings.Repeat(row.forever, 1+4096/len(row.forever))
					for {
						n, err := io.WriteString(p, chunk)
						said.Add(int64(n))
						if err != nil {
							return
						}
					}
				})
				s.cfg.Protocol = row.protocol
				start, before := time.Now(), allocated()
				_, err := s.Do(context.Background(), &row.ask)
				assert.LessOrEqual(t, time.Since(start), limit+2*time.Duration(grace))
				grown := allocated() - before
				require.NoError(t, s.Close())
				if row.timeout {
					assert.ErrorIs(t, err, ErrNoProgress)
				} else {
					var nonsense *ProtocolError
					require.ErrorAs(t, err, &nonsense)
					assert.LessOrEqual(t, len(nonsense.Got), 64)
				}
				if row.ask.Op == Stats {
					assert.Less(t, said.Load(), int64(2*maxStats))
					return
				}
				assert.Less(t, said.Load(), int64(endless), "bytes that were taken")
				assert.Less(t, grown, uint64(4<<20), "bytes allocated")
			})
		})
	}
}

// A batch whose replies do not end, or are not for it.
func TestHostileBatches(t *testing.T) {
	keys := make([]string, 30)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	value := func(i int) string { return fmt.Sprintf("VALUE %s 0 1 1\r\nv\r\n", keys[i]) }
	hit := func(i int) string { return fmt.Sprintf("VA 1 f0 c1 O%s\r\nv\r\n", appendOpaque(nil, uint32(i))) }
	quiet := func(i int) string { return binaryReply(9, 0, 4, 0, 5, uint32(i), "\x00\x00\x00\x00v") }
	all := func(one func(int) string) string {
		var b strings.Builder
		for i := range keys {
			b.WriteString(one(i))
		}
		return b.String()
	}
	rows := []struct {
		name     string
		protocol Protocol
		begin    string
		forever  string
		replied  int
		timeout  bool
	}{
		{"meta: all but one", Meta, strings.TrimSuffix(all(hit), hit(29)), "", 29, true},
		{"meta: the same again and again", Meta, hit(0), hit(0), 1, false},
		{"meta: the next but one", Meta, hit(0) + hit(2), "", 1, false},
		{"meta: more than asked for", Meta, all(hit), hit(30), 30, false},
		{"classic: no end", Classic, all(value), "", 29, true},
		{"classic: no end, the same again", Classic, all(value), value(3), 29, false},
		{"classic: a stranger", Classic, value(0) + "VALUE stranger 0 1 1\r\nv\r\n", "", 1, false},
		{"classic: endless ends", Classic, all(value) + "END\r\n", "END\r\n", 30, false},
		{"binary: no end", Binary, all(quiet), "", 29, true},
		{"binary: the same again and again", Binary, quiet(0), quiet(0), 1, false},
		{"binary: backwards", Binary, quiet(7) + quiet(6), "", 1, false},
		{"binary: behind the end", Binary, quiet(31), "", 0, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					p.in.ReadByte()
					go p.ignore()
					p.say(row.begin)
					for row.forever != "" {
						if _, err := io.WriteString(p, row.forever); err != nil {
							return
						}
					}
					p.Read(make([]byte, 1))
				})
				s.cfg.Protocol = row.protocol
				start, before := time.Now(), allocated()
				share := &Share{Link: s.Link, Keys: keys}
				Gather(context.Background(), []*Share{share})
				assert.LessOrEqual(t, time.Since(start), limit+2*time.Duration(grace))
				assert.Less(t, allocated()-before, uint64(4<<20))
				require.NoError(t, s.Close())
				if row.replied == len(keys) { // all was well until they were there
					require.NoError(t, share.Err)
					return
				}
				require.Error(t, share.Err)
				var nonsense *ProtocolError
				if row.timeout {
					assert.ErrorIs(t, share.Err, ErrNoProgress)
				} else {
					assert.ErrorAs(t, share.Err, &nonsense)
				}
				for _, reply := range share.Replies {
					if reply.Status == OK {
						assert.Equal(t, "v", string(reply.Value))
					}
				}
			})
		})
	}
}

// A key of a classic batch is a miss only when END has come: until then a proxy
// may yet have its value, or an error in its place.
func TestMissesNeedTheEnd(t *testing.T) {
	const values = "VALUE a 0 1 1\r\nv\r\nVALUE c 0 1 1\r\nv\r\n"
	for name, behind := range map[string]func(p *peer){
		"END":                       func(p *peer) { p.say("END\r\n"); p.ignore() },
		"silence":                   func(p *peer) { p.ignore() },
		"close":                     func(p *peer) {},
		"an error line":             func(p *peer) { p.say("SERVER_ERROR backend failure\r\n"); p.ignore() },
		"an error line out of step": func(p *peer) { p.say("SERVER_ERROR out of memory reading request\r\n"); p.ignore() },
		"nonsense":                  func(p *peer) { p.say("?\r\n"); p.ignore() },
		"another value":             func(p *peer) { p.say("VALUE d 0 1 1\r\nv\r\n"); p.ignore() },
	} {
		t.Run(name, func(t *testing.T) {
			for _, patience := range []time.Duration{time.Hour, limit / 2} {
				synctest.Test(t, func(t *testing.T) {
					s := onPipe(t, limit, func(p *peer) {
						p.next()
						p.say(values)
						behind(p)
					})
					s.cfg.Protocol = Classic
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					defer cancel()
					share := &Share{Link: s.Link, Keys: []string{"a", "b", "c"}}
					Gather(ctx, []*Share{share})
					require.Len(t, share.Replies, 3)
					assert.Equal(t, OK, share.Replies[0].Status)
					assert.Equal(t, OK, share.Replies[2].Status)
					if name == "END" {
						require.NoError(t, share.Err)
						assert.Equal(t, Miss, share.Replies[1].Status)
						return
					}
					assert.Equal(t, Refused, share.Replies[1].Status)
					assert.Error(t, share.Replies[1].Err)
				})
			}
		})
	}
}

// A value that comes a byte at a time is no progress, nor are bytes of a header;
// a context ends the slowest of them.
func TestHostileDrips(t *testing.T) {
	o := "O" + string(appendOpaque(nil, 0))
	for name, begin := range map[string]string{
		"value": "VA 1000 f0 c1 " + o + "\r\n", "large value": "VA 1000000 f0 c1 " + o + "\r\n", "header": "VA 1", "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, drip(begin))
				start := time.Now()
				_, err := s.get("k")
				require.Error(t, err)
				assert.LessOrEqual(t, time.Since(start), limit+2*time.Duration(grace))
			})
		})
	}
	t.Run("64 KiB at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := onPipe(t, limit, func(p *peer) {
				p.in.ReadByte()
				go p.ignore()
				p.say("VA 67108864 f0 c1 " + o + "\r\n")
				for {
					if _, err := io.WriteString(p, strings.Repeat("x", bigStep)); err != nil {
						return
					}
					time.Sleep(limit * 9 / 10)
				}
			})
			ctx, cancel := context.WithTimeout(context.Background(), 10*limit)
			defer cancel()
			start := time.Now()
			_, err := s.getCtx(ctx, "k")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, 10*limit, time.Since(start))
		})
	})
}
