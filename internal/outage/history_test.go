package outage

// What many goroutines did to some keys, and whether a value that one of them
// reads may still be seen.
//
// A change hides what was stored before it. Of two calls one was before the other
// only if it had returned when the other began; of all else nothing is claimed.
// So a read is stale if the version that it got was stored by a call that had
// returned before a change began which had taken hold before the read began:
//
//	store v        ├────┤
//	change                  ├────┤
//	read                            ├────┤  v is stale
//
// A change has taken hold when its call has succeeded, or, if the call said that
// a deletion is owed, when none is owed any more to the key's server. In either
// case the time that values may live elsewhere is added.
//
// A store whose outcome is unknown may be carried out late: its request lies in
// the buffers of a server that is stopped. A deletion that succeeded promises
// that this does no harm. A store that succeeded does not promise it until what
// is owed has been deleted; until then the late one may come after it. Of a late
// replacement, for which nothing is owed, it never promises anything.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	errStale   = errors.New("stale")
	errUnknown = errors.New("never stored")
	errDenied  = errors.New("stored by a call that said that it stored nothing")
)

// historian orders the calls of all goroutines.
type historian struct {
	clock atomic.Int64         // counts the beginnings and ends of calls
	grace time.Duration        // for how long a value that was hidden may be seen elsewhere
	since func() time.Duration // the time, for grace
}

// now returns a number that is higher than that of everything that happened
// before.
func (h *historian) now() int64 { return h.clock.Add(1) }

// history is what happened to one key.
type history struct {
	*historian
	mu      sync.Mutex
	stores  []stored // by version, from 1 on
	waiting []change // not taken hold yet
	hidden  watermarks
}

// watermarks are moments: what was stored by calls that had returned before them
// is hidden.
type watermarks struct {
	all     int64 // each store
	done    int64 // stores that succeeded
	unclear int64 // those and stores that are unclear
}

type stored struct {
	end int64 // 0 while the call is under way
	outcome
}

// outcome is how a change ended.
type outcome uint8

const (
	done    outcome = iota // it succeeded
	refused                // nothing was changed, now or later
	unclear                // it may have happened, or may happen yet
	adrift                 // so may a replacement
)

// change hides what was stored before it began.
type change struct {
	watermarks
	end   int64
	owed  bool          // it takes hold when nothing is owed any more
	since time.Duration // when it took hold
}

// storeBegins returns the number of a new version.
func (h *history) storeBegins() (version int, began int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores = append(h.stores, stored{})
	return len(h.stores), h.now()
}

// storeEnds notes what became of a version. owed says that the call promised that
// what the server holds will be deleted.
func (h *history) storeEnds(version int, began int64, o outcome, owed bool) {
	end := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores[version-1] = stored{end, o}
	if o == done {
		h.takesHold(change{watermarks: watermarks{done: began}})
	}
	hides := watermarks{unclear: began}
	if owed {
		hides.all = began
	}
	if o == done || owed {
		h.waiting = append(h.waiting, change{watermarks: hides, end: end, owed: true})
	}
}

func (h *history) deletionBegins() (began int64) { return h.now() }

// deletionSucceeds and deletionIsOwed note the end of a deletion. One that failed
// otherwise is not noted: it promised nothing.
func (h *history) deletionSucceeds(began int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takesHold(change{watermarks: watermarks{all: began}})
}

func (h *history) deletionIsOwed(began int64) {
	end := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, change{watermarks: watermarks{all: began}, end: end, owed: true})
}

// nothingOwed says that nothing was owed to the servers of the key at some moment
// after looked, a number from now.
func (h *history) nothingOwed(looked int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting := h.waiting
	h.waiting = nil
	for _, c := range waiting {
		if c.owed && c.end < looked {
			h.takesHold(c)
		} else {
			h.waiting = append(h.waiting, c)
		}
	}
}

func (h *history) takesHold(c change) {
	c.owed, c.since = false, h.since()
	if h.grace > 0 {
		h.waiting = append(h.waiting, c)
		return
	}
	h.hidden.raise(c.watermarks)
}

