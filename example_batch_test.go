package memcache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/vaquero-cache/memcache"
)

// Each item is stored or not for itself.
func ExampleClient_AddMulti() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	items := []*memcache.Item{
		{Key: "a", Value: []byte("1")},
		{Key: "b", Value: []byte("2")},
		{Key: "c", Value: []byte("3")},
	}
	if err := mc.SetMulti(items[:2]); err != nil {
		log.Fatal(err)
	}

	err := mc.AddMulti(items)
	var failed *memcache.MultiError
	if !errors.As(err, &failed) {
		log.Fatal(err)
	}
	errs := failed.ByKey()
	for _, item := range items {
		fmt.Println(item.Key, errs[item.Key])
	}

	// Output:
	// a memcache: item not stored
	// b memcache: item not stored
	// c <nil>
}

// A key that is not there need not be deleted.
func ExampleIgnore() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	err := mc.DeleteMulti([]string{"never", "stored"})
	fmt.Println(errors.Is(err, memcache.ErrCacheMiss))
	fmt.Println(memcache.Ignore(err, memcache.ErrCacheMiss))

	// Output:
	// true
	// <nil>
}

func ExampleClient_IncrementMulti() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	for _, key := range []string{"apples", "pears"} {
		if err := mc.Set(&memcache.Item{Key: key, Value: []byte("10")}); err != nil {
			log.Fatal(err)
		}
	}
	numbers, err := mc.IncrementMulti([]string{"apples", "pears", "plums"}, 5)
	fmt.Println(numbers["apples"], numbers["pears"])
	fmt.Println(errors.Is(err, memcache.ErrCacheMiss))

	// Output:
	// 15 15
	// true
}

// The loop may take its time, use the client, and end when it likes.
func ExampleClient_GetMultiSeq() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	keys := []string{"a", "b", "c", "d"}
	for _, key := range keys[:3] {
		if err := mc.Set(&memcache.Item{Key: key, Value: []byte("value of " + key)}); err != nil {
			log.Fatal(err)
		}
	}

	var lines []string
	for item, err := range mc.GetMultiSeq(context.Background(), keys) {
		if err != nil { // one for each server that failed, after all items
			log.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s: %s", item.Key, item.Value))
	}
	slices.Sort(lines) // they come in no particular order
	for _, line := range lines {
		fmt.Println(line)
	}

	// Output:
	// a: value of a
	// b: value of b
	// c: value of c
}

func ExampleClient_GetMultiFunc() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		if err := mc.Set(&memcache.Item{Key: key, Value: make([]byte, 100)}); err != nil {
			log.Fatal(err)
		}
	}
	bytes := 0
	err := mc.GetMultiFunc(context.Background(), keys, func(hit memcache.Hit) bool {
		bytes += len(hit.Value) // which is the client's again when this returns
		return true
	})
	fmt.Println(bytes, err)

	// Output: 300 <nil>
}

// Different operations travel together, and each has its own result.
func ExampleClient_Pipeline() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()
	if err := mc.Set(&memcache.Item{Key: "greeting", Value: []byte("hello")}); err != nil {
		log.Fatal(err)
	}

	p := mc.Pipeline()
	greeting := p.Get("greeting")
	visits := p.IncrementOrCreate("visits", 1, 1, 0)
	lock := p.Add(&memcache.Item{Key: "lock", Expiration: 10})
	absent := p.Delete("absent")
	if err := p.Do(context.Background()); err != nil {
		log.Fatal(err) // some have no answer
	}

	item, err := greeting.Item()
	if err != nil {
		log.Fatal(err)
	}
	n, err := visits.Number()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, visitor %d\n", item.Value, n)
	fmt.Println(lock.Err())
	fmt.Println(absent.Err())

	// Output:
	// hello, visitor 1
	// <nil>
	// memcache: cache miss
}
