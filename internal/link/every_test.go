package link

import (
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

// The outcome of a random script is the same in every protocol.
func TestProtocolsAgree(t *testing.T) {
	s := realserver.Start(t, realserver.Config{Version: realserver.Newest})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	script := func(p Protocol) (outcomes []string) {
		l := newLink(t, "tcp", s.Addr(), 5*time.Second)
		l.cfg.Protocol = p
		_, err := l.Do(context.Background(), &Request{Op: FlushAll})
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(seed, 0))
		cas := map[string]uint64{}
		for range 3000 {
			op := Op(1 + rng.IntN(int(Decrement)))
			req := Request{
				Op: op, Key: fmt.Sprintf("%d.%d", p, rng.IntN(8)), Delta: rng.Uint64N(20), Flags: rng.Uint32N(3),
				Expiration: []int32{0, 0, 0, 0, 100, -1}[rng.IntN(6)],
			}
			value := fmt.Append(nil, rng.IntN(100))
			if rng.IntN(10) == 0 {
				value = nil
			}
			if op.stores() {
				req.Value = value
			}
			if op == CompareAndSwap {
				req.CAS = cas[req.Key]
			}
			reply, err := l.Do(context.Background(), &req)
			require.NoError(t, err, op)
			if reply.Status == OK && (op == Get || op == GetAndTouch) {
				cas[req.Key] = reply.CAS
			}
			outcomes = append(outcomes, fmt.Sprintf("%s %s %q %d: %d %d %d %q", req.Op, req.Key[2:], req.Value, req.Expiration, reply.Status, reply.Flags, reply.Number, reply.Value))
		}
		return outcomes
	}
	want := script(Meta)
	for name, p := range protocols {
		got := script(p)
		for i := range want {
			require.Equal(t, want[i], got[i], "%s, operation %d", name, i)
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
