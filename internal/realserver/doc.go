// Package realserver runs real memcached processes for tests, the demo and the
// benchmarks: it finds the servers of this machine, starts one on an address of
// its own, waits until it answers, and ends it again by its process id.
//
// A test asks for a server and is skipped, with the reason, where there is none:
//
//	server := realserver.Start(t, realserver.Config{})
//	realserver.Each(t, func(t *testing.T, b realserver.Binary) { … })
//
// Programs use [Launch], which returns an error in place of a skip.
//
// Three settings are read from the environment:
//
//	MEMCACHED               a server program to prefer over all others
//	MEMCACHED_VERSIONS_DIR  the folder that tools/memcached-versions.sh filled;
//	                        unset = .cache/memcached in the root of the repository
//	REQUIRE_MEMCACHED=1     a test that finds no server fails instead of skipping
package realserver