func (w *watermarks) raise(to watermarks) {
	w.all, w.done, w.unclear = max(w.all, to.all), max(w.done, to.done), max(w.unclear, to.unclear)
}

// readBegins returns what is hidden from a read that begins now.
func (h *history) readBegins() watermarks {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.grace > 0 {
		over := h.since() - h.grace
		h.waiting = slices.DeleteFunc(h.waiting, func(c change) bool {
			if c.owed || c.since > over {
				return false
			}
			h.hidden.raise(c.watermarks)
			return true
		})
	}
	return h.hidden
}

// readEnds judges the version that a read has got.
func (h *history) readEnds(hidden watermarks, version int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if version < 1 || version > len(h.stores) {
		return errUnknown
	}
	switch s := h.stores[version-1]; {
	case s.end == 0: // under way
		return nil
	case s.outcome == refused:
		return errDenied
	case s.end < hidden.all,
		s.end < hidden.done && s.outcome == done,
		s.end < hidden.unclear && s.outcome != adrift:
		return errStale
	}
	return nil
}

// A history is told in words, in the order of time:
//
//	s1( s1) s1? s1^       a store of version 1 begins, succeeds, has an unknown
//	                      outcome, has one and is a replacement
//	s1! s1~               it stored nothing, and a deletion is owed
//	da( da) da~ dax       a deletion begins, succeeds, is owed, fails
//	la( la)               a look begins that finds that nothing is owed, and ends
//	ra( ra1               a read begins, and gets version 1
//	+5                    five seconds pass
func TestHistoryIsJudged(t *testing.T) {
	for _, row := range []struct {
		name, history string
		grace         time.Duration
		want          error
	}{
		{"read what is there", "s1( s1) ra( ra1", 0, nil},
		{"read what is being stored", "s1( ra( ra1 s1)", 0, nil},
		{"deleted", "s1( s1) da( da) ra( ra1", 0, errStale},
		{"stored again", "s1( s1) da( da) s2( s2) ra( ra2", 0, nil},
		{"deleted between two stores", "s1( s1) da( da) s2( s2) ra( ra1", 0, errStale},
		{"the read began before the deletion returned", "s1( s1) da( ra( da) ra1", 0, nil},
		{"the store returned after the deletion began", "s1( da( s1) da) ra( ra1", 0, nil},
		{"the store is under way", "s1( da( da) ra( ra1", 0, nil},
		{"the deletion failed", "s1( s1) da( dax ra( ra1", 0, nil},
		{"of two deletions the earlier one returned last", "da( s1( s1) db( db) da) ra( ra1", 0, errStale},
		{"only the deletion that began too early has returned", "da( s1( s1) db( da) ra( ra1", 0, nil},
		{"a later deletion that fails hides nothing", "s1( s1) da( da) s2( s2) db( dbx ra( ra2", 0, nil},

		{"a late store was deleted", "s1( s1? da( da) ra( ra1", 0, errStale},
		{"a late store came before the deletion returned", "s1( da( s1? da) ra( ra1", 0, nil},
		{"a late store came after another", "s1( s1? s2( s2) ra( ra1", 0, nil},
		{"a late store came after nothing was owed", "s1( s1? s2( s2) la( la) ra( ra1", 0, errStale},
		{"it was owed when the look began", "s1( s1? s2( la( s2) la) ra( ra1", 0, nil},
		{"a late replacement was deleted", "s1( s1^ da( da) ra( ra1", 0, errStale},
		{"a late replacement was deleted by what was owed", "s1( s1^ s2( s2~ la( la) ra( ra1", 0, errStale},
		{"a late replacement came after another store", "s1( s1^ s2( s2) la( la) ra( ra1", 0, nil},
		{"replaced", "s1( s1) s2( s2) ra( ra1", 0, errStale},
		{"replaced while it was stored", "s1( s2( s2) s1) ra( ra1", 0, nil},
		{"replaced, perhaps", "s1( s1) s2( s2? ra( ra1", 0, nil},
		{"replaced, not at all", "s1( s1) s2( s2! ra( ra1", 0, nil},

		{"owed", "s1( s1) da( da~ ra( ra1", 0, nil},
		{"owed and done", "s1( s1) da( da~ la( la) ra( ra1", 0, errStale},
		{"the look began before it was owed", "s1( s1) da( la( da~ la) ra( ra1", 0, nil},
		{"the read began before the look ended", "s1( s1) da( da~ la( ra( la) ra1", 0, nil},
		{"stored after it was owed", "s1( s1) da( da~ s2( s2) la( la) ra( ra2", 0, nil},
		{"owed for a store", "s1( s1) s2( s2~ ra( ra1", 0, nil},
		{"owed for a store and done", "s1( s1) s2( s2~ la( la) ra( ra1", 0, errStale},

		{"a store that stored nothing", "s1( s1! ra( ra1", 0, errDenied},
		{"a store that says so only later", "s1( ra( ra1 s1!", 0, nil},
		{"a store that nobody made", "s1( s1) ra( ra2", 0, errUnknown},

		{"elsewhere for a while", "s1( s1) da( da) +1 ra( ra1", 2 * time.Second, nil},
		{"elsewhere for too long", "s1( s1) da( da) +3 ra( ra1", 2 * time.Second, errStale},
		{"the while counts for the read's beginning", "s1( s1) da( da) ra( +3 ra1", 2 * time.Second, nil},
		{"the while begins when the call returns", "s1( s1) da( +3 da) ra( ra1", 2 * time.Second, nil},
		{"the while begins when nothing is owed", "s1( s1) da( da~ +3 la( la) +1 ra( ra1", 2 * time.Second, nil},
		{"it ends then, too", "s1( s1) da( da~ la( la) +3 ra( ra1", 2 * time.Second, errStale},
		{"still owed after the while", "s1( s1) da( da~ +3 ra( ra1", 2 * time.Second, nil},
		{"a later change does not lengthen it", "s1( s1) da( da) +2 db( db) +1 ra( ra1", 2 * time.Second, errStale},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, judged(t, row.history, row.grace))
		})
	}
}

