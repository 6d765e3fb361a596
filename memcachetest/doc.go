// Package memcachetest is memcached for Go tests: a server that runs inside
// the test's own process, starts in microseconds, and answers byte for byte as
// memcached 1.6.45 does.
//
//	srv := memcachetest.NewServer(t)
//	client := memcache.New(srv.Addr())
//
// The server shares no code with the client packages of this module and imports
// nothing but the standard library, so it is a second opinion on what the
// client sends and not an echo of it.
package memcachetest
