// Package ring maps keys to servers, as this client or as another one does.
//
// A [Placement] says how keys map: [Default] for a cache that only programs
// using this package share, or the placement of another client whose keys must
// be found where that client put them. [New] combines a placement with a list
// of servers into an immutable [Ring]; [Ring.Pick] then hashes a key once and
// returns the index of its server without allocating and without a lock, so
// any number of goroutines may share a Ring, and a new list of servers is one
// pointer swap. [Moved] tells what such a swap would move, [Ring.Next] which
// servers take over while one is down, [Ring.Explain] how a key came to its
// server, and [Ring.Unplaced] which servers the weights leave without keys.
//
// # If the others use X, use Y
//
// Each was checked against the client itself, every key of every recorded case.
//
//	client and options                                    placement
//
//	gomemcache (bradfitz, grafana)                        Gomemcache
//	pior/memcache                                         Pior
//	grafana dskit MemcachedJumpHashSelector               Dskit
//	aliexpressru/gomemcached                              AliExpress
//
//	libmemcached, defaults                                LibmemcachedModula(HashOneAtATime)
//	  SORT_HOSTS                                          LibmemcachedSortedModula(HashOneAtATime)
//	  KETAMA, CONSISTENT, CONSISTENT_KETAMA               LibmemcachedKetama(HashOneAtATime)
//	  KETAMA_WEIGHTED                                     LibmemcachedKetamaWeighted(HashMD5)
//	  CONSISTENT_WEIGHTED alone                           LibmemcachedKetamaWeighted(HashOneAtATime)
//	  CONSISTENT_KETAMA_SPY                               LibmemcachedKetamaSpy(HashOneAtATime)
//	  KETAMA_WEIGHTED, then CONSISTENT_KETAMA_SPY         LibmemcachedKetamaSpyWeighted(HashMD5)
//	  HASH_…                                              the same, with that hash
//	pylibmc, defaults                                     PylibmcModula(HashOneAtATime)
//	  ketama; distribution: consistent                    PylibmcKetama(HashOneAtATime)
//	  ketama_weighted                                     PylibmcKetamaWeighted(HashMD5)
//	PHP memcached, defaults                               PHPModula(HashOneAtATime)
//	  DISTRIBUTION_CONSISTENT                             PHPConsistent(HashOneAtATime)
//	  OPT_LIBKETAMA_COMPATIBLE                            PHPLibketama(HashMD5)
//
//	Dalli (Ruby)                                          Dalli
//	pymemcache HashClient, str keys                       PymemcacheStr
//	  bytes keys                                          PymemcacheBytes
//
//	twemproxy, defaults (ketama, fnv1a_64)                TwemproxyKetama(HashFNV64a)
//	  distribution: modula                                TwemproxyModula(HashFNV64a)
//	  hash: md5, crc32, crc32a, …                         the same with HashMD5, HashCRC, HashCRC32a, …
//	  hash_tag: "{}"                                      the same, .HashTag("{}")
//
//	spymemcached, DefaultConnectionFactory                SpymemcachedArrayMod(HashNative)
//	  KetamaConnectionFactory                             SpymemcachedKetama(HashMD5)
//	  … with a map of weights                             SpymemcachedKetamaWeighted(HashMD5)
//	  … with Format.LIBMEMCACHED                          SpymemcachedLibmemcached(HashMD5)
//	  … with both                                         SpymemcachedLibmemcachedWeighted(HashMD5)
//
//	mcrouter, defaults                                    McrouterCh3
//	  hash_func: WeightedCh3, Crc32,                      McrouterWeightedCh3, McrouterCRC32,
//	    Rendezvous, WeightedRendezvous                      McrouterRendezvous, McrouterWeightedRendezvous
//	  salt                                                the same, .Salt("…")
//
//	memcached proxy, defaults                             ProxyJump(HashXXH3)
//	  dist = mcp.dist_ring_hash                           ProxyRing(HashXXH3)
//	  … omode = ketama, twemproxy, evcache                ProxyRingKetama, ProxyRingTwemproxy, ProxyRingEVCache
//	  hash = mcp.dist_ring_hash.hash                      the same with HashMD5
//	  seed, obuckets                                      the same, .Seed("…"), .Buckets(n)
//	  filter = stop, filter = tags                        the same, .FilterStop("…"), .FilterTags("{}")
//
// Some of these agree with each other. For TCP servers of any weights,
// LibmemcachedKetamaWeighted, PylibmcKetamaWeighted, PHPLibketama,
// TwemproxyKetama and SpymemcachedLibmemcachedWeighted are one placement when
// their hash is HashMD5. Unix sockets differ in nearly every client.
//
// # Servers
//
// A placement of another client works on the text that this client has for a
// server, made of [Server].Addr by its rules and never resolved: an address and
// a host name that lead to one server are two servers. Where the client lets
// its users name servers, or hashes a resolved address, [Server].Name is that
// text. Weights mean what they mean to the client; see each placement.
package ring
