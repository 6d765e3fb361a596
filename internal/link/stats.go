package link

import "errors"

// This file gathers statistics, which come one by one.

// maxStats bounds the statistics in one reply, in bytes of their names and
// values.
const maxStats = 16 << 20

var errTooManyStats = errors.New("no end of statistics")

// addStat notes one statistic.
func (k *call) addStat(name, value []byte) error {
	if k.pending.Detail == nil {
		k.pending.Detail = &Detail{Stats: map[string]string{}}
	}
	stats := k.pending.Detail.Stats
	if k.stats += len(name) + len(value); k.stats > maxStats {
		return errTooManyStats
	}
	if !k.gone.Load() {
		stats[string(name)] = string(value)
	}
	return nil
}

// endStats gives the statistics to the next slot of k.
func (k *call) endStats() {
	reply := Reply{Status: OK, Detail: k.pending.Detail}
	if reply.Detail == nil {
		reply.Detail = &Detail{Stats: map[string]string{}}
	}
	k.pending, k.stats = Reply{}, 0
	*k.slot() = reply
	k.got.Add(1)
}
