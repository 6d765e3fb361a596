//go:build vbenchcounts

// Counted makes requests and tells what the runtime counted meanwhile, for one
// operation of each kind. It is built by package counts alone.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

const (
	warm  = 200
	times = 2000
	batch = 100
)

func main() {
	if err := counted(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "counted:", err)
		os.Exit(1)
	}
}

func counted(addrs []string) error {
	debug.SetGCPercent(-1) // the collector's own goroutines would be counted
	var servers []memcache.Server
	for _, addr := range addrs {
		servers = append(servers, memcache.Server{Addr: addr, Weight: 1})
	}
	continuum, err := memcache.NewContinuum(ring.Default, servers...)
	if err != nil {
		return err
	}
	modulo, placed := memcache.New(addrs...), memcache.NewFromSelector(continuum)
	defer modulo.Close()
	defer placed.Close()
	keys := make([]string, batch)
	for i := range keys {
		keys[i] = fmt.Sprintf("counted:%d", i)
		for _, c := range []*memcache.Client{modulo, placed} {
			if err := c.Set(&memcache.Item{Key: keys[i], Value: make([]byte, 100)}); err != nil {
				return err
			}
		}
	}
	get := func(c *memcache.Client, i int) error {
		item, err := c.Get(keys[i%batch])
		if err == nil && len(item.Value) != 100 {
			err = fmt.Errorf("a value of %d bytes", len(item.Value))
		}
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := map[string][]float64{}
	for _, work := range []struct {
		what    string
		callers int
		do      func(i int) error
	}{
		{"GET, 1 caller", 1, func(i int) error { return get(modulo, i) }},
		{"GET by ring.Default, 1 caller", 1, func(i int) error { return get(placed, i) }},
		{"GET with a context, 1 caller", 1, func(i int) error { _, err := placed.GetContext(ctx, keys[i%batch]); return err }},
		{"SET, 1 caller", 1, func(i int) error {
			return placed.Set(&memcache.Item{Key: keys[i%batch], Value: make([]byte, 100)})
		}},
		{"GetMulti of 100 keys, 1 caller", 1, func(int) error {
			items, err := placed.GetMulti(keys)
			if err == nil && len(items) != batch {
				err = fmt.Errorf("%d items", len(items))
			}
			return err
		}},
		{"GET by ring.Default, 64 callers", 64, func(i int) error { return get(placed, i) }},
	} {
		if _, err := run(work.callers, warm, work.do); err != nil {
			return fmt.Errorf("%s: %w", work.what, err)
		}
		if result[work.what], err = run(work.callers, times, work.do); err != nil {
			return fmt.Errorf("%s: %w", work.what, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// run does something n times by each caller and returns the counts for one time.
func run(callers, n int, do func(i int) error) ([]float64, error) {
	before := read()
	var failed atomic.Pointer[error]
	work := func(first int) {
		for i := range n {
			if err := do(first + i); err != nil {
				failed.Store(&err)
				return
			}
		}
	}
	if callers == 1 { // on this goroutine, so that nothing is started
		work(0)
	} else {
		var all sync.WaitGroup
		for c := range callers {
			all.Go(func() { work(c) })
		}
		all.Wait()
	}
	after := read()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	counts := make([]float64, len(after))
	for i := range counts {
		counts[i] = float64(after[i]-before[i]) / float64(n*callers)
	}
	return counts, nil
}

func read() (counts [64]uint64) {
	for i := range counts {
		counts[i] = atomic.LoadUint64(&runtime.VbenchCounts[i])
	}
	return counts
}
