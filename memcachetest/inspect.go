package memcachetest

// Looking into the store, and putting things there, without a client.

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Item is a stored item.
type Item struct {
	Key   string
	Value []byte
	Flags uint32
	// TTL is the time left; 0 means that the item never expires. Set takes a negative
	// one for an item that is over already.
	TTL time.Duration
	// CAS is the item's version. Set takes 0 as the server's next one.
	CAS uint64
	// Stale is the mark that md with the I flag leaves.
	Stale bool
}

// Get returns the item of a key. It leaves no trace on the item or the counts. The
// caller owns the value.
func (s *Server) Get(key string) (Item, bool) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := s.clock.now()
	it := s.store.peek([]byte(key), now)
	if it == nil {
		return Item{}, false
	}
	return it.export(now), true
}

func (it *item) export(now int64) Item {
	out := Item{
		Key: it.key, Value: bytes.Clone(it.value), Flags: it.flags, CAS: it.cas, Stale: it.stale,
	}
	if it.expires != 0 {
		out.TTL = time.Duration(it.expires - now)
	}
	return out
}

// Set stores an item, whatever its size; others are evicted if the memory limit asks
// for it. It does not keep or change Value.
func (s *Server) Set(item Item) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := s.clock.now()
	w := write{key: []byte(item.Key), value: bytes.Clone(item.Value), flags: item.Flags}
	switch {
	case item.TTL < 0:
		w.expires = expiredAtOnce
	case item.TTL > 0:
		w.expires = now + int64(item.TTL)
	}
	if item.CAS != 0 {
		w.newCAS = newCAS{item.CAS, true}
	}
	s.store.insert(&w, now).stale = item.Stale
}

// Keys returns the keys of all items that have not expired, sorted.
func (s *Server) Keys() []string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := s.clock.now()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(s.store.items)) {
		if s.store.peek([]byte(key), now) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Dump shows all items that have not expired, one on a line and sorted by key, for
// the message of a failed test.
func (s *Server) Dump() string {
	var b strings.Builder
	for _, key := range s.Keys() {
		it, ok := s.Get(key)
		if !ok {
			continue // expired meanwhile
		}
		fmt.Fprintf(&b, "%q = %q flags=%d cas=%d", it.Key, it.Value, it.Flags, it.CAS)
		if it.TTL != 0 {
			fmt.Fprintf(&b, " ttl=%v", it.TTL.Round(time.Second))
		}
		if it.Stale {
			b.WriteString(" stale")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Flush removes all items.
func (s *Server) Flush() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.clear()
}
