package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
)

// What not every protocol can say is said by those that can, and refused by the
// others without harm to the connection.

func TestCountersAreCreated(t *testing.T) {
	onEveryServer(t, func(t *testing.T, l *Link) {
		up := &Request{Op: Increment, Key: "made:" + t.Name(), Create: true, Initial: 7, Delta: 2, Expiration: 100}
		reply, err := l.Do(context.Background(), up)
		if l.cfg.Protocol == Classic {
			require.ErrorIs(t, err, ErrUnsupported)
			l.wantMiss(t, up.Key)
			return
		}
		require.NoError(t, err)
		assert.EqualValues(t, 7, reply.Number, "the delta is not applied to a new one")
		reply, err = l.Do(context.Background(), up)
		require.NoError(t, err)
		assert.EqualValues(t, 9, reply.Number)
		reply, err = l.Do(context.Background(), &Request{Op: Decrement, Key: "down:" + t.Name(), Create: true, Initial: 5, Delta: 1, Expiration: -1})
		require.NoError(t, err)
		assert.EqualValues(t, 5, reply.Number)
		l.wantMiss(t, "down:"+t.Name())
	})
}

func (l *Link) wantMiss(t *testing.T, key string) {
	t.Helper()
	reply, err := l.Do(context.Background(), &Request{Op: Get, Key: key})
	require.NoError(t, err)
	require.Equal(t, Miss, reply.Status)
}

func TestAppendCreates(t *testing.T) {
	onEveryServer(t, func(t *testing.T, l *Link) {
		key := "list:" + t.Name()
		reply, err := l.Do(context.Background(), &Request{Op: Append, Key: key, Value: []byte("b"), Flags: 5, Expiration: 100, Create: true})
		if l.cfg.Protocol == Classic || l.cfg.Protocol == Binary {
			require.ErrorIs(t, err, ErrUnsupported)
			l.wantMiss(t, key)
			return
		}
		require.NoError(t, err)
		if reply.Status == NotStored { // servers before 1.6.20
			l.wantMiss(t, key)
			return
		}
		require.Equal(t, OK, reply.Status)
		reply, err = l.Do(context.Background(), &Request{Op: Prepend, Key: key, Value: []byte("a"), Create: true})
		require.NoError(t, err)
		require.Equal(t, OK, reply.Status)
		reply, err = l.Do(context.Background(), &Request{Op: Get, Key: key, Detail: true})
		require.NoError(t, err)
		assert.Equal(t, "ab", string(reply.Value))
		assert.EqualValues(t, 5, reply.Flags)
		assert.InDelta(t, 100, reply.Detail.TTL, 2)
	})
}

func TestDetails(t *testing.T) {
	onEveryServer(t, func(t *testing.T, l *Link) {
		key := "detailed:" + t.Name()
		do := func(r Request) Reply {
			t.Helper()
			r.Key = key
			reply, err := l.Do(context.Background(), &r)
			require.NoError(t, err)
			return reply
		}
		do(Request{Op: Set, Value: []byte("value"), Flags: 3, Expiration: 100})
		for _, r := range []Request{{Op: Inspect}, {Op: Get, Detail: true}} {
			if l.cfg.Protocol == Classic || l.cfg.Protocol == Binary {
				r.Key = key
				_, err := l.Do(context.Background(), &r)
				require.ErrorIs(t, err, ErrUnsupported)
				continue
			}
			reply := do(r)
			require.NotNil(t, reply.Detail)
			assert.Equal(t, r.Op == Get, string(reply.Value) == "value")
			assert.EqualValues(t, 3, reply.Flags)
			assert.NotZero(t, reply.CAS)
			assert.InDelta(t, 100, reply.Detail.TTL, 2)
			assert.Equal(t, 5, reply.Detail.Size)
			assert.False(t, reply.Detail.Fetched, "the look before has left no trace")
			assert.False(t, reply.Detail.Stale)
		}
		if l.cfg.Protocol == Classic || l.cfg.Protocol == Binary {
			assert.Equal(t, "value", string(do(Request{Op: Get}).Value), "the connection is as it was")
			return
		}
		assert.True(t, do(Request{Op: Inspect}).Detail.Fetched)

		do(Request{Op: Set})
		assert.EqualValues(t, -1, do(Request{Op: Inspect}).Detail.TTL)
		do(Request{Op: Delete})
		assert.Equal(t, Miss, do(Request{Op: Inspect}).Status)
		assert.Equal(t, Miss, do(Request{Op: Get, Detail: true}).Status)
	})
}

