package memcache_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// A server that refuses connections is down after the first failure. What it
// misses from then on is made up for before it serves again.
func ExampleClient_Health() {
	server, err := memcachetest.Start()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()
	mc.Failover.ProbeDelay = time.Hour

	server.Stop()
	_, err = mc.Get("greeting")
	fmt.Println(errors.Is(err, memcache.ErrServerDown))
	_, err = mc.Get("greeting")
	fmt.Println(errors.Is(err, memcache.ErrServerDown))
	err = mc.Delete("greeting")
	fmt.Println(errors.Is(err, memcache.ErrInvalidationPending))
	for _, h := range mc.Health() {
		fmt.Println(h.State, h.Owed)
	}
	// Output:
	// false
	// true
	// true
	// down 1
}
