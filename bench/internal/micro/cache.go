package micro

// Caches in front of the ring, as other clients have them, against the ring's own
// table.

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
	"github.com/vaquero-cache/memcache/ring"
)

// Ways are the ways to find the server of a key with a hash tag.
var Ways = []string{RouteSearch, RouteSplit, RouteHash, RouteBoth, RouteTable}

// The ways.
const (
	RouteSearch = "binary search"            // of the points, no cache
	RouteSplit  = "split cache"              // key → what its tag is, then a search
	RouteHash   = "hash cache"               // what is hashed → server, before the search
	RouteBoth   = "both caches"              // one after the other
	RouteTable  = "bucketed table, no cache" // the ring's own
)

const (
	cacheServers = 16
	tagsOf       = 4 // keys of one tag
	// callKeys is how many keys are placed in a call.
	callKeys = 1 << 12
	// warmCalls are made before anything is measured, so that caches hold what they can.
	warmCalls = 64
)

// bounded is a map that forgets everything when it is full, safe for many callers.
type bounded[V any] struct {
	mu    sync.RWMutex
	m     map[string]V
	limit int

	counted
}

// counted is how often a cache was asked, and how often it knew.
type counted struct{ asked, found atomic.Int64 }

func (c *counted) forget() {
	c.asked.Store(0)
	c.found.Store(0)
}

func (c *counted) hits() float64 {
	return 100 * float64(c.found.Load()) / float64(max(1, c.asked.Load()))
}

func newBounded[V any](limit int) *bounded[V] {
	return &bounded[V]{m: map[string]V{}, limit: limit}
}

func (c *bounded[V]) get(key string, find func(string) V) V {
	c.asked.Add(1)
	c.mu.RLock()
	v, ok := c.m[key]
	c.mu.RUnlock()
	if ok {
		c.found.Add(1)
		return v
	}
	v = find(key)
	c.mu.Lock()
	if len(c.m) >= c.limit {
		clear(c.m)
	}
	c.m[key] = v
	c.mu.Unlock()
	return v
}

// continuum is a ring as one would write it down first: 160 points a server, sorted.
type continuum []wide

type wide struct {
	value  uint64
	server int
}

func newContinuum(servers int) continuum {
	var points continuum
	for s := range servers {
		for n := range 160 {
			points = append(points, wide{xxhash.Sum64String(fmt.Sprintf("10.0.0.%d:11211-%d", s, n)), s})
		}
	}
	slices.SortFunc(points, func(a, b wide) int { return cmp.Compare(a.value, b.value) })
	return points
}

func (c continuum) find(text string) int {
	hash := xxhash.Sum64String(text)
	i := sort.Search(len(c), func(i int) bool { return c[i].value >= hash })
	if i == len(c) {
		i = 0
	}
	return c[i].server
}

// tagOf is what is hashed of a key.
func tagOf(key string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			return key[open+1 : open+1+end]
		}
	}
	return key
}

// Way finds servers in one of the ways. Any number of callers may use it.
type Way struct {
	Pick func(key string) int

	split *bounded[string]
	hash  *bounded[int]
}

// NewWay makes a way among servers of one weight, with caches for limit entries.
func NewWay(name string, limit, servers int) (*Way, error) {
	w := new(Way)
	if name == RouteTable {
		table, err := ring.New(ring.Default.HashTag("{}"), equalServers(servers)...)
		if err != nil {
			return nil, err
		}
		w.Pick = table.Pick
		return w, nil
	}
	c := newContinuum(servers)
	if name == RouteSplit || name == RouteBoth {
		w.split = newBounded[string](limit)
	}
	if name == RouteHash || name == RouteBoth {
		w.hash = newBounded[int](limit)
	}
	switch name {
	case RouteSearch:
		w.Pick = func(key string) int { return c.find(tagOf(key)) }
	case RouteSplit:
		w.Pick = func(key string) int { return c.find(w.split.get(key, tagOf)) }
	case RouteHash:
		w.Pick = func(key string) int { return w.hash.get(tagOf(key), c.find) }
	case RouteBoth:
		w.Pick = func(key string) int { return w.hash.get(w.split.get(key, tagOf), c.find) }
	default:
		return nil, fmt.Errorf("no way %q", name)
	}
	return w, nil
}

// tell puts the hit ratios of the caches among figures.
func (w *Way) tell(figures map[string]float64) {
	if w.split != nil {
		figures["split cache hits %"] = w.split.hits()
	}
	if w.hash != nil {
		figures["hash cache hits %"] = w.hash.hits()
	}
}

