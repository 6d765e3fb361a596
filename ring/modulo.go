package ring

// Placements without a continuum: the hash picks a place in the list.

// setSlots makes r look keys up by hash modulo the list of members, in which
// each stands as often as its weight says (once if weighted is false).
func setSlots(r *Ring, members []member, weighted bool) error {
	if weighted && totalWeight(members) > MaxPoints {
		return ErrTooManyPoints
	}
	r.table = tableSlots
	for _, m := range members {
		times := 1
		if weighted {
			times = int(m.weight)
		}
		for range times {
			r.slots = append(r.slots, int32(m.index))
		}
	}
	return nil
}

func buildModulo(r *Ring, members []member) error         { return setSlots(r, members, false) }
func buildWeightedModulo(r *Ring, members []member) error { return setSlots(r, members, true) }

// buildJump makes r look keys up by jump hash over the list of members.
func buildJump(r *Ring, members []member) error {
	err := buildModulo(r, members)
	r.table = tableJump
	return err
}

// jump is the jump consistent hash of Lamping and Veach over n places.
func jump(hash uint64, n int) int {
	place, next := int64(-1), int64(0)
	for next < int64(n) {
		place = next
		hash = hash*2862933555777941757 + 1
		next = int64(float64(place+1) * (float64(1<<31) / float64(hash>>33+1)))
	}
	return int(place)
}
