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
// # One connection, many callers
//
// A Client keeps one connection for each server. Callers append their requests
// to it, and flush and read for each other; no goroutine runs while none is
// needed, and a lone caller pays for two system calls and a copy of the value.
// GetMulti writes to every server before it reads from any, in the calling
// goroutine.
//
// # Ownership
//
// Stores copy what they need and never keep or change the Item. What Get and
// GetMulti return is fresh memory that belongs to the caller.
//
// # Failures
//
// ErrCacheMiss and the other outcomes are returned as they are and may be
// compared with ==. All errors of servers and connections name the server; those
// of connections are a net.Error. No text of an error holds a key or a value.
// A batch returns what it got beside a *MultiError.
//
// A call fails when its connection has made no progress for Client.Timeout, and
// then so do all calls on that connection. A reply that makes no sense, or that
// may belong to another call, closes the connection and is an error for all who
// wait on it: no caller ever gets another one's value. A connection that died
// while it lay idle is replaced without a word where the operation may safely
// be repeated. See OpError, ServerError, ProtocolError and MultiError.
//
// # Placement
//
// New and ServerList place keys as gomemcache does. NewContinuum takes any
// placement of package ring: ring.Default for new work, or that of a client in
// another language whose keys must be found where it puts them.
package memcache
