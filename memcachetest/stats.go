package memcachetest

// What `stats` and the binary stat command tell.

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
)

type stat struct{ name, value string }

// statsOutcome is how a stats request ends.
type statsOutcome uint8

const (
	statsUnknown statsOutcome = iota
	statsList                 // a list of names and values
	statsReset                // the counters are zero
)

// statGroup answers `stats <group>` for the groups that are a list, and reset.
func (c *conn) statGroup(group string) ([]stat, statsOutcome) {
	s := c.srv
	switch group {
	case "":
		return s.generalStats(), statsList
	case "settings":
		return s.settings(), statsList
	case "conns":
		return s.connStats(), statsList
	case "items":
		return s.store.itemStats(), statsList
	case "slabs":
		return s.store.slabStats(), statsList
	case "sizes":
		return []stat{{"sizes_status", "disabled"}}, statsList
	case "extstore", "proxy":
		return nil, statsList
	case "reset":
		s.resetStats()
		return nil, statsReset
	}
	return nil, statsUnknown
}

func number64[T ~int | ~int64 | ~uint64](n T) string { return fmt.Sprint(n) }

// idleStats are the statistics of parts that memcached has and this server has
// not. They read as on a memcached that has never used them.
var idleStats = []stat{
	{"response_obj_oom", "0"}, {"response_obj_count", "0"}, {"response_obj_bytes", "0"},
	{"read_buf_oom", "0"}, {"listen_disabled_num", "0"}, {"time_in_listen_disabled_us", "0"},
	{"conn_yields", "0"}, {"hash_is_expanding", "0"}, {"get_flushed", "0"},
	{"slab_reassign_rescues", "0"}, {"slab_reassign_running", "0"}, {"slabs_moved", "0"},
	{"lru_crawler_running", "0"}, {"lru_crawler_starts", "0"}, {"lru_maintainer_juggles", "0"},
	{"malloc_fails", "0"}, {"log_worker_dropped", "0"}, {"log_worker_written", "0"},
	{"log_watcher_skipped", "0"}, {"log_watcher_sent", "0"}, {"slab_global_page_pool", "0"},
	{"expired_unfetched", "0"}, {"evicted_unfetched", "0"}, {"evicted_active", "0"},
	{"reclaimed", "0"}, {"crawler_reclaimed", "0"}, {"crawler_items_checked", "0"},
	{"lrutail_reflocked", "0"}, {"moves_to_cold", "0"}, {"moves_to_warm", "0"},
	{"moves_within_lru", "0"}, {"direct_reclaims", "0"}, {"lru_bumps_dropped", "0"},
}

func (s *Server) generalStats() []stat {
	s.front.mu.Lock()
	conns, maxConns, accepted := len(s.front.peers), s.front.maxPeers, s.front.last
	s.front.mu.Unlock()
	st := s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	n := &st.count
	now := st.clock.now()
	list := []stat{
		{"pid", number64(os.Getpid())},
		{"uptime", number64((now - startInstant) / second)},
		{"time", number64(st.clock.base.Unix() + now/second)},
		{"version", s.cfg.Version},
		{"pointer_size", strconv.Itoa(strconv.IntSize)},
		{"max_connections", number64(maxConns)},
		{"curr_connections", number64(conns)},
		{"total_connections", number64(accepted)},
		{"rejected_connections", number64(s.front.turned.Load())},
		{"connection_structures", number64(conns)},
		{"cmd_get", number64(n.cmdGet)},
		{"cmd_set", number64(n.cmdSet)},
		{"cmd_flush", number64(n.cmdFlush)},
		{"cmd_touch", number64(n.cmdTouch)},
		{"cmd_meta", number64(n.cmdMeta)},
		{"get_hits", number64(n.getHits)},
		{"get_misses", number64(n.getMisses)},
		{"get_expired", number64(n.getExpired)},
		{"delete_misses", number64(n.deleteMisses)},
		{"delete_hits", number64(n.deleteHits)},
		{"incr_misses", number64(n.incrMisses)},
		{"incr_hits", number64(n.incrHits)},
		{"decr_misses", number64(n.decrMisses)},
		{"decr_hits", number64(n.decrHits)},
		{"cas_misses", number64(n.casMisses)},
		{"cas_hits", number64(n.casHits)},
		{"cas_badval", number64(n.casBadval)},
		{"touch_hits", number64(n.touchHits)},
		{"touch_misses", number64(n.touchMisses)},
		{"store_too_large", number64(n.storeTooLarge)},
		{"store_no_memory", number64(n.storeNoMemory)},
		{"auth_cmds", number64(n.authCmds)},
		{"auth_errors", number64(n.authErrors)},
		{"bytes_read", number64(s.traffic.read.Load())},
		{"bytes_written", number64(s.traffic.written.Load())},
		{"limit_maxbytes", number64(st.limit)},
		{"accepting_conns", "1"},
		{"threads", number64(runtime.GOMAXPROCS(0))},
		{"bytes", number64(st.bytes)},
		{"curr_items", number64(len(st.items))},
		{"total_items", number64(n.totalItems)},
		{"evictions", number64(n.evictions)},
	}
	return append(list, idleStats...)
}

