package memcache_test

// The whole client against servers that send whatever they like. Nothing panics
// or hangs or grows, every error has its type, and what is handed out is what
// was sent for it.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

const (
	hostileExchanges = 20_000 // by default; HOSTILE_EXCHANGES says otherwise
	hostileTimeout   = 100 * time.Millisecond

	// No call takes longer, although others on its connection may make progress
	// that it waits for.
	hostileBound = time.Minute
)

// TestHostileServers plays exchanges in rounds, each of them with servers and a
// client of its own: most over pipes and in virtual time, where bounds are exact,
// some over TLS there, and some over sockets. HOSTILE_SEED repeats the rounds of
// that seed.
func TestHostileServers(t *testing.T) {
	total := int(envNumber("HOSTILE_EXCHANGES", hostileExchanges))
	seed := envNumber("HOSTILE_SEED", rand.Uint64()>>1)
	t.Logf("HOSTILE_SEED=%d", seed)
	a := newAuthority(t)
	cert := a.mustSign(t, tlsServerName)
	exchanges, counts := 0, map[string]int{}
	var heap uint64
	var files int
	for n := 0; exchanges < total && !t.Failed(); n++ {
		h := &hostile{seed: seed + uint64(n), counts: counts}
		switch {
		case h.seed%50 == 0:
			h.secure, h.serverTLS = a.expects(tlsServerName), &tls.Config{Certificates: []tls.Certificate{cert}}
			t.Run(fmt.Sprint("tls ", h.seed), func(t *testing.T) { synctest.Test(t, h.overPipes) })
		case h.seed%10 == 1:
			t.Run(fmt.Sprint("tcp ", h.seed), h.overTCP)
		default:
			t.Run(fmt.Sprint("pipe ", h.seed), func(t *testing.T) { synctest.Test(t, h.overPipes) })
		}
		exchanges += h.exchanges
		if n == 20 {
			heap, files = heapInUse(), openFiles()
		}
	}
	t.Logf("%d exchanges: %v", exchanges, counts)
	if heap > 0 {
		assert.Less(t, heapInUse(), heap+16<<20, "bytes in use")
		assert.LessOrEqual(t, openFiles(), files+2, "open files")
	}
}

func envNumber(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// openFiles is how many there are, 0 where the system does not tell.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// hostile is one round.
type hostile struct {
	seed      uint64
	secure    *tls.Config
	serverTLS *tls.Config
	virtual   bool
	exchanges int
	counts    map[string]int // of outcomes and errors

	mu   sync.Mutex
	seen []seen
}

// seen is what a caller was told about a key.
type seen struct {
	key string
	outcome
}

func (h *hostile) overPipes(t *testing.T) {
	h.virtual = true
	v := &villain{seed: h.seed, stall: hostileTimeout}
	h.play(t, []*villain{v}, []string{"192.0.2.1:11211"}, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		if h.serverTLS != nil {
			far = tls.Server(far, h.serverTLS)
		}
		v.wg.Go(func() { v.serve(far) })
		return near, nil
	})
}

func (h *hostile) overTCP(t *testing.T) {
	villains, addresses := make([]*villain, 2), make([]string, 2)
	for i := range villains {
		v := &villain{seed: h.seed + uint64(i)<<60, stall: hostileTimeout}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		v.wg.Go(func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				v.wg.Go(func() { v.serve(nc) })
			}
		})
		villains[i], addresses[i] = v, l.Addr().String()
		defer v.wg.Wait()
		defer l.Close()
	}
	h.play(t, villains, addresses, nil)
}

