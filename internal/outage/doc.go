// Package outage holds the tests that break servers for real: processes that are
// stopped, killed and moved, networks that lose packets, and whether a client
// that lives through it all ever tells a lie.
package outage
