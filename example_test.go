package memcache_test

import (
	"errors"
	"fmt"
	"log"
	"slices"
	"strconv"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

// startServer stands for a memcached server somewhere.
func startServer() *memcachetest.Server {
	s, err := memcachetest.Start()
	if err != nil {
		log.Fatal(err)
	}
	return s
}

func Example() {
	server := startServer()
	defer server.Close()

	mc := memcache.New(server.Addr()) // or "10.0.0.1:11211", "10.0.0.2:11211", …
	defer mc.Close()

	err := mc.Set(&memcache.Item{Key: "greeting", Value: []byte("hello"), Expiration: 3600})
	if err != nil {
		log.Fatal(err)
	}

	item, err := mc.Get("greeting")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", item.Value)

	_, err = mc.Get("farewell")
	fmt.Println(err == memcache.ErrCacheMiss)

	// Output:
	// hello
	// true
}

// What the healthy servers have comes back beside the error.
func ExampleClient_GetMulti() {
	servers := []*memcachetest.Server{startServer(), startServer(), startServer(), startServer()}
	var addresses []string
	for _, s := range servers {
		defer s.Close()
		addresses = append(addresses, s.Addr())
	}
	mc := memcache.New(addresses...)
	defer mc.Close()

	var keys []string
	for i := range 10 {
		key := fmt.Sprint("user:", i)
		keys = append(keys, key)
		if err := mc.Set(&memcache.Item{Key: key, Value: []byte("…")}); err != nil {
			log.Fatal(err)
		}
	}

	servers[2].Close() // and is gone

	items, err := mc.GetMulti(keys)
	fmt.Println(len(items), "items")

	var failed *memcache.MultiError
	if errors.As(err, &failed) {
		for _, f := range failed.Failures {
			fmt.Printf("server %d failed %d keys: %v\n", slices.Index(addresses, f.Server), len(f.Keys), f.Keys)
		}
	}

	// Output:
	// 7 items
	// server 2 failed 3 keys: [user:1 user:3 user:8]
}

// Whoever loses the race reads again.
func ExampleClient_CompareAndSwap() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	double := func(key string) error {
		for {
			item, err := mc.Get(key)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(item.Value))
			if err != nil {
				return err
			}
			item.Value = []byte(strconv.Itoa(2 * n))
			if err = mc.CompareAndSwap(item); err != memcache.ErrCASConflict {
				return err
			}
		}
	}

	if err := mc.Set(&memcache.Item{Key: "n", Value: []byte("21")}); err != nil {
		log.Fatal(err)
	}
	if err := double("n"); err != nil {
		log.Fatal(err)
	}
	item, err := mc.Get("n")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", item.Value)

	// Output: 42
}

// The names place the keys, so that a server may move to another address and
// keep what it has.
func ExampleNewContinuum() {
	selector, err := memcache.NewContinuum(ring.Default,
		memcache.Server{Addr: "10.0.0.1:11211", Name: "small"},
		memcache.Server{Addr: "10.0.0.2:11211", Name: "medium", Weight: 2},
		memcache.Server{Addr: "10.0.0.3:11211", Name: "large", Weight: 5},
	)
	if err != nil {
		log.Fatal(err)
	}
	mc := memcache.NewFromSelector(selector)
	defer mc.Close()

	const keys = 100_000
	share := map[string]int{}
	for i := range keys {
		addr, err := selector.PickServer(fmt.Sprint("key:", i))
		if err != nil {
			log.Fatal(err)
		}
		share[addr.String()]++
	}
	fmt.Printf("small  %.0f in 8\n", 8*float64(share["10.0.0.1:11211"])/keys)
	fmt.Printf("medium %.0f in 8\n", 8*float64(share["10.0.0.2:11211"])/keys)
	fmt.Printf("large  %.0f in 8\n", 8*float64(share["10.0.0.3:11211"])/keys)

	// Output:
	// small  1 in 8
	// medium 2 in 8
	// large  5 in 8
}