// play lets callers loose on the villains and then judges what they were told.
func (h *hostile) play(t *testing.T, villains []*villain, addresses []string, dial func(context.Context, string, string) (net.Conn, error)) {
	rng := rand.New(rand.NewPCG(h.seed, 1))
	c := memcache.New(addresses...)
	c.DialContext, c.TLS = dial, h.secure
	c.Timeout = hostileTimeout
	c.MaxConns = 1 + rng.IntN(2)
	c.Protocol = []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Classic, memcache.Binary}[rng.IntN(4)]
	var callers sync.WaitGroup
	for id := range 1 + rng.IntN(6) {
		callers.Go(func() {
			u := &user{hostile: h, t: t, c: c, rng: rand.New(rand.NewPCG(h.seed, uint64(2+id))), id: id}
			for range 40 {
				u.call()
			}
		})
	}
	callers.Wait()
	require.NoError(t, c.Close())

	possible := map[string][]outcome{}
	for _, v := range villains {
		if h.virtual {
			v.wg.Wait()
		}
		v.mu.Lock()
		for _, tape := range v.tapes {
			h.exchanges += len(tape.asked)
			tape.outcomes(possible)
		}
		v.mu.Unlock()
	}
	for _, s := range h.seen {
		h.counts[s.kind]++
		if !slices.Contains(possible[s.key], s.outcome) {
			t.Errorf("seed %d, %v: %s is told %q %.100q (%d bytes, flags %d, cas %d, number %d), of %d that could be", h.seed, c.Protocol,
				s.key, s.kind, s.value, len(s.value), s.flags, s.cas, s.number, len(possible[s.key]))
		}
	}
}

// user is a caller.
type user struct {
	*hostile
	t   *testing.T
	c   *memcache.Client
	rng *rand.Rand
	id  int
	n   int
}

// key is one that nobody uses twice.
func (u *user) key() string {
	u.n++
	return fmt.Sprintf("key-%d-%d", u.id, u.n)
}

// call makes a random call.
func (u *user) call() {
	rng := u.rng
	ctx, bound := context.Background(), hostileBound
	if rng.IntN(3) == 0 {
		bound = time.Duration(1+rng.IntN(300)) * time.Millisecond
		limited, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		ctx = limited
	}
	start := time.Now()
	err := u.perform(ctx)
	if took := time.Since(start); u.virtual {
		assert.LessOrEqual(u.t, took, bound, "seed %d", u.seed)
	} else {
		assert.Less(u.t, took, hostileBound, "seed %d", u.seed)
	}
	if err != nil && !u.decent(err) {
		u.t.Errorf("seed %d: %T: %v", u.seed, err, err)
	}
	if err != nil {
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond) // a pause after a failed dial
	}
}

func (u *user) perform(ctx context.Context) error {
	c, rng := u.c, u.rng
	switch rng.IntN(16) {
	default:
		key := u.key()
		return u.item(key)(c.GetContext(ctx, key))
	case 0:
		key := u.key()
		return u.item(key)(c.GetAndTouchContext(ctx, key, 60))
	case 1:
		key := u.key()
		return u.done(key, c.SetContext(ctx, &memcache.Item{Key: key, Value: []byte(strings.Repeat("v", rng.IntN(5000)))}))
	case 2:
		key := u.key()
		return u.done(key, c.AddContext(ctx, &memcache.Item{Key: key}))
	case 3:
		key := u.key()
		return u.done(key, c.CompareAndSwapContext(ctx, &memcache.Item{Key: key, CasID: rng.Uint64()}))
	case 4:
		key := u.key()
		return u.done(key, c.DeleteContext(ctx, key))
	case 5:
		key := u.key()
		return u.done(key, c.TouchContext(ctx, key, 60))
	case 6:
		key := u.key()
		return u.number(key)(c.IncrementContext(ctx, key, 1))
	case 7:
		return c.PingContext(ctx)
	case 8:
		_, err := c.Stats(ctx)
		return err
	case 9, 10:
		keys := u.keys()
		items, err := c.GetMultiContext(ctx, keys)
		for _, key := range keys {
			if item := items[key]; item != nil {
				u.item(key)(item, nil)
			} else if err == nil {
				u.saw(key, outcome{kind: "miss"})
			}
		}
		return err
	case 11:
		return c.GetMultiFunc(ctx, u.keys(), func(hit memcache.Hit) bool {
			u.saw(hit.Key, outcome{kind: "value", value: string(hit.Value), flags: hit.Flags, cas: hit.CasID})
			return rng.IntN(50) > 0
		})
	case 12:
		var failed error
		for item, err := range c.GetMultiSeq(ctx, u.keys()) {
			if err != nil {
				failed = err
			} else {
				u.item(item.Key)(item, nil)
			}
		}
		return failed
	case 13:
		return u.pipeline(ctx)
	}
}

