package link

import "context"

// This file performs a large batch of gets in rounds: one window for each
// server, all of them answered and taken, then the next. Nothing is under way
// while the caller looks at what came, so it may do what it likes, for as long
// as it likes.

// Stream is what a stream needs again in each round. It may be used for one
// stream after another, but not for two at a time.
type Stream struct {
	rounds []Share
	asked  []*Share
	next   []int // for each share, the first key that has not been asked for
	memory []*Arena
	size   int // mean of the values so far, in bytes; an earlier stream's at first
}

const (
	roundBytes = 1 << 20 // of values that one server shall send in a round, about
	firstSize  = 8 << 10 // what a value is taken to have before one has come
)

// Run gets the keys of shares, round by round, and gives what came of each share
// to take, with the place of the first key. Values are valid until take returns.
// Run ends when all shares have ended or take returns false; a share that failed
// has its Err, and Taken counts what it brought before.
func (s *Stream) Run(ctx context.Context, shares []Share, take func(share, from int, replies []Reply) bool) {
	s.prepare(len(shares))
	if s.size == 0 {
		s.size = firstSize
	}
	bytes, hits := 0, 0
	for {
		s.asked = s.asked[:0]
		for i := range shares {
			s.ask(i, &shares[i])
		}
		if len(s.asked) == 0 {
			return
		}
		Gather(ctx, s.asked)
		for i := range shares {
			s.settle(i, &shares[i])
		}
		for i := range shares {
			replies, from := s.rounds[i].Replies, s.next[i]
			s.next[i] += len(replies)
			if !take(i, from, replies) {
				return
			}
			for j := range replies {
				if replies[j].Status == OK {
					bytes += len(replies[j].Value)
					hits++
				}
			}
		}
		if hits > 0 {
			s.size = bytes / hits
		}
	}
}

// settle notes how the round of a share ended, and lets go of memory to which a
// reader may still write: replies for what was given up or repeated. All shares
// are settled before the first reply is taken, since that may be the last.
func (s *Stream) settle(i int, share *Share) {
	round := &s.rounds[i]
	if round.Keys == nil {
		return
	}
	share.Err, share.retried = round.Err, share.retried || round.retried
	if round.conn != nil {
		share.conn = round.conn
	}
	share.Ended = round.Ended
	if !round.Clean() {
		s.memory[i] = new(Arena)
		round.buf = nil
	}
}

// ask prepares the next round of a share, if it has one.
func (s *Stream) ask(i int, share *Share) {
	round := &s.rounds[i]
	round.Reuse(share.Link)
	rest := share.Keys[s.next[i]:]
	if len(rest) == 0 || share.Err != nil {
		return
	}
	n := min(max(roundBytes/max(s.size, 1), 1), windowRequests)
	if s.memory[i] == nil {
		s.memory[i] = new(Arena)
	}
	s.memory[i].reset()
	round.Keys, round.arena, round.Timed = rest[:min(n, len(rest))], s.memory[i], share.Timed
	s.asked = append(s.asked, round)
}

func (s *Stream) prepare(n int) {
	if cap(s.rounds) < n {
		s.rounds, s.next, s.memory = make([]Share, n), make([]int, n), make([]*Arena, n)
	}
	s.rounds, s.next, s.memory = s.rounds[:n], s.next[:n], s.memory[:n]
	clear(s.next)
}

// Taken is how many keys of a share have had their reply taken.
func (s *Stream) Taken(share int) int { return s.next[share] }