// The first to read a stale item is told to recompute it, by whatever read.
func TestDetailsOfAStaleItem(t *testing.T) {
	ask := func(t *testing.T, nc io.ReadWriter, line string) {
		_, err := io.WriteString(nc, line+"\r\n")
		require.NoError(t, err)
		_, err = io.ReadFull(nc, make([]byte, len("HD\r\n")))
		require.NoError(t, err)
	}
	realserver.Each(t, func(t *testing.T, b realserver.Binary) {
		s := realserver.Start(t, realserver.Config{Version: b.Version})
		l := newLink(t, "tcp", s.Addr(), 5*time.Second)
		nc, err := l.cfg.Dial(context.Background())
		require.NoError(t, err)
		defer nc.Close()
		ask(t, nc, "ms k 1 T100\r\nv")
		ask(t, nc, "md k I T30")
		for i, r := range []Request{{Op: Inspect, Key: "k"}, {Op: Inspect, Key: "k"}, {Op: Get, Key: "k", Detail: true}} {
			reply, err := l.Do(context.Background(), &r)
			require.NoError(t, err)
			assert.True(t, reply.Detail.Stale)
			assert.Equal(t, i == 0, reply.Detail.Won)
			assert.Equal(t, i != 0, reply.Detail.Lost)
		}
		_, err = io.WriteString(nc, "mg stub N30\r\n")
		require.NoError(t, err)
		_, err = io.ReadFull(nc, make([]byte, len("HD W\r\n")))
		require.NoError(t, err)
		for _, r := range []Request{{Op: Inspect, Key: "stub"}, {Op: Get, Key: "stub", Detail: true}} {
			reply, err := l.Do(context.Background(), &r)
			require.NoError(t, err)
			assert.Equal(t, Miss, reply.Status, "the stub of a lease is no item")
		}
	})
}

func TestStats(t *testing.T) {
	onEveryServer(t, func(t *testing.T, l *Link) {
		ctx := context.Background()
		stats := func(argument string) Reply {
			t.Helper()
			reply, err := l.Do(ctx, &Request{Op: Stats, Key: argument})
			require.NoError(t, err, argument)
			return reply
		}
		_, err := l.Do(ctx, &Request{Op: Set, Key: "k"})
		require.NoError(t, err)
		general := stats("").Detail.Stats
		assert.NotEmpty(t, general["version"])
		assert.NotEmpty(t, general["pid"])
		assert.NotEmpty(t, stats("settings").Detail.Stats["maxbytes"])
		for _, argument := range []string{"items", "slabs"} {
			assert.NotEmpty(t, stats(argument).Detail.Stats, argument)
		}
		reset := stats("reset")
		assert.Equal(t, OK, reset.Status)
		assert.Empty(t, reset.Detail.Stats)
		unknown := stats("nonsense")
		assert.Equal(t, Refused, unknown.Status)
		assert.ErrorContains(t, unknown.Err, "ERROR")
		if l.cfg.Protocol != Binary {
			assert.NotEmpty(t, stats("conns").Detail.Stats)
			assert.Equal(t, OK, stats("detail on").Status)
			_, err := l.Do(ctx, &Request{Op: Get, Key: "prefix:key"})
			require.NoError(t, err)
			dump := stats("detail dump")
			require.Equal(t, OK, dump.Status)
			if l.cfg.Protocol == Classic { // 1.6.18 does not count what meta commands do
				assert.NotEmpty(t, dump.Detail.Stats["prefix"])
			}
			assert.Equal(t, OK, stats("detail off").Status)
		}

		share := &Share{Link: l, Reqs: []Request{
			{Op: Get, Key: "absent"}, {Op: Stats}, {Op: Stats, Key: "nonsense"}, {Op: Set, Key: "k"}, {Op: Stats, Key: "settings"}, {Op: Version},
		}}
		Gather(ctx, []*Share{share})
		require.NoError(t, share.Err)
		var got []Status
		for _, r := range share.Replies {
			got = append(got, r.Status)
		}
		assert.Equal(t, []Status{Miss, OK, Refused, OK, OK, OK}, got)
		assert.NotEmpty(t, share.Replies[4].Detail.Stats["maxbytes"])
		assert.NotContains(t, share.Replies[4].Detail.Stats, "pid", "what came before is another reply's")
	})
}

