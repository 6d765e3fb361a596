// Command demo runs the client's main job: 10,000 keys on weighted servers, read
// back in batches of 100 while one server is stopped, with every value checked.
//
//	make demo                                        servers inside the process
//	MEMCACHED=/usr/bin/memcached make demo           real servers, started here
//	MEMCACHE_SERVERS=host:port,host:port make demo   servers of yours
//
// Its last line is "demo: N hits, M misses, 0 wrong values". A value that is
// wrong, a key that a live server does not have, or an error that is slow or does
// not name the stopped server makes the exit code 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/ring"
)

const (
	keyCount  = 10_000
	batchSize = 100
	writers   = 16
	// lifetime of the stored items in seconds: servers of yours are left clean.
	lifetime = 300
	// quickly is the longest that a batch over a stopped server may take.
	quickly = time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv("MEMCACHED") != "", os.Getenv("MEMCACHE_SERVERS")); err != nil {
		fmt.Fprintln(os.Stderr, "demo failed:", err)
		os.Exit(1)
	}
}

// run plays the whole demo on the servers that openFleet makes of its settings.
func run(ctx context.Context, w io.Writer, realServers bool, addresses string) error {
	fleet, err := openFleet(ctx, realServers, addresses)
	if err != nil {
		return err
	}
	defer fleet.close()
	fmt.Fprintln(w, fleet.about)

	continuum, err := memcache.NewContinuum(ring.Default, fleet.servers...)
	if err != nil {
		return err
	}
	client := memcache.NewFromSelector(continuum)
	defer client.Close()

	d := &demo{fleet: fleet, client: client}
	if err := d.place(); err != nil {
		return err
	}
	if err := d.store(ctx); err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	all := d.read(ctx, d.keys)
	half := keyCount / 2
	before := d.read(ctx, d.keys[:half])
	fleet.stop()
	d.stopped = true
	after := d.read(ctx, d.keys[half:])

	d.printShares(w)
	d.printReads(w, all, before, after)
	total := all.counts.plus(before.counts).plus(after.counts)
	fmt.Fprintf(w, "demo: %d hits, %d misses, %d wrong values\n", total.hits, total.misses, total.wrong)
	return errors.Join(ctx.Err(), all.verdict(), before.verdict(), after.verdict())
}

// demo is one run: its keys, and where each belongs.
type demo struct {
	fleet   *fleet
	client  *memcache.Client
	keys    []string
	home    map[string]int // key → index of its server
	stopped bool           // the fleet's victim is down
}

// place makes the keys and notes the server of each, by a ring of its own: what
// the client does is then checked against it.
func (d *demo) place() error {
	servers := make([]ring.Server, len(d.fleet.servers))
	for i, s := range d.fleet.servers {
		servers[i] = ring.Server{Addr: s.Addr, Name: s.Name, Weight: float64(s.Weight)}
	}
	places, err := ring.New(ring.Default, servers...)
	if err != nil {
		return err
	}
	prefix := fmt.Sprintf("demo:%x:", time.Now().UnixNano()) // two runs on the same servers never meet
	d.home = make(map[string]int, keyCount)
	for i := range keyCount {
		key := fmt.Sprintf("%s%05d", prefix, i)
		d.keys = append(d.keys, key)
		d.home[key] = places.Pick(key)
	}
	return nil
}

// store sets every key, from several goroutines that share the client.
func (d *demo) store(ctx context.Context) error {
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		failed = make(chan error, writers)
	)
	for range writers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < keyCount; i = next.Add(1) - 1 {
				key := d.keys[i]
				err := ctx.Err()
				if err == nil {
					err = d.client.Set(&memcache.Item{Key: key, Value: valueFor(key), Expiration: lifetime})
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed // nil when nobody failed
}

// counts says what became of the keys asked for.
type counts struct {
	hits, misses, wrong int
	refused             int // keys of the stopped server, told as such by the error
}

func (c counts) plus(o counts) counts {
	return counts{c.hits + o.hits, c.misses + o.misses, c.wrong + o.wrong, c.refused + o.refused}
}

// reading is what one pass of batches brought.
type reading struct {
	counts
	elapsed []time.Duration // of each batch
	failed  []time.Duration // of those with an error
	err     error           // the first one
	vague   error           // the first that came without a value and did not name the stopped server
}

// read gets keys in batches and checks each value.
func (d *demo) read(ctx context.Context, keys []string) reading {
	var r reading
	for batch := range slices.Chunk(keys, batchSize) {
		if ctx.Err() != nil {
			break
		}
		start := time.Now()
		items, err := d.client.GetMulti(batch)
		elapsed := time.Since(start)
		r.elapsed = append(r.elapsed, elapsed)
		if err != nil {
			r.failed = append(r.failed, elapsed)
			if r.err == nil {
				r.err = err
			}
		}
		for _, key := range batch {
			item, ok := items[key]
			switch {
			case ok && holds(key, item.Value):
				r.hits++
			case ok:
				r.wrong++
			case d.stopped && d.home[key] == victim && names(err, d.fleet.servers[victim]):
				r.refused++
			default:
				r.misses++
				if r.vague == nil {
					r.vague = err
				}
			}
		}
	}
	return r
}

// names reports whether err tells its reader which server failed.
func names(err error, server memcache.Server) bool {
	return err != nil && strings.Contains(err.Error(), server.Addr)
}

// verdict is nil when every key was answered as it should be.
func (r reading) verdict() error {
	var errs []error
	if r.wrong > 0 {
		errs = append(errs, fmt.Errorf("%d wrong values", r.wrong))
	}
	if r.misses > 0 {
		errs = append(errs, fmt.Errorf("%d keys missing that a live server should have", r.misses))
	}
	if r.vague != nil {
		errs = append(errs, fmt.Errorf("an error that does not explain them: %w", r.vague))
	}
	if len(r.failed) > 0 && slices.Max(r.failed) > quickly {
		errs = append(errs, fmt.Errorf("a failing batch took %v", slices.Max(r.failed)))
	}
	return errors.Join(errs...)
}
