//go:build unix

package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file runs many callers against servers and networks that fail in every
// way, and knows for each reply whether it can be true.
//
// Each caller has keys that nobody else writes, and remembers what each may
// hold: the version that was last confirmed, and those of stores whose outcome
// is unknown, which may have happened, or happen yet. A value says its key and
// version and proves the rest of itself. So a reply to another call, an old one
// of the same key, a miss for what is there, and a count that was made twice are
// all noticed. Callers read each other's keys too; there the key and the proof
// are checked.
//
// LINK_STRESS=20m says how long each world is tried; LINK_STRESS_SEED repeats.

const (
	stressCallers = 64
	stressKeys    = 4 // of each caller
	stressTimeout = 150 * time.Millisecond
)

func stressTime(t *testing.T) time.Duration {
	if text := os.Getenv("LINK_STRESS"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		return d
	}
	if testing.Short() {
		return 500 * time.Millisecond
	}
	return 2 * time.Second
}

// world is servers and ways to them.
type world struct {
	links  []*Link
	relays []*relay
	stop   func(server int)                      // SIGSTOP, or nil
	resume func(server int)                      // SIGCONT
	kill   func(ctx context.Context, server int) // kill -9, and a new, empty server
	lives  []atomic.Int64                        // how often each server was killed
	dial   func(context.Context, string) (net.Conn, error)
	late   lateness
}

func TestStress(t *testing.T) {
	dialTCP := func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}
	rows := []struct {
		name     string
		protocol Protocol
		conns    int
		world    func(t *testing.T) *world
	}{
		{"memcached, auto", Auto, 1, realWorld},
		{"memcached, classic, two connections", Classic, 2, realWorld},
		{"memcached, binary", Binary, 1, realWorld},
		{"embedded, meta", Meta, 1, embeddedWorld},
		{"embedded, meta, TLS", Meta, 1, secureWorld},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := row.world(t)
			before := descriptors()
			if w.dial == nil {
				w.dial = dialTCP
			}
			activity := new(Activity)
			for _, r := range w.relays {
				w.links = append(w.links, New(Config{
					Dial:     func(ctx context.Context) (net.Conn, error) { return w.dial(ctx, r.Addr().String()) },
					Protocol: row.protocol,
					Timeout:  func() time.Duration { return stressTimeout },
					MaxConns: row.conns,
					MaxValue: 1 << 20,
					Activity: activity,
				}))
			}
			stress(t, w)
			for i := range w.links {
				assert.NoError(t, w.links[i].Close())
				assert.NoError(t, w.relays[i].Close())
			}
			within(t, func() bool { return descriptors() <= before })
		})
	}
}

const stressServers = 2

func realWorld(t *testing.T) *world {
	w := &world{lives: make([]atomic.Int64, stressServers)}
	var servers []*realserver.Server
	for range stressServers {
		s := realserver.Start(t, realserver.Config{Args: []string{"-m", "256"}})
		servers = append(servers, s)
		w.relays = append(w.relays, newRelay(t, s.Network(), s.Addr()))
	}
	w.stop = func(i int) { servers[i].Signal(syscall.SIGSTOP) }
	w.resume = func(i int) { servers[i].Signal(syscall.SIGCONT) }
	w.kill = func(ctx context.Context, i int) {
		servers[i].Stop()
		w.lives[i].Add(1) // between the last answer of the old one and the first of the new
		assert.NoError(t, servers[i].Restart(ctx))
	}
	return w
}

func embeddedWorld(t *testing.T) *world {
	w := &world{lives: make([]atomic.Int64, stressServers)}
	for range stressServers {
		s := memcachetest.NewServer(t, memcachetest.Config{MemoryLimit: 256 << 20})
		w.relays = append(w.relays, newRelay(t, s.Network(), s.Addr()))
	}
	return w
}

func secureWorld(t *testing.T) *world {
	certificate, roots := selfSigned(t)
	w := &world{lives: make([]atomic.Int64, stressServers)}
	for range stressServers {
		s := memcachetest.NewServer(t, memcachetest.Config{
			MemoryLimit: 256 << 20,
			TLS:         &tls.Config{Certificates: []tls.Certificate{certificate}},
		})
		w.relays = append(w.relays, newRelay(t, s.Network(), s.Addr()))
	}
	w.dial = func(ctx context.Context, address string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
		return d.DialContext(ctx, "tcp", address)
	}
	return w
}

