// Package outage holds the tests that break servers for real: processes that are
// stopped, killed and moved, networks that lose packets, and whether a client
// that lives through it all ever tells a lie.
//
// Four settings are read from the environment:
//
//	OUTAGE_TIME=10m    for how long servers fail under each client; 20 s if unset
//	OUTAGE_SEED=1      what the random choices begin with; printed by each run
//	FENCE_TRIALS=200   how often a late store is tried; 10 if unset
//	REQUIRE_MEMCACHED  as for package realserver
package outage
