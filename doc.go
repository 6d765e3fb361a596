// Package memcache is a client for memcached servers, a drop-in replacement for
// github.com/bradfitz/gomemcache/memcache: change the import path and nothing
// else. Every key stays on the server it was on and every error compares as
// before.
//
//	mc := memcache.New("10.0.0.1:11211", "10.0.0.2:11211")
//	err := mc.Set(&memcache.Item{Key: "greeting", Value: []byte("hello")})
//	it, err := mc.Get("greeting")
//	items, err := mc.GetMulti([]string{"greeting", "farewell"})
//
// A Client is for a whole program: it is safe for concurrent use, keeps one
// connection for each server, and starts nothing before the first call.
//
// # Contexts
//
// Each operation has a form that takes a context: GetContext, SetMultiContext
// and so on. When the context ends the call returns at once with an *OpError, and
// others on the same connection notice nothing. Without one, and beside any,
// Client.Timeout bounds the time in which a connection makes no progress.
//
// # Many keys
//
// GetMulti asks all servers before it reads from any. So do SetMulti, AddMulti,
// ReplaceMulti, DeleteMulti, TouchMulti, IncrementMulti and DecrementMulti; each
// key succeeds or fails for itself, and what failed is in a *MultiError beside
// the results of the rest:
//
//	err := mc.DeleteMulti(keys)
//	err = memcache.Ignore(err, memcache.ErrCacheMiss) // what is not there need not go
//	var failed *memcache.MultiError
//	if errors.As(err, &failed) {
//		for key, err := range failed.ByKey() { … }
//	}
//
// GetMultiSeq and GetMultiFunc give one item after the other and hold no more
// than a window of them, GetMultiFunc without an allocation for each. A Pipeline
// sends different operations in one flight. Any of them may be as large as you
// like: more than 65,536 keys or operations are performed in rounds of so many,
// so that beside what it is given and returns a batch takes little memory.
//
// # Items, counters and what is known of them
//
// Item.Expiration is the number that the server gets; Expiration makes it from a
// time.Duration. Stores copy what they need and never keep or change the Item.
// What a read returns is memory of the caller's own, except for the Hit of
// GetMultiFunc.
//
// IncrementOrCreate and AppendOrCreate make what is not there. GetMetadata and
// GetWithMetadata tell of an item how long it has to live, when it was read and
// whether it is stale. These need the meta protocol, counters meta or binary;
// where it is not spoken they fail with ErrNotSupported. See Protocol.
//
// A read by the meta protocol may take the right to recompute a stale item, as
// any meta read does; an item that another client has only announced is a miss.
//
// # Keys
//
// A key has 1 to 250 bytes without spaces and control bytes; others are refused
// with ErrMalformedKey. Client.Keys puts all keys in a namespace, takes those of
// any bytes, or sends a digest for those that are too long. Callers see the keys
// that they gave.
//
// # Failures
//
// ErrCacheMiss and the other outcomes are returned as they are and may be
// compared with ==. All errors of servers and connections name the server; those
// of connections are a net.Error. No text of an error holds a key or a value.
//
// A call fails when its connection has made no progress for Client.Timeout, and
// then so do all calls on that connection. A reply that makes no sense, or that
// may belong to another call, closes the connection and is an error for all who
// wait on it: no caller ever gets another one's value. A connection that died
// while it lay idle is replaced without a word where the operation may safely
// be repeated. See OpError, ServerError, ProtocolError and MultiError.
//
// A server that refuses connections, or times out three times in a row, is down:
// its calls fail at once with ErrServerDown until a probe finds it back. See
// FailoverSettings, Client.Health and Client.SetServerState.
//
// # Placement
//
// New and ServerList place keys as gomemcache does. NewContinuum takes any
// placement of package ring: ring.Default for new work, or that of a client in
// another language whose keys must be found where it puts them.
//
// # Privacy
//
// Client.TLS makes connections private. The certificate of each server must be
// for the host in its address, as it was given. Client.Auth shows servers a name
// and a password; those that refuse them fail their keys with ErrAuth. The page
// THREATS.md of the repository says what protects what.
//
// # Looking on
//
// Client.Hooks are told of operations and connections. Stats, Versions and
// FlushServers speak to the servers themselves.
package memcache