// stress runs the callers beside what fails, and then without.
func stress(t *testing.T, w *world) {
	seed := rand.Uint64()
	if text := os.Getenv("LINK_STRESS_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d", seed)

	stop := make(chan struct{})
	var callers, others sync.WaitGroup
	others.Go(func() { w.late.measure(stop) })
	all := make([]*stressCaller, stressCallers)
	for i := range all {
		all[i] = newStressCaller(t, w, i, rand.New(rand.NewPCG(seed, uint64(i))))
		callers.Go(func() {
			for !isClosed(stop) && !t.Failed() {
				all[i].step()
			}
		})
	}
	faults := map[string]int{}
	others.Go(func() { w.fail(t, rand.New(rand.NewPCG(seed, 1000)), stop, faults) })
	timer := time.NewTimer(stressTime(t))
	<-timer.C
	close(stop)
	callers.Wait()
	others.Wait()

	for _, c := range all {
		callers.Go(c.calm)
	}
	callers.Wait()

	var total stressCounts
	for _, c := range all {
		total.add(&c.counts)
	}
	t.Logf("%s; faults: %v; latest return %v behind its bound, clocks late by up to %v",
		total.String(), faults, total.latest.Round(time.Millisecond), time.Duration(w.late.most.Load()).Round(time.Millisecond))
	assert.NotZero(t, total.ok)
	assert.Zero(t, total.nonsense, "nothing on the way changes a byte")
	assert.LessOrEqual(t, total.latest, 50*time.Millisecond+4*time.Duration(w.late.most.Load()), "latest return")
}

// fail breaks things, one after the other, until stop.
func (w *world) fail(t *testing.T, rng *rand.Rand, stop chan struct{}, count map[string]int) {
	pause := func(most time.Duration) {
		timer := time.NewTimer(time.Duration(rng.Int64N(int64(most))))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stop:
		}
	}
	for !isClosed(stop) {
		i := rng.IntN(len(w.relays))
		r := w.relays[i]
		n := rng.IntN(8)
		switch {
		case n == 0:
			count["break"]++
			r.breakAll()
		case n == 1:
			count["cut after some bytes"]++
			r.cut.Store(rng.Int64N(100_000))
			pause(50 * time.Millisecond)
		case n == 2:
			count["stall"]++
			r.mood.Store(stalls)
			pause(3 * stressTimeout)
		case n == 3:
			count["drip"]++
			r.mood.Store(drips)
			pause(2 * stressTimeout)
		case n == 4:
			count["split"]++
			r.mood.Store(splits)
			pause(2 * stressTimeout)
		case n == 5 && w.stop != nil:
			count["SIGSTOP"]++
			w.stop(i)
			pause(3 * stressTimeout)
			w.resume(i)
		case n == 6 && w.kill != nil:
			count["kill -9"]++
			w.kill(t.Context(), i)
		case n == 7 && rng.IntN(4) == 0:
			count["Close"]++
			w.links[i].Close()
		}
		r.heal()
		pause(50 * time.Millisecond)
	}
	for _, r := range w.relays {
		r.heal()
	}
}

// lateness is by how much goroutines wake up late: on a busy machine this must
// not be taken for the Link's.
type lateness struct{ most atomic.Int64 }

func (l *lateness) measure(stop chan struct{}) {
	for !isClosed(stop) {
		start := time.Now()
		time.Sleep(time.Millisecond)
		l.most.Store(max(l.most.Load(), int64(time.Since(start)-time.Millisecond)))
	}
}

// stressCaller makes calls, and believes things about its keys.
type stressCaller struct {
	t       *testing.T
	w       *world
	rng     *rand.Rand
	keys    []belief
	version int // of the latest store
	counts  stressCounts
}

// belief is what one key may hold: what was known at some moment, and what may
// have happened since.
type belief struct {
	key     string
	link    *Link
	server  int
	counter bool // an item that is counted

	known   int   // version, 0 = no item; of a counter, the count
	life    int64 // of the server, then; -1 = nothing is known
	version int   // of the caller's latest store, then

	stores  map[int]doubt // by version
	deletes []doubt
	adds    []doubt // increments of a counter
	resets  []doubt // of a counter to 0
}

// doubt is a request whose outcome is unknown. If it was made after the latest
// moment of knowledge, it may have been performed, or will be. If it was made
// before, it lies somewhere, in a stopped server or a stalled relay, and is
// performed within a while or never, which takes longer on a busy machine.
type doubt struct {
	made time.Time
	late *lateness
}

const settled = 5 * time.Second

func (c *stressCaller) doubt() doubt { return doubt{time.Now(), &c.w.late} }

func (d doubt) open() bool {
	return time.Since(d.made) < settled+4*time.Duration(d.late.most.Load())
}

