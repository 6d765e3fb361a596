package memcache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// A deadline bounds one call, whatever Client.Timeout says.
func ExampleClient_GetContext() {
	server := startServer()
	defer server.Close()
	server.Inject(memcachetest.Fault{Command: "mg", Do: memcachetest.Stall()}) // it will not answer

	mc := memcache.New(server.Addr())
	defer mc.Close()
	mc.Timeout = time.Minute

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := mc.GetContext(ctx, "greeting")
	fmt.Println(errors.Is(err, context.DeadlineExceeded))

	// Output: true
}

// At most three calls an hour: the first one makes the counter.
func ExampleClient_IncrementOrCreate() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	for range 4 {
		n, err := mc.IncrementOrCreate(context.Background(), "calls:alice", 1, 1, memcache.Expiration(time.Hour))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n, n <= 3)
	}

	// Output:
	// 1 true
	// 2 true
	// 3 true
	// 4 false
}

func ExampleExpiration() {
	fmt.Println(memcache.Expiration(90 * time.Minute))
	fmt.Println(memcache.Expiration(time.Millisecond)) // 0 would be for ever
	fmt.Println(memcache.Expiration(0))                // which this asks for
	fmt.Println(memcache.Expiration(-time.Second))     // at once

	year := memcache.Expiration(365 * 24 * time.Hour) // too long to be told in seconds from now
	fmt.Println(time.Until(time.Unix(int64(year), 0)).Round(time.Hour))

	// Output:
	// 5400
	// 1
	// 0
	// -1
	// 8760h0m0s
}

func ExampleClient_GetMetadata() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	if err := mc.Set(&memcache.Item{Key: "report", Value: make([]byte, 2000), Expiration: 3600}); err != nil {
		log.Fatal(err)
	}
	data, err := mc.GetMetadata(context.Background(), "report")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(data.Size, "bytes, read before:", data.Fetched)
	fmt.Println("to live:", data.TTL.Round(time.Minute))

	// Output:
	// 2000 bytes, read before: false
	// to live: 1h0m0s
}

// The keys of one program are out of the way of another's, and may be longer
// than the server takes.
func ExampleKeySettings() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()
	mc.Keys = memcache.KeySettings{Namespace: "shop:", HashLong: true}

	key := "page:" + strings.Repeat("/very/long/path", 20)
	if err := mc.Set(&memcache.Item{Key: key, Value: []byte("…")}); err != nil {
		log.Fatal(err)
	}
	item, err := mc.Get(key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(item.Key == key)

	other := memcache.New(server.Addr())
	defer other.Close()
	_, err = other.Get("page:")
	fmt.Println(err)

	// Output:
	// true
	// memcache: cache miss
}