// Statistics come however they like; an error line ends them, and so does
// nonsense.
func TestStatsInPieces(t *testing.T) {
	transports(t, func(t *testing.T, on func(*testing.T, time.Duration, ...func(*peer)) *stage) {
		replies := []string{
			"STAT a 1\r\nSTAT b two words\r\nSTAT c\r\nEND\r\n",
			"STAT a 1\r\nSERVER_ERROR busy\r\n",
			"END\r\n",
			"STAT a 1\r\nDELETED\r\n",
		}
		s := on(t, time.Minute, func(p *peer) {
			for _, reply := range replies {
				if p.next() == nil {
					return
				}
				for i := range len(reply) {
					p.say(reply[i : i+1])
				}
			}
			p.next()
		}, healthy)
		stats := func() (Reply, error) { return s.Do(context.Background(), &Request{Op: Stats}) }
		reply, err := stats()
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a": "1", "b": "two words", "c": ""}, reply.Detail.Stats)
		reply, err = stats()
		require.NoError(t, err)
		assert.ErrorContains(t, reply.Err, "SERVER_ERROR busy")
		reply, err = stats()
		require.NoError(t, err)
		assert.Empty(t, reply.Detail.Stats)
		_, err = stats()
		var nonsense *ProtocolError
		require.ErrorAs(t, err, &nonsense)
		assert.True(t, errors.Is(err, errMispaired), fmt.Sprint(err))
	})
}

// What a protocol cannot say fails alone, wherever it stands in a batch, and
// however the batch came to its connection.
func TestUnsayableRequestsFailAlone(t *testing.T) {
	rows := map[Protocol][]Request{
		Classic: {{Op: Append, Create: true}, {Op: Inspect}, {Op: Increment, Create: true}, {Op: Get, Detail: true}, {Op: Get, Key: "a b"}, {Op: Set, Key: "a\r\nflush_all"}},
		Binary:  {{Op: Prepend, Create: true}, {Op: Inspect}, {Op: Get, Detail: true}},
	}
	onEveryServer(t, func(t *testing.T, l *Link) {
		unsayable, ok := rows[l.cfg.Protocol]
		if !ok {
			return
		}
		prefix := t.Name()
		good := Request{Op: Set, Key: prefix + "good", Value: []byte("v")}
		for _, pattern := range []string{"x", "xx", "xo", "ox", "oxo", "xxoxxooxx", strings.Repeat("o", windowRequests) + "xo", strings.Repeat("xo", 50)} {
			for _, dialled := range []bool{false, true} {
				if !dialled {
					require.NoError(t, l.Close())
				}
				share := &Share{Link: l}
				for i, c := range pattern {
					r := good
					if c == 'x' {
						r = unsayable[i%len(unsayable)]
						r.Key += prefix
					}
					share.Reqs = append(share.Reqs, r)
				}
				Gather(context.Background(), []*Share{share})
				require.NoError(t, share.Err)
				require.Len(t, share.Replies, len(pattern))
				for i, c := range pattern {
					if c == 'x' {
						require.Equal(t, Reply{Status: Refused, Err: ErrUnsupported}, share.Replies[i], "%s at %d", pattern, i)
					} else {
						require.Equal(t, OK, share.Replies[i].Status, "%s at %d", pattern, i)
					}
				}
			}
		}
		l.wantMiss(t, prefix)
	})
}

func TestUnsayableKeysFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Second, healthy)
		s.cfg.Protocol = Classic
		share := &Share{Link: s.Link, Keys: []string{"a b", "c", "d\x00", "\x7f", "e", "f"}}
		Gather(context.Background(), []*Share{share})
		require.NoError(t, share.Err)
		for i, key := range share.Keys {
			if reply := share.Replies[i]; IsText(key) {
				assert.Equal(t, valueOf(key), string(reply.Value))
			} else {
				assert.Equal(t, Reply{Status: Refused, Err: ErrUnsupported}, reply)
			}
		}
	})
}

func TestKeysOfAnyBytes(t *testing.T) {
	onEveryServer(t, func(t *testing.T, l *Link) {
		ctx := context.Background()
		prefix := t.Name() + "\r\nflush_all\r\n \x00\x7f"
		if l.cfg.Protocol == Classic {
			for op := Get; op <= Decrement; op++ {
				_, err := l.Do(ctx, &Request{Op: op, Key: prefix})
				require.ErrorIs(t, err, ErrUnsupported, op)
			}
			l.wantMiss(t, "a")
			return
		}
		do := func(r Request) Reply {
			t.Helper()
			r.Key = prefix
			reply, err := l.Do(ctx, &r)
			require.NoError(t, err)
			return reply
		}
		assert.Equal(t, Miss, do(Request{Op: Touch, Expiration: 100}).Status)
		assert.Equal(t, Miss, do(Request{Op: Delete}).Status)
		assert.Equal(t, OK, do(Request{Op: Set, Value: []byte("4")}).Status)
		assert.Equal(t, OK, do(Request{Op: Touch, Expiration: 100}).Status)
		assert.Equal(t, OK, do(Request{Op: Append, Value: []byte("1")}).Status)
		assert.EqualValues(t, 42, do(Request{Op: Increment, Delta: 1}).Number)
		hit := do(Request{Op: GetAndTouch, Expiration: 100})
		assert.Equal(t, "42", string(hit.Value))
		assert.Equal(t, OK, do(Request{Op: CompareAndSwap, CAS: hit.CAS, Value: []byte("43")}).Status)
		assert.Equal(t, Exists, do(Request{Op: CompareAndSwap, CAS: hit.CAS}).Status)
		assert.Equal(t, "43", string(do(Request{Op: Get}).Value))

		share := &Share{Link: l}
		for i := range 100 {
			key := fmt.Sprint(prefix, i)
			if i%3 == 0 {
				key = fmt.Sprint("text", i)
			}
			share.Keys = append(share.Keys, key)
			reply, err := l.Do(ctx, &Request{Op: Set, Key: key, Value: []byte(key)})
			require.NoError(t, err)
			require.Equal(t, OK, reply.Status)
		}
		Gather(ctx, []*Share{share})
		require.NoError(t, share.Err)
		for i, reply := range share.Replies {
			require.Equal(t, share.Keys[i], string(reply.Value))
		}
		share = &Share{Link: l, Reqs: []Request{{Op: Get, Key: prefix}, {Op: Touch, Key: prefix}, {Op: Touch, Key: "absent"}, {Op: Touch, Key: "a b"}, {Op: Delete, Key: prefix}}}
		Gather(ctx, []*Share{share})
		require.NoError(t, share.Err)
		for i, want := range []Status{OK, OK, Miss, Miss, OK} {
			assert.Equal(t, want, share.Replies[i].Status, i)
		}
	})
}