// know notes what b was at a moment, which leaves open only what is under way.
func (b *belief) know(n int, life int64, version int) {
	over := func(d doubt) bool { return !d.open() }
	b.known, b.life, b.version = n, life, version
	b.deletes = slices.DeleteFunc(b.deletes, over)
	b.adds = slices.DeleteFunc(b.adds, over)
	b.resets = slices.DeleteFunc(b.resets, over)
	maps.DeleteFunc(b.stores, func(_ int, d doubt) bool { return over(d) })
}

func newStressCaller(t *testing.T, w *world, number int, rng *rand.Rand) *stressCaller {
	c := &stressCaller{t: t, w: w, rng: rng}
	for i := range stressKeys {
		server := stressServer(number, i)
		c.keys = append(c.keys, belief{
			key: stressKey(number, i), link: w.links[server], server: server,
			counter: i == stressKeys-1, life: -1, stores: map[int]doubt{},
		})
	}
	return c
}

func stressKey(caller, i int) string { return fmt.Sprintf("caller%d:%d", caller, i) }
func stressServer(caller, i int) int { return (caller + i) % stressServers }
func isClosed(stop chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// stressValue is what key holds in a version: a header, filler, and a sum.
func stressValue(key string, version int) []byte {
	b := fmt.Appendf(nil, "%s %d ", key, version)
	size := (version * 7919) % 3000
	if version%97 == 0 {
		size = 20_000 + version%100*1000 // larger than a buffer
	}
	for len(b) < size {
		b = append(b, byte('a'+(version+len(b))%26))
	}
	return fmt.Appendf(b, " %08x", crc32.ChecksumIEEE(b))
}

// versionOf reads a value back. It is 0 unless the value is whole and of key.
func versionOf(key string, value []byte) int {
	_, rest, _ := strings.Cut(string(value), " ")
	number, _, _ := strings.Cut(rest, " ")
	version, err := strconv.Atoi(number)
	if err != nil || string(stressValue(key, version)) != string(value) {
		return 0
	}
	return version
}

// context is one of those that calls have: without an end, with a deadline,
// cancelled at any time. bound is when the call has to be back.
func (c *stressCaller) context() (ctx context.Context, cancel func(), bound time.Duration) {
	switch c.rng.IntN(4) {
	case 0, 1:
		// A dial and the call, both perhaps once more, and some progress.
		return context.Background(), func() {}, 6 * stressTimeout
	case 2:
		bound = time.Duration(c.rng.Int64N(int64(stressTimeout)))
		ctx, cancel = context.WithTimeout(context.Background(), bound)
		return ctx, cancel, bound
	}
	bound = time.Duration(c.rng.Int64N(int64(20 * time.Millisecond)))
	ctx, stop := context.WithCancel(context.Background())
	timer := time.AfterFunc(bound, stop)
	return ctx, func() { timer.Stop(); stop() }, bound
}

// step makes one call of any kind.
func (c *stressCaller) step() {
	ctx, cancel, bound := c.context()
	defer cancel()
	b := &c.keys[c.rng.IntN(len(c.keys))]
	start := time.Now()
	switch n := c.rng.IntN(20); {
	case n == 0:
		c.askVersion(ctx, b)
	case n < 3:
		c.readOther(ctx)
	case n < 5:
		c.batch(ctx)
	case n < 11:
		c.get(ctx, b)
	case b.counter:
		c.count(ctx, b)
	case n < 18:
		c.set(ctx, b)
	default:
		c.delete(ctx, b)
	}
	c.counts.latest = max(c.counts.latest, time.Since(start)-bound)
}

// do performs req on b's key. once reports whether it was performed at most
// once: a call that the Link repeats ends on another connection.
func (c *stressCaller) do(ctx context.Context, b *belief, req Request) (reply Reply, once bool, err error) {
	req.Key = b.key
	before := b.link.connections()
	reply, err = b.link.Do(ctx, &req)
	c.counts.note(err)
	if err == nil && reply.Status == Refused {
		c.t.Errorf("%v was refused: %v", req.Op, reply.Err)
	}
	return reply, slices.Equal(before, b.link.connections()), err
}

func (l *Link) connections() []*conn {
	var conns []*conn
	for i := range l.current {
		conns = append(conns, l.current[i].Load())
	}
	return conns
}

// happened reports whether a request that failed may have been performed, or
// may be performed yet.
func happened(err error) bool {
	var lost *LostError
	var nonsense *ProtocolError
	return errors.As(err, &lost) && lost.Sent || errors.As(err, &nonsense)
}

func (c *stressCaller) set(ctx context.Context, b *belief) {
	c.version++
	life := c.w.lives[b.server].Load()
	reply, once, err := c.do(ctx, b, Request{Op: Set, Value: stressValue(b.key, c.version)})
	if err == nil && reply.Status != OK {
		c.t.Errorf("%s: set ended in status %v", b.key, reply.Status)
	}
	if err == nil {
		b.know(c.version, life, c.version)
	}
	if err == nil && !once || err != nil && happened(err) {
		b.stores[c.version] = c.doubt()
	}
}

func (c *stressCaller) delete(ctx context.Context, b *belief) {
	life := c.w.lives[b.server].Load()
	reply, once, err := c.do(ctx, b, Request{Op: Delete})
	if err == nil && reply.Status != OK && reply.Status != Miss {
		c.t.Errorf("%s: delete ended in status %v", b.key, reply.Status)
	}
	if err == nil {
		b.know(0, life, c.version)
	}
	if err == nil && !once || err != nil && happened(err) {
		b.deletes = append(b.deletes, c.doubt())
	}
}

func (c *stressCaller) get(ctx context.Context, b *belief) {
	op := Get
	if c.rng.IntN(8) == 0 {
		op = GetAndTouch
	}
	life := c.w.lives[b.server].Load()
	if reply, _, err := c.do(ctx, b, Request{Op: op}); err == nil {
		c.check(b, &reply, life)
	}
}

// askVersion asks for the server's version, which proves nothing of itself.
func (c *stressCaller) askVersion(ctx context.Context, b *belief) {
	reply, _, err := c.do(ctx, b, Request{Op: Version})
	if err == nil && !strings.HasPrefix(string(reply.Value), "1.") {
		c.t.Errorf("version %q", reply.Value)
	}
}

// count increments a counter, or begins to count.
func (c *stressCaller) count(ctx context.Context, b *belief) {
	life := c.w.lives[b.server].Load()
	if b.life < 0 {
		reply, once, err := c.do(ctx, b, Request{Op: Set, Value: []byte("0")})
		if err == nil && reply.Status != OK {
			c.t.Errorf("%s: set ended in status %v", b.key, reply.Status)
		}
		if err == nil {
			b.know(0, life, 0)
		}
		if err == nil && !once || err != nil && happened(err) {
			b.resets = append(b.resets, c.doubt())
		}
		return
	}
	reply, _, err := c.do(ctx, b, Request{Op: Increment, Delta: 1})
	switch {
	case err == nil && reply.Status == OK:
		c.counted(b, int(reply.Number), 1, life)
	case err == nil && reply.Status == Miss:
		c.missing(b, life)
	case err == nil:
		c.t.Errorf("%s: increment ended in status %v", b.key, reply.Status)
	case happened(err):
		b.adds = append(b.adds, c.doubt())
	}
}

// counted compares a count with what is believed, after certain more increments.
func (c *stressCaller) counted(b *belief, n, certain int, life int64) {
	least, most := b.known+certain, b.known+certain+len(b.adds)
	if n > most || n < least && len(b.resets) == 0 {
		c.t.Errorf("%s: counted to %d, believed %d to %d", b.key, n, least, most)
	}
	b.know(n, life, 0)
}

// missing objects to a miss unless something may have removed the item.
func (c *stressCaller) missing(b *belief, life int64) {
	absent := b.known == 0 && !b.counter || len(b.deletes) > 0 || b.life != c.w.lives[b.server].Load()
	if !absent {
		c.t.Errorf("%s: a miss, though %d is there", b.key, b.known)
	}
	if b.counter {
		life = -1
	}
	b.know(0, life, c.version)
}

// check compares the reply to a get with what is believed.
func (c *stressCaller) check(b *belief, reply *Reply, life int64) {
	switch {
	case reply.Status == Miss:
		c.missing(b, life)
	case reply.Status != OK:
		c.t.Errorf("%s: get ended in status %v", b.key, reply.Status)
	case b.counter:
		n, err := strconv.Atoi(strings.TrimRight(string(reply.Value), " "))
		if err != nil {
			c.t.Errorf("%s: %.100q is no count of it", b.key, reply.Value)
		} else if b.life >= 0 {
			c.counted(b, n, 0, life)
		}
	default:
		version := versionOf(b.key, reply.Value)
		if version == 0 {
			c.t.Errorf("%s: %.100q is no value of it", b.key, reply.Value)
			return
		}
		d, doubtful := b.stores[version]
		if version != b.known && !(doubtful && (version > b.version || d.open())) {
			c.t.Errorf("%s: version %d, believed %d or one of %v", b.key, version, b.known, b.stores)
		}
		b.know(version, life, c.version)
	}
}

// checkOther checks what can be known of another caller's key.
func (c *stressCaller) checkOther(key string, counter bool, reply *Reply) {
	switch {
	case reply.Status == Miss:
	case reply.Status != OK:
		c.t.Errorf("%s: get ended in status %v", key, reply.Status)
	case counter:
		if _, err := strconv.Atoi(strings.TrimRight(string(reply.Value), " ")); err != nil {
			c.t.Errorf("%s: %.100q is no count of it", key, reply.Value)
		}
	case versionOf(key, reply.Value) == 0:
		c.t.Errorf("%s: %.100q is no value of it", key, reply.Value)
	}
}

func (c *stressCaller) readOther(ctx context.Context) {
	caller, i := c.rng.IntN(stressCallers), c.rng.IntN(stressKeys)
	key := stressKey(caller, i)
	reply, err := c.w.links[stressServer(caller, i)].Do(ctx, &Request{Op: Get, Key: key})
	c.counts.note(err)
	if err == nil {
		c.checkOther(key, i == stressKeys-1, &reply)
	}
}

// batch reads all keys of its own and some of others.
func (c *stressCaller) batch(ctx context.Context) {
	shares := make([]*Share, stressServers)
	for i := range shares {
		shares[i] = &Share{Link: c.w.links[i]}
	}
	own := map[string]*belief{}
	counters := map[string]bool{}
	for i := range c.keys {
		b := &c.keys[i]
		own[b.key] = b
		shares[b.server].Keys = append(shares[b.server].Keys, b.key)
	}
	for range c.rng.IntN(60) {
		caller, i := c.rng.IntN(stressCallers), c.rng.IntN(stressKeys)
		key := stressKey(caller, i)
		if own[key] == nil {
			s := shares[stressServer(caller, i)]
			s.Keys = append(s.Keys, key)
			counters[key] = i == stressKeys-1
		}
	}
	lives := make([]int64, stressServers)
	for i := range lives {
		lives[i] = c.w.lives[i].Load()
	}
	Gather(ctx, shares)
	for _, s := range shares {
		c.counts.note(s.Err)
		for i := range s.Replies {
			if r := &s.Replies[i]; r.Status == Refused && s.Err != nil && r.Err == s.Err {
				continue // lost with the connection
			}
			if b := own[s.Keys[i]]; b != nil {
				c.check(b, &s.Replies[i], lives[b.server])
			} else {
				c.checkOther(s.Keys[i], counters[s.Keys[i]], &s.Replies[i])
			}
		}
	}
}

// calm stores and reads each key while nothing fails: it has to succeed, unless
// something old comes in between.
func (c *stressCaller) calm() {
	ctx := context.Background()
	for i := range c.keys {
		b := &c.keys[i]
		if b.counter {
			continue
		}
		within(c.t, func() bool {
			c.version++
			value := stressValue(b.key, c.version)
			stored, err := b.link.Do(ctx, &Request{Op: Set, Key: b.key, Value: value})
			if err != nil || stored.Status != OK {
				return false
			}
			got, err := b.link.Do(ctx, &Request{Op: Get, Key: b.key})
			return err == nil && string(got.Value) == string(value)
		})
	}
}

// stressCounts is how calls ended.
type stressCounts struct {
	ok, ended, unsent, unknown, nonsense int
	latest                               time.Duration
}

func (n *stressCounts) note(err error) {
	var lost *LostError
	var nonsense *ProtocolError
	switch {
	case err == nil:
		n.ok++
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		n.ended++
	case errors.As(err, &nonsense):
		n.nonsense++
	case errors.As(err, &lost) && !lost.Sent:
		n.unsent++
	default:
		n.unknown++
	}
}

func (n *stressCounts) add(m *stressCounts) {
	n.ok, n.ended, n.unsent = n.ok+m.ok, n.ended+m.ended, n.unsent+m.unsent
	n.unknown, n.nonsense = n.unknown+m.unknown, n.nonsense+m.nonsense
	n.latest = max(n.latest, m.latest)
}

func (n *stressCounts) String() string {
	return fmt.Sprintf("%d calls answered, %d given up, %d failed unsent, %d with unknown outcome, %d by nonsense",
		n.ok, n.ended, n.unsent, n.unknown, n.nonsense)
}

// within waits until cond holds, for a while.
func within(t *testing.T, cond func() bool) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Error("not reached")
}

// descriptors is how many files the process has open, 0 where that is not told.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
