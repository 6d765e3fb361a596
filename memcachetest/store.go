package memcachetest

// The items: a map, one list in order of last use, and a budget of bytes. Every
// method needs store.mu held. An item past its time is removed by whoever meets
// it, as memcached does.

import (
	"sync"
)

// What memcached adds to key and value: its item header, the CAS, the NUL behind
// the key and the CRLF behind the value, and four bytes for client flags when
// there are any.
const (
	itemHeader   = 48
	casSize      = 8
	flagsSize    = 4
	valueTrailer = 2
)

type item struct {
	key       string
	value     []byte
	flags     uint32
	cas       uint64
	expires   int64 // instant; 0 = never
	used      int64 // instant of the store or the last fetch
	fetched   bool  // some read found it since it was stored
	stale     bool  // marked by md I: readers are told X
	won       bool  // a reader holds the right to recache: the others are told Z
	binaryKey bool  // stored with the b flag: its key is shown as base64
	held      hold  // by a reply that is not sent yet

	newer, older *item // guarded by store.mu; the list of use
}

type store struct {
	clock   *clock
	maxItem int
	limit   int64
	noEvict bool
	noCAS   bool
	old     bool // counts CAS values as 1.6.18 does

	mu      sync.Mutex
	items   map[string]*item
	newest  *item
	oldest  *item
	bytes   int64
	lastCAS uint64
	flushAt int64 // instant of a flush to come; 0 = none
	count   counters
	detail  prefixStats
}

func newStore(clock *clock, cfg Config, old bool) *store {
	return &store{
		clock:   clock,
		maxItem: cfg.MaxItemSize,
		limit:   cfg.MemoryLimit,
		noEvict: cfg.DisableEvictions,
		noCAS:   cfg.DisableCAS,
		old:     old,
		items:   map[string]*item{},
	}
}

// itemSize is the size of an item as memcached counts it.
func (st *store) itemSize(nkey, nvalue int, flags uint32) int {
	size := itemHeader + nkey + 1 + nvalue + valueTrailer
	if flags != 0 {
		size += flagsSize
	}
	if !st.noCAS {
		size += casSize
	}
	return size
}

func (st *store) size(it *item) int { return st.itemSize(len(it.key), len(it.value), it.flags) }

// newCAS is the CAS that an item gets. One that is not given comes from the
// server's counter; 0 may be given.
type newCAS struct {
	value uint64
	given bool
}

func (st *store) nextCAS() uint64 {
	st.lastCAS++
	return st.lastCAS
}

func (st *store) takeCAS() newCAS { return newCAS{st.nextCAS(), true} }

// reserveCAS takes the CAS of an item whose value is still to come. It takes
// store.mu.
func (st *store) reserveCAS() newCAS {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.takeCAS()
}

// fits tells whether an item of this size may be stored at all.
func (st *store) fits(nkey int, nvalue int64, flags uint32) bool {
	// The value alone first: its length may be any number, and the sum overflow.
	return nvalue <= int64(st.maxItem) && st.itemSize(nkey, int(nvalue), flags) <= st.maxItem
}

// peek finds a live item and leaves no trace of it on a hit.
func (st *store) peek(key []byte, now int64) *item {
	if st.flushAt != 0 && now >= st.flushAt {
		st.clear()
		st.flushAt = 0
	}
	it := st.items[string(key)]
	if it == nil {
		return nil
	}
	if it.expires != 0 && it.expires <= now {
		st.remove(it)
		st.count.getExpired++
		return nil
	}
	return it
}

// insert makes w the item of its key, and evicts what no longer fits.
func (st *store) insert(w *write, now int64) *item {
	if old := st.items[string(w.key)]; old != nil {
		st.remove(old)
	}
	it := &item{
		key: string(w.key), value: w.value, flags: w.flags,
		expires: w.expires, used: now, binaryKey: w.binaryKey,
	}
	if !w.newCAS.given {
		w.newCAS = st.takeCAS()
	}
	st.setCAS(it, w.newCAS)
	st.items[it.key] = it
	st.link(it)
	st.bytes += int64(st.size(it))
	st.count.totalItems++
	st.evict(it)
	return it
}

// evict removes the items used longest ago until the rest fits. keep stays.
func (st *store) evict(keep *item) {
	for st.bytes > st.limit && st.oldest != keep {
		st.remove(st.oldest)
		st.count.evictions++
	}
}

// setCAS gives the item a CAS.
func (st *store) setCAS(it *item, cas newCAS) {
	if !cas.given {
		cas = st.takeCAS()
	}
	it.cas = cas.value
	if st.noCAS {
		it.cas = 0
	}
}

func (st *store) remove(it *item) {
	delete(st.items, it.key)
	st.unlink(it)
	st.bytes -= int64(st.size(it))
}

func (st *store) clear() {
	clear(st.items)
	st.newest, st.oldest, st.bytes = nil, nil, 0
}

func (st *store) link(it *item) {
	it.newer, it.older = nil, st.newest
	if st.newest != nil {
		st.newest.newer = it
	} else {
		st.oldest = it
	}
	st.newest = it
}

func (st *store) unlink(it *item) {
	if it.newer != nil {
		it.newer.older = it.older
	} else {
		st.newest = it.older
	}
	if it.older != nil {
		it.older.newer = it.newer
	} else {
		st.oldest = it.newer
	}
	it.newer, it.older = nil, nil
}

func (st *store) toFront(it *item) {
	if st.newest != it {
		st.unlink(it)
		st.link(it)
	}
}
