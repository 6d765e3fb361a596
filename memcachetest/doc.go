// Package memcachetest is memcached for Go tests: a server that runs inside the
// test's own process, starts in microseconds, and answers byte for byte as memcached
// 1.6.45 does.
//
//	func TestGreeting(t *testing.T) {
//		srv := memcachetest.NewServer(t)
//		client := memcache.New(srv.Addr())
//		...
//	}
//
// It speaks the meta, the classic and the binary protocol, and both kinds of
// authentication, over TCP, TLS, unix sockets and in memory. Recordings of real
// servers are replayed against it, and random scripts are sent to it and to real
// servers side by side. It shares no code with the client packages of this module,
// and imports nothing but the standard library.
//
// # Time
//
// Items expire by the server's clock, which Server.FastForward moves. Under
// testing/synctest it is the bubble's clock, and time passes in no time:
//
//	synctest.Test(t, func(t *testing.T) {
//		srv := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
//		client := memcache.New(srv.Addr())
//		client.DialContext = srv.Dial
//		defer client.Close()
//
//		client.Set(&memcache.Item{Key: "session", Value: []byte("x"), Expiration: 3600})
//		time.Sleep(time.Hour)
//		_, err := client.Get("session") // memcache.ErrCacheMiss
//	})
//
// Real sockets do not work in a bubble, hence NetworkPipe and Dial. NewServers does
// the same for several servers.
//
// # Faults
//
// Server.Inject spoils replies: it delays, stalls, cuts, swaps or corrupts them, by
// connection, command and number. Server.Stop, Pause, Refuse and LimitConns are what
// happens to whole servers, and a Personality makes a lesser server. A Proxy does
// this to any server, and adds latency, a narrow line and a recording.
//
// # Where it differs from memcached
//
//   - An item expires at its exact time, where memcached's clock ticks once a second
//     and may take a second off.
//   - flush_all removes all that is stored, where memcached may keep what was stored
//     within the same second.
//   - The seconds since the last access (the l flag of mg) count from every fetch,
//     where memcached does not note each of them.
//   - Memory is one pool with one list of use. There are no slab classes that run full
//     on their own; their numbers are computed for me and the statistics alone.
//   - Knobs of parts that are not there (slabs, lru, lru_crawler) are accepted and do
//     nothing, watch is refused, and the statistics of such parts are 0.
//   - A line that no server would read to its end is answered up to there and the
//     connection closed; memcached may lose the last reply then.
//   - Where memcached reads behind the end of a value or a name,
//     this server stops at the end.
package memcachetest