// cachedKeys are the keys of all ways.
var cachedKeys = sync.OnceValue(func() []string {
	keys := make([]string, CacheKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("{user:%d}:part:%d", i/tagsOf, i%tagsOf)
	}
	return keys
})

// cacheWant is where each of the keys belongs, on the ring's own table or on the
// continuum that all others search.
var cacheWant = map[bool]func() []int32{
	true:  sync.OnceValue(func() []int32 { return whereAre(RouteTable) }),
	false: sync.OnceValue(func() []int32 { return whereAre(RouteSearch) }),
}

func whereAre(name string) []int32 {
	w, err := NewWay(name, 1, cacheServers)
	if err != nil {
		panic(err) // our own servers and placement
	}
	keys := cachedKeys()
	places := make([]int32, len(keys))
	for i, key := range keys {
		places[i] = int32(w.Pick(key))
	}
	return places
}

// Router places keys in one of the ways. It is a run.Caller and a run.Slicer, and
// tells the hit ratios.
type Router struct {
	*Way
	keys []string
	want []int32
	next func() int

	places, got [callKeys]int32
}

// CacheKeys is how many keys there are for the caches.
const CacheKeys = 100_000

// CallKeys is how many keys a Router places in a call.
const CallKeys = callKeys

// NewRouter returns a Router whose keys are wanted by Zipf's law, or all alike.
func NewRouter(name string, limit int, zipf bool) (*Router, error) {
	w, err := NewWay(name, limit, cacheServers)
	if err != nil {
		return nil, err
	}
	r := &Router{Way: w, keys: cachedKeys(), want: cacheWant[name == RouteTable]()}
	if zipf {
		r.next = workload.NewZipf(len(r.keys)).From(0)
	} else {
		state := uint64(1)
		r.next = func() int {
			state = state*6364136223846793005 + 1442695040888963407
			return int((state >> 33) % uint64(len(r.keys)))
		}
	}
	for range warmCalls {
		r.draw()
		if err := r.Call(); err != nil {
			return nil, err
		}
	}
	if w.split != nil {
		w.split.forget()
	}
	if w.hash != nil {
		w.hash.forget()
	}
	return r, nil
}

// draw draws the keys of the next call, of which it is no part.
func (r *Router) draw() {
	for i := range r.places {
		r.places[i] = int32(r.next())
	}
}

// Begin draws the first keys.
func (r *Router) Begin(int) { r.draw() }

// End has nothing to do.
func (r *Router) End() error { return nil }

// Call places the keys.
func (r *Router) Call() error {
	for i, place := range r.places {
		r.got[i] = int32(r.Pick(r.keys[place]))
	}
	return nil
}

// Check compares each with where it belongs, and draws the next.
func (r *Router) Check() error {
	for i, place := range r.places {
		if r.got[i] != r.want[place] {
			return errPlace
		}
	}
	r.draw()
	return nil
}

// Tell adds the hit ratios since the row began.
func (r *Router) Tell(s *run.Slice) {
	s.Extra = map[string]float64{}
	r.tell(s.Extra)
}

// MakeWay makes a way anew, places every key twice, and says what that took, what it
// holds, and how much longer a collection takes with it.
func MakeWay(name string, limit int) (s run.Slice, err error) {
	keys, want := cachedKeys(), cacheWant[name == RouteTable]()
	before, without := heap(), collection()
	start := time.Now()
	w, err := NewWay(name, limit, cacheServers)
	if err != nil {
		return s, err
	}
	made := time.Since(start)
	var passes [2]time.Duration
	for n := range passes {
		begin := time.Now()
		for i, key := range keys {
			if w.Pick(key) != int(want[i]) {
				return s, errPlace
			}
		}
		passes[n] = time.Since(begin)
	}
	with := collection()
	held := heap() - before
	runtime.KeepAlive(w)
	perKey := func(d time.Duration) float64 { return float64(d) / float64(len(keys)) }
	s.Ops, s.Elapsed = int64(len(passes)), passes[0]+passes[1]
	s.P25, s.P50, s.P99 = passes[1], passes[1], passes[1]
	s.Extra = map[string]float64{
		"set-up µs":             float64(made) / 1e3,
		"first time, ns a key":  perKey(passes[0]),
		"second time, ns a key": perKey(passes[1]),
		"KB held":               max(0, held/1e3),
		"µs more a collection":  float64(with-without) / 1e3,
	}
	return s, nil
}

// collection is the shortest of a few collections.
func collection() time.Duration {
	best := time.Hour
	for range 5 {
		start := time.Now()
		runtime.GC()
		best = min(best, time.Since(start))
	}
	return best
}

// heap is how many bytes are in use after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
