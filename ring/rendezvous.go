package ring

// Rendezvous placements: every server scores the key, the highest has it.

import "math"

// candidate is a server with what its score starts from. Candidates stand in
// such an order that of equal scores the later one wins.
type candidate struct {
	index  int
	weight float64      // mcrouter, weighted; 0 where weights do not count
	tag    uint64       // mcrouter: the hash of the server's tag
	state  murmur3State // pymemcache: the hash of the server's text so far
}

func buildRendezvous(r *Ring, members []member) error {
	r.table = tableRendezvous
	for _, m := range members {
		tag := murmur64A(byteView(m.label), furcHashSeed)
		r.rendezvous = append(r.rendezvous, candidate{index: m.index, tag: tag})
	}
	return nil
}

// buildWeightedRendezvous lets the first of equal scores win.
func buildWeightedRendezvous(r *Ring, members []member) error {
	r.table = tableRendezvous
	for i := len(members) - 1; i >= 0; i-- {
		m := members[i]
		tag := murmur64A(byteView(m.label), furcHashSeed)
		r.rendezvous = append(r.rendezvous, candidate{index: m.index, tag: tag, weight: m.weight})
	}
	return nil
}

// mcrouterScore is the score of a candidate for the hash of a key.
func (c *candidate) mcrouterScore(key uint64) float64 {
	h := fold128(c.tag, key)
	if c.weight == 0 {
		return float64(h)
	}
	const unit = 1 << 53
	return c.weight / -math.Log(float64(h&(unit-1))/unit)
}

// fold128 makes one hash of two.
func fold128(upper, lower uint64) uint64 {
	const k = 0x9ddfea08eb382d69
	a := (lower ^ upper) * k
	a ^= a >> 47
	b := (upper ^ a) * k
	b ^= b >> 47
	return b * k
}

// scored is a key made ready to be scored.
type scored struct {
	hash uint64 // mcrouter
	text string // pymemcache
}

// prepare makes text ready; what it returns may lie in buf.
func (r *Ring) prepare(text string, buf *[saltedSize]byte) scored {
	switch r.placement.rules().python {
	case pythonStr:
		return scored{text: stringView(appendChars(buf[:0], text))}
	case pythonBytes:
		return scored{text: stringView(appendRepr(buf[:0], text))}
	}
	const keySeed = 2718281828
	return scored{hash: murmur64A(byteView(text), keySeed)}
}

func (c *candidate) score(key scored) float64 {
	if c.state.size > 0 {
		return float64(c.state.add(key.text).sum())
	}
	return c.mcrouterScore(key.hash)
}

// bestCandidate returns the server with the highest score for text.
func (r *Ring) bestCandidate(text string) int {
	var buf [saltedSize]byte
	server, _ := r.highest(r.prepare(text, &buf))
	return server
}

// highest returns the server with the highest score for key, and the score.
func (r *Ring) highest(key scored) (server int, score float64) {
	best, highest := 0, math.Inf(-1)
	for i := range r.rendezvous {
		if score := r.rendezvous[i].score(key); score >= highest {
			best, highest = i, score
		}
	}
	return r.rendezvous[best].index, highest
}

// eachCandidate yields all servers by falling score, and needs no memory for
// it: it looks for the best of those below the last one again and again.
func (r *Ring) eachCandidate(text string, yield func(int) bool) {
	var buf [saltedSize]byte
	key := r.prepare(text, &buf)
	last, lastScore := len(r.rendezvous), math.Inf(1)
	for range r.rendezvous {
		best, highest := 0, math.Inf(-1)
		for i := range r.rendezvous {
			score := r.rendezvous[i].score(key)
			below := score < lastScore || score == lastScore && i < last
			if below && score >= highest {
				best, highest = i, score
			}
		}
		if !yield(r.rendezvous[best].index) {
			return
		}
		last, lastScore = best, highest
	}
}
