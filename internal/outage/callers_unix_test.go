//go:build unix

package outage

// Goroutines that store, delete and read the same keys all at once, by every
// operation that can leave or show an old value, and report to the history of
// each key what they did and what they got.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/vaquero-cache/memcache"
)

const (
	writers = 8
	readers = 8

	// Half of the calls are about a few keys, so that many meet; the others find
	// what has lain there for long.
	hotKeys  = 32
	coldKeys = 480
)

// key is one that all share.
type key struct {
	name string
	home string // the address of its server
	history

	mu     sync.Mutex
	events []event // the latest; guarded by mu
}

// event is there to explain what went wrong.
type event struct {
	at      time.Duration
	caller  int
	what    string
	version int
	err     error
}

func (k *key) note(caller int, what string, version int, err error) {
	const kept = 40
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.events) == kept {
		k.events = k.events[:copy(k.events, k.events[1:])]
	}
	k.events = append(k.events, event{k.since(), caller, what, version, err})
}

func (k *key) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s\n", k.name, k.home)
	for _, e := range k.events {
		fmt.Fprintf(&b, "%12v caller %2d %s %d %v\n", e.at.Round(time.Microsecond), e.caller, e.what, e.version, e.err)
	}
	return b.String()
}

// trial is one client under outages.
type trial struct {
	*testing.T
	client *memcache.Client
	keys   []*key
	start  time.Time

	calls, failed, hits, unclear, owed atomic.Int64
	unowed                             atomic.Int64 // deletions that failed and are not owed either
	stale, wrong                       atomic.Int64
	firstStale                         atomic.Pointer[string]
}

// newTrial prepares a trial of a client whose selector is selector.
func newTrial(t *testing.T, c *memcache.Client, selector memcache.ServerSelector, grace time.Duration) *trial {
	tr := &trial{T: t, client: c, start: time.Now()}
	h := &historian{grace: grace, since: func() time.Duration { return time.Since(tr.start) }}
	for i := range hotKeys + coldKeys {
		k := &key{name: fmt.Sprintf("%s:%d:%d", strings.ReplaceAll(t.Name(), "/", ":"), tr.start.UnixNano(), i)}
		k.historian = h
		addr, err := selector.PickServer(k.name)
		assert.NoError(t, err)
		k.home = addr.String()
		tr.keys = append(tr.keys, k)
	}
	return tr
}

// run lets all callers call until stop.
func (tr *trial) run(random func(int) *rand.Rand, stop <-chan struct{}) {
	var wg sync.WaitGroup
	for i := range writers + readers {
		c := &caller{trial: tr, number: i, rng: random(i)}
		step := c.write
		if i >= writers {
			step = c.read
		}
		wg.Go(func() {
			for pause(stop, time.Duration(c.rng.Int64N(int64(3*time.Millisecond)))) {
				step()
			}
		})
	}
	wg.Wait()
}

func (tr *trial) String() string {
	return fmt.Sprintf("%d calls, %d failed, %d with unknown outcome; %d values read, %d stale, %d wrong; deletions owed to callers %d, failed without %d",
		tr.calls.Load(), tr.failed.Load(), tr.unclear.Load(), tr.hits.Load(), tr.stale.Load(), tr.wrong.Load(), tr.owed.Load(), tr.unowed.Load())
}

// value is what a key holds in a version. Some do not fit into a socket's buffer.
func value(name string, version int) []byte {
	head := fmt.Sprintf("%s %d ", name, version)
	size := version * 7919 % 2000
	if version%61 == 0 {
		size = 200_000
	}
	return append([]byte(head), strings.Repeat(string(rune('a'+version%26)), size)...)
}