func (s *Server) resetStats() {
	s.store.mu.Lock()
	s.store.count = counters{totalItems: s.store.count.totalItems}
	s.store.detail.counts = nil
	s.store.mu.Unlock()
	s.front.turned.Store(0)
	s.traffic.read.Store(0)
	s.traffic.written.Store(0)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (s *Server) settings() []stat {
	s.store.mu.Lock()
	limit, detail := s.store.limit, s.store.detail.on
	s.store.mu.Unlock()
	port, socket, evictions, binding := "0", "NULL", "on", "auto-negotiate"
	switch s.Network() {
	case "unix":
		socket = s.front.addr
	case "tcp":
		port = portOf(s.front.addr)
	}
	if s.cfg.DisableEvictions {
		evictions = "off"
	}
	switch {
	case s.cfg.SASLUsers != nil:
		binding = "binary"
	case s.cfg.Users != nil:
		binding = "ascii"
	}
	return []stat{
		{"maxbytes", number64(limit)},
		{"maxconns", number64(s.cfg.MaxConns)},
		{"tcpport", port},
		{"udpport", "0"},
		{"inter", s.front.addr},
		{"verbosity", "0"},
		{"oldest", "0"},
		{"evictions", evictions},
		{"domain_socket", socket},
		{"shutdown_command", "no"},
		{"growth_factor", "1.25"},
		{"chunk_size", "48"},
		{"num_threads", number64(runtime.GOMAXPROCS(0))},
		{"stat_key_prefix", ":"},
		{"detail_enabled", yesNo(detail)},
		{"cas_enabled", yesNo(!s.cfg.DisableCAS)},
		{"binding_protocol", binding},
		{"auth_enabled_sasl", yesNo(s.cfg.SASLUsers != nil)},
		{"auth_enabled_ascii", yesNo(s.cfg.Users != nil)},
		{"item_size_max", number64(s.cfg.MaxItemSize)},
		{"maxconns_fast", "yes"},
		{"slab_chunk_max", number64(largestChunk)},
		{"flush_enabled", "yes"},
		{"dump_enabled", "yes"},
		{"idle_timeout", "0"},
		{"ssl_enabled", yesNo(s.cfg.TLS != nil)},
		{"client_flags_size", "4"},
	}
}

func (s *Server) connStats() []stat {
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	var list []stat
	for _, p := range s.front.sorted() {
		c := p.(*conn)
		id := strconv.Itoa(c.id)
		network := s.Network()
		list = append(list,
			stat{id + ":addr", network + ":" + c.nc.RemoteAddr().String()},
			stat{id + ":listen_addr", network + ":" + s.front.addr},
			stat{id + ":state", "conn_parse_cmd"},
		)
	}
	return list
}

// classes groups the items by slab class. Needs st.mu.
func (st *store) classes() (numbers []int, byClass map[int][]*item) {
	byClass = map[int][]*item{}
	for it := st.newest; it != nil; it = it.older {
		class := slabClass(st.size(it))
		byClass[class] = append(byClass[class], it)
	}
	return slices.Sorted(maps.Keys(byClass)), byClass
}

func (st *store) itemStats() []stat {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := st.clock.now()
	var list []stat
	numbers, byClass := st.classes()
	for _, class := range numbers {
		items := byClass[class]
		size := 0
		for _, it := range items {
			size += st.size(it)
		}
		oldest := items[len(items)-1]
		prefix := "items:" + strconv.Itoa(class) + ":"
		list = append(list,
			stat{prefix + "number", number64(len(items))},
			stat{prefix + "age", number64((now - oldest.used) / second)},
			stat{prefix + "mem_requested", number64(size)},
			stat{prefix + "evicted", "0"},
			stat{prefix + "outofmemory", "0"},
			stat{prefix + "reclaimed", "0"},
		)
	}
	return list
}

func (st *store) slabStats() []stat {
	st.mu.Lock()
	defer st.mu.Unlock()
	const page = 1 << 20
	var list []stat
	pages := 0
	numbers, byClass := st.classes()
	for _, class := range numbers {
		used := len(byClass[class])
		chunk := slabChunks()[class-1]
		perPage := page / chunk
		total := (used + perPage - 1) / perPage
		pages += total
		prefix := strconv.Itoa(class) + ":"
		list = append(list,
			stat{prefix + "chunk_size", number64(chunk)},
			stat{prefix + "chunks_per_page", number64(perPage)},
			stat{prefix + "total_pages", number64(total)},
			stat{prefix + "total_chunks", number64(total * perPage)},
			stat{prefix + "used_chunks", number64(used)},
			stat{prefix + "free_chunks", number64(total*perPage - used)},
		)
	}
	return append(list,
		stat{"active_slabs", number64(len(numbers))},
		stat{"total_malloced", number64(pages * page)},
	)
}
