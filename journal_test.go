package memcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/link"
)

func TestJournalRemembersEachKeyOnce(t *testing.T) {
	j := newJournal(new(FailoverSettings))
	assert.True(t, j.empty())
	assert.True(t, j.owe("a", 1))
	assert.False(t, j.owe("a", 2))
	assert.True(t, j.owe("b", 3))
	assert.Equal(t, 2, j.owed)
	keys := j.due(0, false)
	slices.Sort(keys)
	assert.Equal(t, []string{"a", "b"}, keys)
	seq := j.seq
	assert.Empty(t, j.due(seq, false))
	j.owe("a", 4)
	assert.Equal(t, []string{"a"}, j.due(seq, false), "again since then")
	j.paid("a", seq)
	j.paid("b", seq)
	assert.Equal(t, []string{"a"}, j.due(0, false), "a delete that was sent before does not pay the new debt")
	j.paid("a", j.seq)
	assert.True(t, j.empty())
	assert.Zero(t, j.bytes)
}

// A key of which a write may yet be carried out cannot be paid before that.
func TestJournalHolds(t *testing.T) {
	j := newJournal(new(FailoverSettings))
	first, second := j.hold("a", 1), j.hold("a", 1)
	assert.True(t, j.isHeld("a"))
	assert.Empty(t, j.due(0, true), "it is not owed")
	j.owe("a", 2)
	assert.Empty(t, j.due(0, false))
	assert.Equal(t, []string{"a"}, j.due(0, true))
	j.release(first)
	j.paid("a", j.seq)
	assert.Equal(t, 1, j.owed)
	j.release(second)
	assert.Equal(t, []string{"a"}, j.due(0, false))
	j.paid("a", j.seq)
	assert.True(t, j.empty())

	third := j.hold("b", 3)
	j.release(third)
	assert.True(t, j.empty(), "what is neither owed nor held is forgotten")
}

func TestJournalIsBounded(t *testing.T) {
	j := newJournal(&FailoverSettings{JournalKeys: 2})
	j.owe("a", 1)
	j.owe("b", 1)
	assert.False(t, j.overflowed)
	assert.True(t, j.owe("c", 7), "a caller may remember it")
	assert.True(t, j.overflowed)
	assert.EqualValues(t, 7, j.lost)
	assert.False(t, j.owe("a", 9), "one that is there fits")
	j.paid("a", j.seq)
	j.paid("b", j.seq)
	assert.False(t, j.empty(), "it does not forget that it forgot")
	j.emptied(j.seq)
	assert.True(t, j.empty())

	j = newJournal(&FailoverSettings{JournalBytes: 2*entrySize + 5})
	assert.True(t, j.owe("ab", 1))
	assert.True(t, j.owe("cde", 1))
	j.owe("f", 1)
	assert.True(t, j.overflowed)
	assert.Nil(t, newJournal(&FailoverSettings{JournalKeys: -1}))
}

func TestJournalAfterARestart(t *testing.T) {
	j := newJournal(&FailoverSettings{JournalKeys: 3})
	j.owe("before", 5)
	held := j.hold("held before", 5)
	j.owe("since", 10)
	j.owe("lost before", 5)
	j.restarted(7)
	assert.Equal(t, []string{"since"}, j.due(0, true))
	assert.False(t, j.overflowed)
	again := j.hold("held before", 11)
	j.release(held)
	assert.True(t, j.isHeld("held before"), "the old hold is not this one")
	j.release(again)

	j.overflowed, j.lost = true, 12
	j.restarted(11)
	assert.True(t, j.overflowed, "what was lost since then is still missed")
	j.restarted(13)
	assert.True(t, j.empty())
}

// Random debts, holds and payments, against sets of keys.
func TestJournalByRandomEvents(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		j := newJournal(new(FailoverSettings))
		owed, held := map[string]uint64{}, map[string]int{}
		type hold struct {
			key string
			e   *entry
		}
		var holds []hold
		for now := range int64(300) {
			key := fmt.Sprint(r.IntN(8))
			switch r.IntN(5) {
			case 0:
				_, was := owed[key]
				assert.Equal(t, !was, j.owe(key, now))
				owed[key] = j.seq
			case 1:
				holds = append(holds, hold{key, j.hold(key, now)})
				held[key]++
			case 2:
				if len(holds) > 0 {
					i := r.IntN(len(holds))
					j.release(holds[i].e)
					held[holds[i].key]--
					if _, ok := owed[holds[i].key]; ok {
						owed[holds[i].key] = j.seq
					}
					holds = slices.Delete(holds, i, i+1)
				}
			case 3:
				seq := uint64(r.IntN(int(j.seq) + 1))
				j.paid(key, seq)
				if owed[key] <= seq && held[key] == 0 {
					delete(owed, key)
				}
			case 4:
				seq := j.seq
				j.emptied(seq)
				for key := range owed {
					if held[key] == 0 {
						delete(owed, key)
					}
				}
			}
			heldKeys, size := 0, 0
			for i := range 8 {
				key := fmt.Sprint(i)
				require.Equal(t, held[key] > 0, j.isHeld(key))
				_, isOwed := owed[key]
				require.Equal(t, isOwed, slices.Contains(j.due(0, true), key))
				require.Equal(t, isOwed && held[key] == 0, slices.Contains(j.due(0, false), key))
				if held[key] > 0 {
					heldKeys++
				}
				if held[key] > 0 || isOwed {
					size += entrySize + 1
				}
			}
			require.Equal(t, len(owed), j.owed)
			require.Equal(t, heldKeys, j.held)
			require.Equal(t, size, j.bytes)
		}
	}
}

