package table

// Tables that need servers: the flags they share, and their start.

import (
	"context"
	"flag"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/fleet"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// served is what tables over real servers have in common.
type served struct {
	servers   ints
	clients   words
	valueSize int
	tagged    bool // keys have a tag in common
	args      string

	kinds []contender.Kind
	fleet *fleet.Fleet
	set   *workload.Set
}

func (t *served) flags(fs *flag.FlagSet, servers ints, clients ...string) {
	t.servers, t.clients = servers, clients
	fs.Var(&t.servers, "servers", "numbers of servers")
	fs.Var(&t.clients, "clients", clientsHelp())
	fs.StringVar(&t.args, "server-args", "", "further arguments for memcached, such as \"-R 1000\"")
}

// valueFlag defines the flag for the size of values.
func (t *served) valueFlag(fs *flag.FlagSet, size int) {
	fs.IntVar(&t.valueSize, "value", size, "size of a value in bytes")
}

// start starts and fills as many servers as the largest row needs.
func (t *served) start(ctx context.Context, s *Session) (err error) {
	if t.kinds, err = contender.Named(t.clients); err != nil {
		return err
	}
	n := slices.Max(t.servers)
	s.printf("starting %s\n", count(n, "server"))
	if t.fleet, err = fleet.Start(ctx, n, strings.Fields(t.args)...); err != nil {
		return err
	}
	s.Report.Add("servers", "memcached %s %s, one process each, loopback TCP",
		t.fleet.Version(), strings.Join(append(fleet.BaseArgs[:len(fleet.BaseArgs):len(fleet.BaseArgs)], t.args), " "))
	s.Report.Add("values", "%s", size(t.valueSize))
	t.set = workload.NewSet(t.valueSize)
	if t.tagged {
		t.set = workload.NewTaggedSet(t.valueSize)
	}
	if err := t.fleet.Fill(t.set); err != nil {
		t.fleet.Stop()
		return err
	}
	return nil
}

func (t *served) stop() { t.fleet.Stop() }

// target is what a contender is opened for in a row of these numbers.
func (t *served) target(servers, callers int) contender.Target {
	return contender.Target{Addrs: t.fleet.Addrs(servers), Callers: callers}
}
