package link

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

var protocols = map[string]Protocol{"meta": Meta, "auto": Auto, "classic": Classic, "binary": Binary}

// onEveryServer runs f in each protocol against the embedded server and each
// real one.
func onEveryServer(t *testing.T, f func(t *testing.T, l *Link)) {
	run := func(t *testing.T, network, address string) {
		for name, p := range protocols {
			t.Run(name, func(t *testing.T) {
				l := newLink(t, network, address, 5*time.Second)
				l.cfg.Protocol = p
				f(t, l)
			})
		}
	}
	t.Run("embedded", func(t *testing.T) {
		s := memcachetest.NewServer(t)
		run(t, s.Network(), s.Addr())
	})
	t.Run("real", func(t *testing.T) {
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			s := realserver.Start(t, realserver.Config{Version: b.Version})
			run(t, "tcp", s.Addr())
		})
	})
}

func TestEveryOperation(t *testing.T) { onEveryServer(t, testEveryOperation) }

// A server with the option -C keeps no versions: all are 0, and nothing compares
// as the same.
func TestNothingIsSwappedWithoutVersions(t *testing.T) {
	run := func(t *testing.T, address string) {
		for name, p := range protocols {
			t.Run(name, func(t *testing.T) {
				l := newLink(t, "tcp", address, 5*time.Second)
				l.cfg.Protocol = p
				do := func(r Request) Reply {
					reply, err := l.Do(context.Background(), &r)
					require.NoError(t, err)
					return reply
				}
				do(Request{Op: Set, Key: "k", Value: []byte("old")})
				got := do(Request{Op: Get, Key: "k"})
				require.Zero(t, got.CAS)
				assert.Equal(t, Exists, do(Request{Op: CompareAndSwap, Key: "k", Value: []byte("new"), CAS: got.CAS}).Status)
				assert.Equal(t, "old", string(do(Request{Op: Get, Key: "k"}).Value))
				assert.Equal(t, Miss, do(Request{Op: CompareAndSwap, Key: "absent", CAS: got.CAS}).Status)
			})
		}
	}
	t.Run("embedded", func(t *testing.T) {
		run(t, memcachetest.NewServer(t, memcachetest.Config{DisableCAS: true}).Addr())
	})
	t.Run("real", func(t *testing.T) {
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			run(t, realserver.Start(t, realserver.Config{Version: b.Version, Args: []string{"-C"}}).Addr())
		})
	})
}

// The outcome of a random script is the same in every protocol, and the same
// again when its operations are sent many at a time.
func TestProtocolsAndPipelinesAgree(t *testing.T) {
	s := realserver.Start(t, realserver.Config{Version: realserver.Newest})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	script := make([]Request, 5000)
	for i := range script {
		r := &script[i]
		*r = Request{
			Op:    Op(1 + rng.IntN(int(Decrement))),
			Flags: rng.Uint32N(3), Delta: rng.Uint64N(20), CAS: rng.Uint64N(2) << 60,
			Expiration: []int32{0, 0, 0, 0, 100, -1}[rng.IntN(6)],
		}
		// decr pads what it stores only sometimes, and append would make that show.
		counter := rng.IntN(2) == 0
		switch {
		case counter && (r.Op == Append || r.Op == Prepend):
			r.Op = Increment
		case !counter && (r.Op == Increment || r.Op == Decrement):
			r.Op = Append
		}
		r.Key = fmt.Sprintf("%t%d", counter, rng.IntN(4))
		switch {
		case r.Op.stores() && rng.IntN(50) == 0:
			r.Value = make([]byte, directSize+rng.IntN(100))
		case r.Op.stores() && rng.IntN(10) != 0:
			r.Value = fmt.Append(nil, rng.IntN(100))
		}
	}
	run := func(p Protocol, most int) (outcomes []string) {
		l := newLink(t, "tcp", s.Addr(), 5*time.Second)
		l.cfg.Protocol = p
		_, err := l.Do(context.Background(), &Request{Op: FlushAll})
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(seed, 1))
		var keyed []Request
		for _, r := range script {
			r.Key = fmt.Sprintf("%d.%d.%s", p, most, r.Key)
			keyed = append(keyed, r)
		}
		for rest := keyed; len(rest) > 0; {
			n := min(1+rng.IntN(most), len(rest))
			share := &Share{Link: l, Reqs: rest[:n]}
			Gather(context.Background(), []*Share{share})
			require.NoError(t, share.Err)
			require.Len(t, share.Replies, n)
			for i, r := range share.Replies {
				req := rest[i]
				outcomes = append(outcomes, fmt.Sprintf("%s %s %d bytes, expiring %d: %d %d %d %q",
					req.Op, req.Key[len(req.Key)-1:], len(req.Value), req.Expiration, r.Status, r.Flags, r.Number,
					bytes.TrimRight(r.Value, " ")))
			}
			rest = rest[n:]
		}
		return outcomes
	}
	want := run(Meta, 1)
	for name, p := range protocols {
		for _, most := range []int{1, 60} {
			got := run(p, most)
			for i := range want {
				require.Equal(t, want[i], got[i], "%s, %d at a time, operation %d", name, most, i)
			}
		}
	}
}

func TestBatchesInEveryProtocol(t *testing.T) {
	onEveryServer(t, func(t *testing.T, l *Link) {
		const n = 2500
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("batch:%d", i)
			size := 20
			if i%100 == 0 {
				size = 3 * directSize
			}
			if i%3 != 0 {
				reply, err := l.Do(context.Background(), &Request{Op: Set, Key: keys[i], Value: stamp(keys[i], size), Flags: uint32(i)})
				require.NoError(t, err)
				require.Equal(t, OK, reply.Status)
			}
		}
		share := &Share{Link: l, Keys: append(keys, keys[1], keys[2], keys[3])}
		Gather(context.Background(), []*Share{share})
		require.NoError(t, share.Err)
		require.Len(t, share.Replies, n+3)
		for i, r := range share.Replies {
			if i >= n {
				i -= n - 1
			}
			if i%3 == 0 {
				assert.Equal(t, Miss, r.Status, i)
				continue
			}
			size := 20
			if i%100 == 0 {
				size = 3 * directSize
			}
			assert.Equal(t, OK, r.Status, i)
			assert.Equal(t, string(stamp(keys[i], size)), string(r.Value), i)
			assert.Equal(t, uint32(i), r.Flags, i)
			assert.NotZero(t, r.CAS, i)
		}
	})
}
