// Package outage holds the tests that break servers for real: processes that are
// stopped, killed and moved, networks that lose packets, and whether a client
// that lives through it all ever tells a lie.
//
// Two settings are read from the environment:
//
//	FENCE_TRIALS=200   how often a late store is tried; 10 if unset
//	REQUIRE_MEMCACHED  as for package realserver
package outage
