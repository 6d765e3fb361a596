package memcache_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/ring"
)

// Count what becomes of operations, by their names.
func ExampleHooks() {
	server := startServer()
	defer server.Close()
	mc := memcache.New(server.Addr())
	defer mc.Close()

	hits, misses, failures := 0, 0, 0 // of one goroutine: a metrics library would count them
	mc.Hooks = &memcache.Hooks{
		OpEnded: func(_ context.Context, op memcache.OpInfo, result memcache.OpResult) {
			switch {
			case op.Op != "get":
			case memcache.Ignore(result.Err, memcache.ErrCacheMiss) != nil:
				failures++
			default:
				hits += result.Hits
				misses += op.Keys - result.Hits
			}
		},
	}

	if err := mc.Set(&memcache.Item{Key: "greeting", Value: []byte("hello")}); err != nil {
		log.Fatal(err)
	}
	for _, key := range []string{"greeting", "farewell"} {
		if _, err := mc.Get(key); err != nil && err != memcache.ErrCacheMiss {
			log.Fatal(err)
		}
	}
	if _, err := mc.GetMulti([]string{"greeting", "farewell", "weather"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hits, "hits,", misses, "misses,", failures, "failures")

	// Output: 2 hits, 3 misses, 0 failures
}

// The healthy servers answer, also while another one is down.
func ExampleClient_Stats() {
	server, gone := startServer(), startServer()
	defer server.Close()
	mc := memcache.New(server.Addr(), gone.Addr())
	defer mc.Close()
	gone.Close()

	stats, err := mc.Stats(context.Background())
	fmt.Println(stats[server.Addr()]["version"])

	var failed *memcache.MultiError
	if errors.As(err, &failed) {
		fmt.Println(len(failed.Failures), "server failed:", failed.Failures[0].Server == gone.Addr())
	}

	// Output:
	// 1.6.45
	// 1 server failed: true
}

// The certificate of each server must be for the host in its address. Here it is
// for 127.0.0.1.
func ExampleClient_tls() {
	authority, err := makeAuthority()
	if err != nil {
		log.Fatal(err)
	}
	cert, err := authority.sign(time.Now().Add(time.Hour), "127.0.0.1")
	if err != nil {
		log.Fatal(err)
	}
	server, err := memcachetest.Start(memcachetest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	mc := memcache.New(server.Addr())
	defer mc.Close()
	mc.TLS = &tls.Config{RootCAs: authority.pool} // without one: those of the system

	if err := mc.Set(&memcache.Item{Key: "secret", Value: []byte("42")}); err != nil {
		log.Fatal(err)
	}
	item, err := mc.Get("secret")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", item.Value)

	// Output: 42
}

// A cache that programs in Ruby use too: each finds what the other has stored,
// because Go places keys as Dalli does. ring.PHPLibketama and others do the same
// for other clients.
func ExampleNewContinuum_fleet() {
	selector, err := memcache.NewContinuum(ring.Dalli,
		memcache.Server{Addr: "10.4.0.1:11211", Weight: 1},
		memcache.Server{Addr: "10.4.0.2:11211", Weight: 2},
		memcache.Server{Addr: "10.4.0.3:11211", Weight: 3},
	)
	if err != nil {
		log.Fatal(err)
	}
	mc := memcache.NewFromSelector(selector)
	defer mc.Close()

	// Dalli::Client.new(["10.4.0.1:11211:1", "10.4.0.2:11211:2", "10.4.0.3:11211:3"])
	// puts them on the same servers.
	for _, key := range []string{"user:3771358:profile", "user:5734668:profile", "user:6801526:profile"} {
		addr, err := selector.PickServer(key)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(key, addr)
	}

	// Output:
	// user:3771358:profile 10.4.0.1:11211
	// user:5734668:profile 10.4.0.2:11211
	// user:6801526:profile 10.4.0.3:11211
}

// Passwords that change while the program runs come from a callback.
func ExampleAuth() {
	server, err := memcachetest.Start(memcachetest.Config{Users: map[string]string{"app": "second"}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	wrong := memcache.New(server.Addr())
	defer wrong.Close()
	wrong.Auth = memcache.Auth{Username: "app", Password: "first"}
	_, err = wrong.Get("greeting")
	fmt.Println(errors.Is(err, memcache.ErrAuth))

	mc := memcache.New(server.Addr())
	defer mc.Close()
	mc.Auth.Credentials = func(ctx context.Context, server string) (string, string, error) {
		return "app", "second", nil // from a file, or from a service that is asked with ctx
	}
	_, err = mc.Get("greeting")
	fmt.Println(err)

	// Output:
	// true
	// memcache: cache miss
}
