// Package contender adapts clients and floors to package run: one file for each
// client, the floors beside them. All of them are given the same keys, the same
// placement and the same timeout.
package contender

// Which contenders there are, and how one is opened.

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/bench/internal/peer"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// Target is what a contender is opened for.
type Target struct {
	Addrs   []string
	Callers int // goroutines that will use it at once; pools are made as large
	Route   Route

	// Selector is for this project's client alone, in place of Addrs and Route.
	Selector memcache.ServerSelector

	// Failover is likewise what it does about servers that are down.
	Failover memcache.FailoverSettings

	// Timeout is what clients are given as theirs; 0 means far more than a loaded machine
	// should need, so that a slow operation is measured and not failed.
	Timeout time.Duration

	// TLS is for this project's client, which then needs no Dial that does the same.
	TLS *tls.Config

	// Dial connects to an address. nil means by TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Route is how keys find their server.
type Route int

// The routes.
const (
	// Modulo is the hash of the key modulo the number of servers, for all alike.
	Modulo Route = iota
	// Ring is this project's default continuum; others have Modulo.
	Ring
	// Tagged is Ring, or for others Modulo, by what stands between braces alone.
	Tagged
)

// Opened is a contender ready for work. A nil func is work that it cannot do.
type Opened struct {
	Getter func(i int) (run.Caller, error)   // caller i gets one key at a time
	Setter func(i int) (run.Caller, error)   // caller i stores one key at a time
	Mixer  func(i int) (run.Caller, error)   // caller i does both, nine GETs to a SET, by Zipf's law
	Louder func(i int) (run.Caller, error)   // caller 0 gets a large value, the others one key at a time
	Multi  func(Batches) (run.Caller, error) // a caller that gets many keys at a time
	Storer func(Batches) (run.Caller, error) // a caller that stores many at a time, at Set.Puts
	Close  func()

	// Store stores one key for whoever asks; nil for a floor.
	Store func(key string, value []byte) error
	Fetch func(key string) ([]byte, error)
}

// Batches is the work of one caller of Multi.
type Batches struct {
	Set     *workload.Set
	Batches []*workload.Batch
	Next    int // the first to ask for
}

func (b *Batches) take() *workload.Batch {
	batch := b.Batches[b.Next%len(b.Batches)]
	b.Next++
	return batch
}

// Kind is a contender that can be opened.
type Kind struct {
	Name string

	// Open is nil for a program in another language: see package peer.
	Open func(Target, *workload.Set) (*Opened, error)
}

// Names of the contenders.
const (
	Vaquero           = "vaquero"
	VaqueroMeta       = "vaquero-meta"
	VaqueroClassic    = "vaquero-classic"
	VaqueroBinary     = "vaquero-binary"
	VaqueroTwo        = "vaquero-2-conns"
	VaqueroFunc       = "vaquero-func"
	VaqueroStream     = "vaquero-stream"
	VaqueroMetaFunc   = "vaquero-meta-func"
	VaqueroMetaStream = "vaquero-meta-stream"
	Gomemcache        = "gomemcache"
	Grafana           = "grafana"
	Rainycape         = "rainycape"
	QuangTung         = "quangtung"
	FloorEcho         = "floor-echo"
	FloorMeta         = "floor-meta"
	FloorClassic      = "floor-classic"
)

// Kinds are all there are.
var Kinds = []Kind{
	{FloorEcho, openEcho},
	{FloorMeta, floorMeta.open},
	{FloorClassic, floorClassic.open},
	{Vaquero, opener(openVaquero)},
	{VaqueroMeta, opener(openVaqueroMeta)},
	{VaqueroClassic, opener(openVaqueroClassic)},
	{VaqueroBinary, opener(openVaqueroBinary)},
	{VaqueroTwo, opener(openVaqueroTwo)},
	{VaqueroFunc, opener(openVaqueroFunc)},
	{VaqueroStream, opener(openVaqueroStream)},
	{VaqueroMetaFunc, opener(openVaqueroMetaFunc)},
	{VaqueroMetaStream, opener(openVaqueroMetaStream)},
	{Gomemcache, opener(openGomemcache)},
	{Grafana, opener(openGrafana)},
	{Rainycape, opener(openRainycape)},
	{QuangTung, opener(openQuangTung)},
	{peer.Dalli, nil},
	{peer.Pylibmc, nil},
	{peer.Libmemcached, nil},
}

// Names returns the name of each kind.
func Names() []string {
	names := make([]string, len(Kinds))
	for i, k := range Kinds {
		names[i] = k.Name
	}
	return names
}

// Named returns the kinds with these names, in the order of Kinds.
func Named(names []string) ([]Kind, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var kinds []Kind
	for _, k := range Kinds {
		if wanted[k.Name] {
			kinds = append(kinds, k)
			delete(wanted, k.Name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no client %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return kinds, nil
}