// judged is what the reads of a history, told in words, come to.
func judged(t *testing.T, words string, grace time.Duration) (verdict error) {
	var clock time.Duration
	h := &history{historian: &historian{grace: grace, since: func() time.Duration { return clock }}}
	began := map[string]int64{}
	reads := map[string]watermarks{}
	for _, word := range strings.Fields(words) {
		if seconds, ok := strings.CutPrefix(word, "+"); ok {
			n, err := strconv.Atoi(seconds)
			require.NoError(t, err)
			clock += time.Duration(n) * time.Second
			continue
		}
		name, what := word[:2], word[2:]
		version := int(name[1] - '0')
		switch string(name[0]) + what {
		case "s(":
			var made int
			made, began[name] = h.storeBegins()
			require.Equal(t, version, made)
		case "s)":
			h.storeEnds(version, began[name], done, false)
		case "s?":
			h.storeEnds(version, began[name], unclear, false)
		case "s^":
			h.storeEnds(version, began[name], adrift, false)
		case "s!":
			h.storeEnds(version, began[name], refused, false)
		case "s~":
			h.storeEnds(version, began[name], refused, true)
		case "d(":
			began[name] = h.deletionBegins()
		case "d)":
			h.deletionSucceeds(began[name])
		case "d~":
			h.deletionIsOwed(began[name])
		case "dx":
		case "l(":
			began[name] = h.now()
		case "l)":
			h.nothingOwed(began[name])
		case "r(":
			reads[name] = h.readBegins()
		default:
			version, err := strconv.Atoi(what)
			require.NoError(t, err, fmt.Sprintf("the word %q", word))
			if err := h.readEnds(reads[name], version); err != nil {
				verdict = err
			}
		}
	}
	return verdict
}
