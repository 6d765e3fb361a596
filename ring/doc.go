// Package ring maps keys to servers.
//
// A [Placement] says how keys map: [Default] for a cache that only programs
// using this package share, or the placement of another client whose keys must
// be found where that client put them. [New] combines a placement with a list
// of servers into an immutable [Ring]; [Ring.Pick] then hashes a key once and
// returns the index of its server without allocating and without a lock, so
// that any number of goroutines may share one Ring and a new list of servers
// is one pointer swap.
package ring