// judge is told of a value that a read has got.
func (tr *trial) judge(caller int, k *key, hidden watermarks, got []byte) {
	tr.hits.Add(1)
	rest, ok := strings.CutPrefix(string(got), k.name+" ")
	number, _, _ := strings.Cut(rest, " ")
	version, err := strconv.Atoi(number)
	if !ok || err != nil || string(value(k.name, version)) != string(got) {
		tr.wrong.Add(1)
		tr.Errorf("%.100q is no value of %s", got, k)
		return
	}
	err = k.readEnds(hidden, version)
	switch {
	case err == nil:
	case errors.Is(err, errStale):
		k.note(caller, "stale", version, nil)
		if tr.stale.Add(1) == 1 {
			story := k.String()
			tr.firstStale.Store(&story)
		}
	default:
		if tr.wrong.Add(1) < 4 {
			tr.Errorf("version %d was %v: %s", version, err, k)
		}
	}
}

// caller is one goroutine.
type caller struct {
	*trial
	number int
	rng    *rand.Rand
}

func (c *caller) pick() *key {
	if c.rng.IntN(2) == 0 {
		return c.keys[c.rng.IntN(hotKeys)]
	}
	return c.keys[hotKeys+c.rng.IntN(coldKeys)]
}

// pickSome returns different keys.
func (c *caller) pickSome(n int) map[string]*key {
	some := map[string]*key{}
	for len(some) < n {
		k := c.pick()
		some[k.name] = k
	}
	return some
}

// context is without an end mostly, and else ends soon, or about when Timeout does.
func (c *caller) context() (context.Context, context.CancelFunc) {
	switch c.rng.IntN(10) {
	case 0:
		return context.WithTimeout(context.Background(), time.Duration(c.rng.Int64N(int64(2*time.Millisecond))))
	case 1:
		return context.WithTimeout(context.Background(), time.Duration(c.rng.Int64N(int64(2*timeout))))
	}
	return context.Background(), func() {}
}

// ended counts a call.
func (c *caller) ended(err error) {
	c.calls.Add(1)
	err = memcache.Ignore(err, memcache.ErrCacheMiss, memcache.ErrNotStored, memcache.ErrCASConflict)
	if err != nil {
		c.failed.Add(1)
	}
}

func (c *caller) write() {
	ctx, cancel := c.context()
	defer cancel()
	switch n := c.rng.IntN(20); {
	case n < 8:
		c.store(ctx, c.pick(), (*memcache.Client).SetContext, memcache.Item{}, unclear)
	case n < 10:
		c.store(ctx, c.pick(), (*memcache.Client).AddContext, memcache.Item{}, unclear)
	case n < 11:
		c.store(ctx, c.pick(), (*memcache.Client).ReplaceContext, memcache.Item{}, adrift)
	case n < 12:
		c.swap(ctx)
	case n < 14:
		c.storeMany(ctx)
	case n < 18:
		c.delete(ctx, c.pick())
	default:
		c.deleteMany(ctx)
	}
}

// store stores a new version of k by op, which takes item's CAS. A store whose
// outcome is unknown is of the kind doubtful.
func (c *caller) store(ctx context.Context, k *key, op func(*memcache.Client, context.Context, *memcache.Item) error,
	item memcache.Item, doubtful outcome) {
	version, began := k.storeBegins()
	item.Key, item.Value = k.name, value(k.name, version)
	err := op(c.client, ctx, &item)
	c.ended(err)
	c.stored(k, version, began, err, doubtful)
}

// stored takes in how a store ended. Where its outcome is unknown the key is
// deleted most of the time, as a careful program does.
func (c *caller) stored(k *key, version int, began int64, err error, doubtful outcome) {
	o := outcomeOf(err)
	if o == unclear {
		o = doubtful
		c.unclear.Add(1)
	}
	k.storeEnds(version, began, o, isOwed(err))
	k.note(c.number, "store", version, err)
	if o == doubtful && c.rng.IntN(4) > 0 {
		c.delete(context.Background(), k)
		c.get(context.Background(), k)
	}
}

// outcomeOf is what a store's error says about its outcome.
func outcomeOf(err error) outcome {
	var unknown *memcache.OpError
	var nonsense *memcache.ProtocolError
	switch {
	case err == nil:
		return done
	case errors.As(err, &nonsense), errors.As(err, &unknown) && unknown.OutcomeUnknown:
		return unclear
	}
	return refused
}

