package memcachetest

// counters are what `stats` shows of the commands so far. Guarded by store.mu.
type counters struct {
	cmdGet, cmdSet, cmdFlush, cmdTouch, cmdMeta uint64
	getHits, getMisses, getExpired              uint64
	deleteHits, deleteMisses                    uint64
	incrHits, incrMisses, decrHits, decrMisses  uint64
	casHits, casMisses, casBadval               uint64
	touchHits, touchMisses                      uint64
	storeTooLarge, storeNoMemory                uint64
	authCmds, authErrors                        uint64
	totalItems, evictions                       uint64
}
