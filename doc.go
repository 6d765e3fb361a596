// Package memcache is a client for memcached servers.
package memcache
