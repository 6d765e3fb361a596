package link

import "errors"

// This file gathers statistics, which come one by one.

// maxStats bounds the statistics in one reply, in bytes of their names and
// values and of what it costs to keep each.
const (
	maxStats = 16 << 20
	statCost = 64
)

var errTooManyStats = errors.New("no end of statistics")

// addStat notes one statistic.
func (k *call) addStat(name, value []byte) error {
	if k.stats += len(name) + len(value) + statCost; k.stats > maxStats {
		return errTooManyStats
	}
	if !k.gone.Load() {
		k.statistics()[string(name)] = string(value)
	}
	return nil
}

// statistics are those of the next slot of k.
func (k *call) statistics() map[string]string {
	reply := k.slot()
	if reply.Detail == nil {
		reply.Detail = &Detail{Stats: map[string]string{}}
	}
	return reply.Detail.Stats
}

// endStats completes them.
func (k *call) endStats() {
	k.statistics()
	k.slot().Status = OK
	k.stats = 0
	k.at++
}
