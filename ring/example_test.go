package ring_test

import (
	"fmt"

	"github.com/vaquero-cache/memcache/ring"
)

func ExampleNew() {
	servers := []ring.Server{
		{Addr: "10.0.0.1:11211", Name: "cache-a", Weight: 1},
		{Addr: "10.0.0.2:11211", Name: "cache-b", Weight: 1},
		{Addr: "10.0.0.3:11211", Name: "cache-c", Weight: 2},
	}
	r, err := ring.New(ring.Default, servers...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(servers[r.Pick("user:1")].Addr)
	// Output: 10.0.0.3:11211
}

// Keys that a pool of twemproxy with "hash: md5" and "hash_tag: {}" spreads.
func ExampleTwemproxyKetama() {
	r, err := ring.New(ring.TwemproxyKetama(ring.HashMD5).HashTag("{}"),
		ring.Server{Addr: "10.0.0.1:11211", Weight: 1},
		ring.Server{Addr: "10.0.0.2:11211", Weight: 1},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Pick("{user:1}:name") == r.Pick("{user:1}:mail"))
	fmt.Println(r.Explain("{user:1}:name"))
	// Output:
	// true
	// TwemproxyKetama(md5).HashTag("{}"): "{user:1}:name" (as "user:1") hashes to 0x10ddb1bd, point 0x111e9db0, server 1 (10.0.0.2:11211)
}

func ExampleRing_Next() {
	r, err := ring.New(ring.Default,
		ring.Server{Addr: "a:11211", Weight: 1},
		ring.Server{Addr: "b:11211", Weight: 1},
		ring.Server{Addr: "c:11211", Weight: 1},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	down := map[int]bool{1: true}
	for server := range r.Next("user:1") {
		if !down[server] {
			fmt.Println("ask", r.Servers()[server].Addr)
			break
		}
	}
	// Output: ask a:11211
}

// What would a third server of double weight take over?
func ExampleMoved() {
	servers := []ring.Server{
		{Addr: "a:11211", Weight: 1},
		{Addr: "b:11211", Weight: 1},
		{Addr: "c:11211", Weight: 2},
	}
	before, err := ring.New(ring.Default, servers[:2]...)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := ring.New(ring.Default, servers...)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := ring.Moved(before, after)
	fmt.Printf("%.0f %% of all keys move\n", 100*m.Moved)
	for _, s := range m.Servers {
		fmt.Printf("%s loses %.0f %%, gains %.0f %%\n", s.ID, 100*s.Lost, 100*s.Gained)
	}
	// Output:
	// 50 % of all keys move
	// a:11211 loses 25 %, gains 0 %
	// b:11211 loses 25 %, gains 0 %
	// c:11211 loses 0 %, gains 50 %
}