func (u *user) keys() []string {
	keys := make([]string, 1+u.rng.IntN(40))
	for i := range keys {
		keys[i] = u.key()
	}
	return keys
}

func (u *user) pipeline(ctx context.Context) error {
	p := u.c.Pipeline()
	var results []func() error
	for range 1 + u.rng.IntN(20) {
		key := u.key()
		switch u.rng.IntN(3) {
		case 0:
			r := p.Get(key)
			results = append(results, func() error { return u.item(key)(r.Item()) })
		case 1:
			r := p.Set(&memcache.Item{Key: key, Value: []byte(key)})
			results = append(results, func() error { return u.done(key, r.Err()) })
		case 2:
			r := p.Increment(key, 1)
			results = append(results, func() error { return u.number(key)(r.Number()) })
		}
	}
	err := p.Do(ctx)
	for _, result := range results {
		if failed := result(); failed != nil && !u.decent(failed) {
			return failed
		}
	}
	return err
}

// item, number and done note what a caller was told, and return what is a
// failure of the server's or the connection's.
func (u *user) item(key string) func(*memcache.Item, error) error {
	return func(item *memcache.Item, err error) error {
		if err == nil {
			u.saw(key, outcome{kind: "value", value: string(item.Value), flags: item.Flags, cas: item.CasID})
			return nil
		}
		return u.notDone(key, err)
	}
}

func (u *user) number(key string) func(uint64, error) error {
	return func(n uint64, err error) error {
		if err == nil {
			u.saw(key, outcome{kind: "number", number: n})
			return nil
		}
		return u.notDone(key, err)
	}
}

func (u *user) done(key string, err error) error {
	if err == nil {
		u.saw(key, outcome{kind: "done"})
		return nil
	}
	return u.notDone(key, err)
}

func (u *user) notDone(key string, err error) error {
	switch err {
	case memcache.ErrCacheMiss:
		u.saw(key, outcome{kind: "miss"})
	case memcache.ErrNotStored:
		u.saw(key, outcome{kind: "not stored"})
	case memcache.ErrCASConflict:
		u.saw(key, outcome{kind: "exists"})
	default:
		return err
	}
	return nil
}

func (u *user) saw(key string, o outcome) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hostile.seen = append(u.hostile.seen, seen{key, o})
}

// decent reports whether err is one of the client's own types and says nothing
// of keys.
func (u *user) decent(err error) bool {
	var (
		op       *memcache.OpError
		refused  *memcache.ServerError
		nonsense *memcache.ProtocolError
		late     *memcache.ConnectTimeoutError
		many     *memcache.MultiError
	)
	if strings.Contains(err.Error(), "key-") && !errors.As(err, &refused) { // which is in the server's own words
		return false
	}
	kind := ""
	switch {
	case errors.As(err, &many):
		kind = "MultiError"
	case errors.As(err, &refused):
		kind = "ServerError"
	case errors.As(err, &nonsense):
		kind = "ProtocolError"
	case errors.As(err, &late):
		kind = "ConnectTimeoutError"
	case errors.As(err, &op):
		kind = "OpError"
	case errors.Is(err, memcache.ErrCacheMiss), errors.Is(err, memcache.ErrNotStored):
		return true
	}
	u.mu.Lock()
	u.counts[kind]++
	u.mu.Unlock()
	return kind != ""
}
