package memcache

import (
	"cmp"
	"errors"
)

// This file remembers which keys have to be deleted on a server, because it
// missed a change of theirs or may have. It does no I/O and takes no lock.

// ErrInvalidationPending is what errors.Is finds in the error of a change whose
// key will be deleted on its server: a Delete or Set that the server missed, or
// of which nobody knows whether it was carried out. Until then the server holds
// what it held, and if it is down it does not serve before. The memory of it is
// this Client's, and is lost with the process: see Hooks.InvalidationOwed.
var ErrInvalidationPending = errors.New("memcache: invalidation is pending")

// OverflowPolicy says what becomes of a server that missed more changes than can
// be remembered.
type OverflowPolicy uint8

const (
	// KeepOut keeps it down until Client.Restore, until Client.FlushServers has
	// emptied it, or until it is found to have started anew, empty.
	KeepOut OverflowPolicy = iota

	// FlushServer empties it, by flush_all, before it serves again.
	FlushServer
)

const (
	defaultJournalKeys  = 100_000
	defaultJournalBytes = 16 << 20

	// entrySize is what a key takes beside its bytes.
	entrySize = 112
)

// journal is what one server is owed.
type journal struct {
	maxKeys, maxBytes int

	keys     map[string]*entry
	bytes    int
	seq      uint64 // of the latest debt
	owed     int    // keys that are owed
	held     int    // keys that are held, stray counted as one
	released uint64 // seq at the latest release

	// stray stands for the keys that there was no room to hold, whichever they are:
	// while it is held every key counts as held. nil if it is not. strayed is seq at
	// its latest release.
	stray   *entry
	strayed uint64

	// Keys did not fit, the last of them at the time lost, as debt lostSeq.
	overflowed bool
	lost       int64
	lostSeq    uint64
}

// entry is one key of a journal: it is owed, or held, or both.
type entry struct {
	key     string
	owed    bool
	seq     uint64 // of the latest debt
	at      int64  // clock of the latest debt or hold
	holds   int    // writes that may yet be carried out: a delete now would not be the last word
	dropped bool   // from the journal
}

// newJournal returns an empty journal, nil if set wants none.
func newJournal(set *FailoverSettings) *journal {
	if set.JournalKeys < 0 {
		return nil
	}
	return &journal{
		maxKeys:  cmp.Or(set.JournalKeys, defaultJournalKeys),
		maxBytes: cmp.Or(set.JournalBytes, defaultJournalBytes),
		keys:     map[string]*entry{},
	}
}

// entry returns the entry of key, made if need be; nil if it does not fit.
func (j *journal) entry(key string, now int64) *entry {
	e := j.keys[key]
	if e == nil {
		size := len(key) + entrySize
		if len(j.keys) >= j.maxKeys || j.bytes+size > j.maxBytes {
			j.seq++
			j.overflowed, j.lost, j.lostSeq = true, now, j.seq
			return nil
		}
		e = &entry{key: key}
		j.keys[key] = e
		j.bytes += size
	}
	e.at = now
	return e
}

// owe notes that key has to be deleted. It reports whether that is news, as it
// always is of a key that does not fit.
func (j *journal) owe(key string, now int64) bool {
	e := j.entry(key, now)
	if e == nil {
		return true
	}
	news := !e.owed
	if news {
		e.owed = true
		j.owed++
	}
	j.seq++
	e.seq = j.seq
	return news
}

// hold notes that a write of key may yet be carried out, until release.
func (j *journal) hold(key string, now int64) *entry {
	e := j.entry(key, now)
	if e == nil {
		if j.stray == nil {
			j.stray = new(entry)
		}
		e = j.stray
	}
	if e.holds == 0 {
		j.held++
	}
	e.holds++
	return e
}

// release ends a hold. What is owed counts as a new debt: a delete that was sent
// before may have been performed before that write.
func (j *journal) release(e *entry) {
	if e.dropped {
		return
	}
	j.seq++
	e.seq, j.released = j.seq, j.seq
	if e == j.stray {
		j.strayed = j.seq
	}
	if e.holds--; e.holds > 0 {
		return
	}
	j.held--
	switch {
	case e == j.stray:
		j.stray = nil
	case !e.owed:
		j.drop(e)
	}
}

// free reports whether a delete of the key of e would be the last word if it was
// sent when the latest debt was seq.
func (j *journal) free(e *entry, seq uint64) bool {
	return e.holds == 0 && j.stray == nil && max(e.seq, j.strayed) <= seq
}

func (j *journal) drop(e *entry) {
	delete(j.keys, e.key)
	j.bytes -= len(e.key) + entrySize
	e.dropped = true
	if e.owed {
		j.owed--
	}
	if e.holds > 0 {
		j.held--
	}
}

// isHeld reports whether a delete of key that is sent now would not be the last
// word.
func (j *journal) isHeld(key string) bool {
	e := j.keys[key]
	return j.stray != nil || e != nil && e.holds > 0
}

// paid notes that key has been deleted by a request sent when the latest debt
// was seq. A key that is held stays owed.
func (j *journal) paid(key string, seq uint64) {
	if e := j.keys[key]; e != nil && e.owed && j.free(e, seq) {
		j.drop(e)
	}
}

// due returns the keys that are owed since the debt with number since, those
// that are held only if held is set.
func (j *journal) due(since uint64, held bool) (keys []string) {
	for key, e := range j.keys {
		if e.owed && max(e.seq, j.strayed) > since && (held || j.free(e, j.seq)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// forget makes room: what is not held counts as not having fitted.
func (j *journal) forget(now int64) {
	for _, e := range j.keys {
		if e.holds == 0 {
			j.drop(e)
		}
	}
	j.seq++
	j.overflowed, j.lost, j.lostSeq = true, now, j.seq
}

// restarted forgets what the server was owed before it started anew, empty.
func (j *journal) restarted(at int64) {
	for _, e := range j.keys {
		if e.at < at {
			j.drop(e)
		}
	}
	if j.lost < at {
		j.overflowed = false
		if j.stray != nil { // no later than what was lost
			j.stray.dropped, j.stray = true, nil
			j.held--
		}
	}
}

// emptied forgets what the server was owed when everything on it was deleted by
// a request sent when the latest debt was seq. What was held then stays owed.
func (j *journal) emptied(seq uint64) {
	for _, e := range j.keys {
		if e.owed && j.free(e, seq) {
			j.drop(e)
		}
	}
	if j.held == 0 && max(j.released, j.lostSeq) <= seq {
		j.overflowed = false
	}
}

// empty reports whether nothing is owed nor held.
func (j *journal) empty() bool { return len(j.keys) == 0 && !j.overflowed }
