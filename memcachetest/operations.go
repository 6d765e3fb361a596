package memcachetest

// What commands do to the store, whichever protocol they come in. Every method
// needs store.mu held, except where it says otherwise.

type storeMode uint8

const (
	modeSet storeMode = iota
	modeAdd
	modeReplace
	modeAppend
	modePrepend
	modeAppendOrCreate  // ms MA with N
	modePrependOrCreate // ms MP with N
	modeCAS
)

type storeResult uint8

const (
	stored storeResult = iota
	notStored
	exists
	notFound
	noMemory
)

// access is what a read does besides reading.
type access uint8

const (
	accessGet   access = 1 << iota // counts as a get
	accessTouch                    // counts as a touch
	accessQuiet                    // leaves no trace on the item
)

// fetch finds the item of a read command.
func (st *store) fetch(key []byte, how access, now int64) *item {
	count := &st.count
	it := st.peek(key, now)
	if how&accessGet != 0 {
		count.cmdGet++
		if how&accessQuiet == 0 {
			st.detail.get(key, it != nil)
		}
		if it != nil {
			count.getHits++
		} else {
			count.getMisses++
		}
	}
	if how&accessTouch != 0 {
		count.cmdTouch++
		if it != nil {
			count.touchHits++
		} else {
			count.touchMisses++
		}
	}
	if it != nil && how&accessQuiet == 0 {
		st.touchUse(it, now)
	}
	return it
}

// touchUse records that a reader was given the item.
func (st *store) touchUse(it *item, now int64) {
	it.fetched = true
	it.used = now
	st.toFront(it)
}

// write is one storage command.
type write struct {
	mode      storeMode
	key       []byte
	binaryKey bool
	value     []byte // kept by the store
	flags     uint32
	expires   int64
	cas       uint64 // compared when it is not 0, or when mode is modeCAS
	newCAS    newCAS
	markStale bool  // an older cas stores, and marks the item stale
	vivify    int64 // expiry of an item that an append creates
	noMemory  bool  // fails for want of memory
}

// put carries out w. On stored, the item it returns is the new one.
func (st *store) put(w *write, now int64) (*item, storeResult) {
	st.count.cmdSet++
	if w.noMemory || st.full(st.itemSize(len(w.key), len(w.value), w.flags)) {
		st.count.storeNoMemory++
		return nil, noMemory
	}
	if !w.newCAS.given && !st.old {
		w.newCAS = st.takeCAS() // 1.6.45 spends one even when nothing gets stored
	}
	if st.noCAS {
		w.cas = 0 // lost in an item that has no room for it
	}
	old := st.peek(w.key, now)
	if old == nil {
		switch w.mode {
		case modeCAS:
			st.count.casMisses++
			return nil, notFound
		case modeReplace, modeAppend, modePrepend:
			return nil, notStored
		case modeAppendOrCreate, modePrependOrCreate:
			created := *w
			created.expires = w.vivify
			return st.insert(&created, now), stored
		}
		return st.insert(w, now), stored
	}

	same := w.cas == old.cas
	switch w.mode {
	case modeAdd:
		st.toFront(old)
		return nil, notStored
	case modeCAS:
		switch {
		case w.cas != 0 && same:
			st.count.casHits++
		case w.cas != 0 && w.markStale && w.cas < old.cas:
			late := *w
			late.expires = old.expires
			it := st.insert(&late, now)
			it.stale, it.won = true, old.won
			return it, stored
		default:
			st.count.casBadval++
			return nil, exists
		}
	case modeAppend, modeAppendOrCreate, modePrepend, modePrependOrCreate:
		if w.cas != 0 && !same {
			return nil, exists
		}
		joined := *w
		if !st.fits(len(w.key), int64(len(old.value)+len(w.value)), old.flags) {
			return nil, notStored
		}
		joined.value = make([]byte, 0, len(old.value)+len(w.value))
		if w.mode == modeAppend || w.mode == modeAppendOrCreate {
			joined.value = append(append(joined.value, old.value...), w.value...)
		} else {
			joined.value = append(append(joined.value, w.value...), old.value...)
		}
		joined.flags, joined.expires, joined.binaryKey = old.flags, old.expires, false
		return st.insert(&joined, now), stored
	}
	return st.insert(w, now), stored
}

// full tells whether an item of that size is refused, which happens only when
// evictions are off.
func (st *store) full(size int) bool {
	return st.noEvict && st.bytes+int64(size) > st.limit
}

// refuse notes that a value was too large to store, and forgets the old value of
// the key if so asked. It takes store.mu.
func (st *store) refuse(key []byte, forget bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.count.storeTooLarge++
	if !forget {
		return
	}
	if it := st.peek(key, st.clock.now()); it != nil {
		st.remove(it)
	}
}

// delete removes the item if it has that CAS; 0 is not compared. It returns
// stored, exists or notFound.
func (st *store) delete(key []byte, cas uint64, now int64) storeResult {
	it := st.peek(key, now)
	switch {
	case it == nil:
		st.count.deleteMisses++
		return notFound
	case cas != 0 && cas != it.cas:
		return exists
	}
	st.remove(it)
	st.count.deleteHits++
	return stored
}

// flushAll empties the store at the time an expiration names: now when it is 0 or
// over. But a Unix time from before the server's start only revokes a flush to
// come. It takes store.mu.
func (st *store) flushAll(exptime int64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.count.cmdFlush++
	now := st.clock.now()
	at := st.clock.expiry(exptime, now)
	if at > now {
		st.flushAt = at
		return
	}
	st.flushAt = 0
	if st.old {
		st.nextCAS() // which older items are told by
	}
	if exptime <= 0 || at > expiredAtOnce {
		st.clear()
	}
}