func (c *caller) swap(ctx context.Context) {
	k := c.pick()
	if item := c.get(ctx, k); item != nil {
		c.store(ctx, k, (*memcache.Client).CompareAndSwapContext, *item, unclear)
	}
}

func (c *caller) storeMany(ctx context.Context) {
	type begun struct {
		version int
		began   int64
	}
	some := c.pickSome(6)
	all := map[string]begun{}
	var items []*memcache.Item
	for name, k := range some {
		version, began := k.storeBegins()
		all[name] = begun{version, began}
		items = append(items, &memcache.Item{Key: name, Value: value(name, version)})
	}
	err := c.client.SetMultiContext(ctx, items)
	c.ended(err)
	errs := byKey(c.T, err)
	for name, k := range some {
		c.stored(k, all[name].version, all[name].began, errs[name], unclear)
	}
}

func byKey(t *testing.T, err error) map[string]error {
	if err == nil {
		return nil
	}
	var multi *memcache.MultiError
	if !errors.As(err, &multi) {
		t.Errorf("%v is no *MultiError", err)
		return nil
	}
	return multi.ByKey()
}

func (c *caller) delete(ctx context.Context, k *key) {
	began := k.deletionBegins()
	err := c.client.DeleteContext(ctx, k.name)
	c.ended(err)
	c.deleted(ctx, k, began, err)
}

func (c *caller) deleteMany(ctx context.Context) {
	some := c.pickSome(6)
	began := map[string]int64{}
	var names []string
	for name, k := range some {
		began[name] = k.deletionBegins()
		names = append(names, name)
	}
	err := c.client.DeleteMultiContext(ctx, names)
	c.ended(err)
	errs := byKey(c.T, err)
	for name, k := range some {
		c.deleted(ctx, k, began[name], errs[name])
	}
}

// deleted takes in how a deletion ended, and looks at once what is there now.
func (c *caller) deleted(ctx context.Context, k *key, began int64, err error) {
	switch {
	case err == nil || errors.Is(err, memcache.ErrCacheMiss):
		k.deletionSucceeds(began)
	case isOwed(err):
		k.deletionIsOwed(began)
		c.owed.Add(1)
	case ctx.Err() == nil:
		if c.unowed.Add(1) == 1 {
			c.Errorf("a deletion failed, and is not owed: %v", err)
		}
	}
	k.note(c.number, "delete", 0, err)
	if c.rng.IntN(2) == 0 {
		c.get(context.Background(), k)
	}
}

func (c *caller) read() {
	ctx, cancel := c.context()
	defer cancel()
	switch n := c.rng.IntN(10); {
	case n < 6:
		c.get(ctx, c.pick())
	case n < 7:
		k := c.pick()
		hidden := k.readBegins()
		item, err := c.client.GetAndTouchContext(ctx, k.name, 0)
		c.ended(err)
		if err == nil {
			c.judge(c.number, k, hidden, item.Value)
		}
	default:
		c.getMany(ctx, n < 9)
	}
}

func (c *caller) get(ctx context.Context, k *key) *memcache.Item {
	hidden := k.readBegins()
	item, err := c.client.GetContext(ctx, k.name)
	c.ended(err)
	if err != nil {
		return nil
	}
	c.judge(c.number, k, hidden, item.Value)
	return item
}

// getMany reads some keys, into a map or as they come.
func (c *caller) getMany(ctx context.Context, intoMap bool) {
	some := c.pickSome(20)
	hidden := map[string]watermarks{}
	var names []string
	for name, k := range some {
		hidden[name] = k.readBegins()
		names = append(names, name)
	}
	if !intoMap {
		c.ended(c.client.GetMultiFunc(ctx, names, func(hit memcache.Hit) bool {
			c.judge(c.number, some[hit.Key], hidden[hit.Key], hit.Value)
			return true
		}))
		return
	}
	items, err := c.client.GetMultiContext(ctx, names)
	c.ended(err)
	for name, item := range items {
		c.judge(c.number, some[name], hidden[name], item.Value)
	}
}