// A delete is paid by what was sent after the last hold had ended, not by what
// was answered then.
func TestJournalIsNotPaidByWhatWasSentDuringAHold(t *testing.T) {
	j := newJournal(&FailoverSettings{JournalKeys: 1})
	held := j.hold("a", 1)
	j.owe("a", 2)
	sent := j.seq
	j.release(held)
	j.paid("a", sent)
	assert.Equal(t, []string{"a"}, j.due(sent, true))
	j.emptied(sent)
	assert.Equal(t, 1, j.owed)
	j.paid("a", j.seq)
	assert.True(t, j.empty())

	held = j.hold("a", 1)
	j.owe("lost", 2)
	sent = j.seq
	j.release(held)
	j.emptied(sent)
	assert.True(t, j.overflowed, "the write may have come behind")
	sent = j.seq
	j.emptied(sent)
	assert.False(t, j.overflowed)
	j.owe("a", 3)
	j.owe("lost", 4)
	j.emptied(sent)
	assert.True(t, j.overflowed, "it was lost since")
}

// What counts is whether an older write was under way when a delete was sent,
// not when its reply came.
func TestADeleteSentDuringAHoldIsNotTheLastWord(t *testing.T) {
	s, err := New("192.0.2.1:1").pick("k")
	require.NoError(t, err)
	h := s.health
	settled := h.unsettled([]link.Write{{Key: "k", Op: link.Add, Stores: true}}, true)
	sent := s.ticket([]link.Request{{Op: link.Delete, Key: "k"}})
	settled()
	assert.Zero(t, h.word.Load(), "nothing is known of it any more")
	assert.Equal(t, []string{"k"}, h.pay([]string{"k"}, sent))
	assert.Empty(t, h.pay([]string{"k"}, s.ticket([]link.Request{{Op: link.Delete, Key: "k"}})))
}

// A write that there was no room to hold is under way all the same: whose key it
// has is not known any more, so no delete is the last word before its end.
func TestJournalHoldsWhatDoesNotFit(t *testing.T) {
	full := func() (j *journal, stray *entry) {
		j = newJournal(&FailoverSettings{JournalKeys: 1})
		j.owe("a", 1)
		return j, j.hold("b", 2)
	}
	j, stray := full()
	assert.True(t, j.overflowed)
	assert.Equal(t, 1, j.held)
	for _, key := range []string{"a", "b", "c"} {
		assert.True(t, j.isHeld(key))
	}
	assert.Empty(t, j.due(0, false))
	assert.Equal(t, []string{"a"}, j.due(0, true))
	sent := j.seq
	j.paid("a", sent)
	j.emptied(sent)
	assert.Equal(t, 1, j.owed)
	assert.True(t, j.overflowed)

	second := j.hold("c", 3)
	j.release(stray)
	assert.True(t, j.isHeld("a"))
	j.release(second)
	assert.False(t, j.isHeld("a"))
	assert.Zero(t, j.held)
	assert.Equal(t, []string{"a"}, j.due(sent, false), "a new debt")
	j.paid("a", sent)
	j.emptied(sent)
	assert.Equal(t, 1, j.owed)
	assert.True(t, j.overflowed)
	j.emptied(j.seq)
	assert.True(t, j.empty())

	j, stray = full()
	j.restarted(2)
	assert.True(t, j.isHeld("b"), "it may have been sent to the server that is there now")
	j.restarted(3)
	assert.False(t, j.isHeld("b"))
	assert.True(t, j.empty())
	assert.Zero(t, j.held)
	again := j.hold("d", 4)
	j.release(stray)
	assert.True(t, j.isHeld("d"))
	j.release(again)
	assert.True(t, j.empty())
}

// What is forgotten to make room is overflow; what is held stays so.
func TestJournalMakesRoom(t *testing.T) {
	j := newJournal(new(FailoverSettings))
	j.owe("a", 1)
	j.owe("b", 1)
	held := j.hold("b", 2)
	j.forget(3)
	assert.True(t, j.overflowed)
	assert.EqualValues(t, 3, j.lost)
	assert.Equal(t, []string{"b"}, j.due(0, true))
	j.release(held)
	j.emptied(j.seq)
	assert.True(t, j.empty())
}
