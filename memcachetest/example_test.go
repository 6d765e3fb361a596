package memcachetest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// In a test, NewServer takes the place of Start, the error check and Close.
func Example() {
	srv, err := memcachetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	client := memcache.New(srv.Addr())
	defer client.Close()

	if err := client.Set(&memcache.Item{Key: "greeting", Value: []byte("hello")}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(srv.Dump())
	// Output: "greeting" = "hello" flags=0 cas=1
}

func ExampleServer_FastForward() {
	srv, err := memcachetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	client := memcache.New(srv.Addr())
	defer client.Close()

	if err := client.Set(&memcache.Item{Key: "session", Value: []byte("x"), Expiration: 3600}); err != nil {
		fmt.Println(err)
		return
	}
	srv.FastForward(59 * time.Minute)
	_, err = client.Get("session")
	fmt.Println("after 59 minutes:", err)
	srv.FastForward(time.Minute)
	_, err = client.Get("session")
	fmt.Println("after an hour:", err)
	// Output:
	// after 59 minutes: <nil>
	// after an hour: memcache: cache miss
}

// What happens to code that uses a cache when the cache goes away, and when it is
// back?
func ExampleServer_Stop() {
	srv, err := memcachetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	client := memcache.New(srv.Addr())
	defer client.Close()

	srv.Stop()
	_, err = client.Get("k")
	fmt.Println("failed:", err != nil && !errors.Is(err, memcache.ErrCacheMiss))

	if err := srv.Restart(); err != nil {
		fmt.Println(err)
		return
	}
	// The client may wait a little before it dials again.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err = client.Get("k"); errors.Is(err, memcache.ErrCacheMiss) {
			break
		}
	}
	fmt.Println("back:", err)
	// Output:
	// failed: true
	// back: memcache: cache miss
}

// Does the code ask the cache as it should?
func ExampleServer_Count() {
	srv, err := memcachetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	client := memcache.New(srv.Addr())
	client.Protocol = memcache.Classic
	defer client.Close()

	if _, err := client.GetMulti([]string{"a", "b", "c"}); err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range srv.Requests() {
		fmt.Println(r.Command, r.Keys())
	}
	fmt.Println("reads:", srv.Count("get", "gets"), "connections:", srv.Accepted())
	// Output:
	// gets [a b c]
	// reads: 1 connections: 1
}

func ExampleServer_Inject() {
	srv, err := memcachetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Set(memcachetest.Item{Key: "k", Value: []byte("value")})
	client := memcache.New(srv.Addr())
	client.Protocol = memcache.Meta
	defer client.Close()

	// The second value that anybody reads arrives by half.
	srv.Inject(memcachetest.Fault{Command: "mg", After: 1, Times: 1, Do: memcachetest.CutValue()})
	for range 3 {
		item, err := client.Get("k")
		if err != nil {
			fmt.Println("error")
			continue
		}
		fmt.Println(string(item.Value))
	}
	// Output:
	// value
	// error
	// value
}

func ExampleProxy() {
	srv, err := memcachetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	proxy, err := memcachetest.StartProxy(srv.Addr(), memcachetest.ProxyConfig{Latency: 10 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer proxy.Close()
	client := memcache.New(proxy.Addr())
	defer client.Close()

	if err := client.Set(&memcache.Item{Key: "far", Value: []byte("away")}); err != nil {
		fmt.Println(err)
		return
	}
	start := time.Now()
	_, err = client.Get("far")
	fmt.Println(err, time.Since(start) >= 20*time.Millisecond)
	// Output: <nil> true
}

// TestExpiryInVirtualTime is the example of the package documentation.
func TestExpiryInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
		client := memcache.New(srv.Addr())
		client.DialContext = srv.Dial
		defer client.Close()

		require.NoError(t, client.Set(&memcache.Item{Key: "session", Value: []byte("x"), Expiration: 3600}))
		time.Sleep(time.Hour - time.Second)
		_, err := client.Get("session")
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = client.Get("session")
		require.ErrorIs(t, err, memcache.ErrCacheMiss)
	})
}
