package table

// GetMulti on a wire in memory: no system calls, no other process, only what the
// clients themselves do.

import (
	"context"
	"flag"
	"fmt"

	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/memwire"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

type memory struct {
	servers, keys ints
	clients       words
	valueSize     int
}

func newMemory(fs *flag.FlagSet) Work {
	t := &memory{servers: ints{1, 4, 16}, keys: ints{1, 20, 100, 1000}, clients: words{
		contender.FloorClassic, contender.FloorMeta, contender.Vaquero, contender.VaqueroMeta, contender.VaqueroFunc,
		contender.Gomemcache, contender.Grafana, contender.Rainycape, contender.QuangTung,
	}}
	fs.Var(&t.servers, "servers", "numbers of servers")
	fs.Var(&t.keys, "keys", fmt.Sprintf("numbers of keys in a call, up to %d", workload.KeyCount))
	fs.Var(&t.clients, "clients", clientsHelp())
	fs.IntVar(&t.valueSize, "value", workload.DefaultValueSize, "size of a value in bytes")
	return t.work
}

func (t *memory) work(ctx context.Context, s *Session) error {
	kinds, err := contender.Named(t.clients)
	if err != nil {
		return err
	}
	if err := checkKeys(t.keys); err != nil {
		return err
	}
	set := workload.NewSet(t.valueSize)
	wire := memwire.NewServer(set)
	s.Report.Add("servers", "connections in memory")
	s.Report.Add("values", "%d bytes", t.valueSize)
	s.Report.Floor = contender.FloorMeta
	s.Report.Ratios = ratios(kinds,
		report.Ratio{Figure: report.P25, Base: contender.Vaquero},
		report.Ratio{Figure: report.CPU, Base: contender.Vaquero},
		report.Ratio{Figure: report.P25, Base: contender.Gomemcache},
	)
	for _, servers := range t.servers {
		target := contender.Target{Callers: 1, Dial: wire.Dial}
		for i := range servers {
			target.Addrs = append(target.Addrs, fmt.Sprintf("127.0.0.1:%d", i+1)) // nobody goes there
		}
		for _, keys := range t.keys {
			name := fmt.Sprintf("GetMulti in memory, %s × %s", count(servers, "server"), count(keys, "key"))
			row := run.Row{Name: name, Callers: 1, Items: keys}
			batches := contender.Batches{Set: set, Batches: set.Batches(keys, 100)}
			row.Contenders = s.contenders("GetMulti", multiOf(batches), kinds, target, set)
			if err := s.measure(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}
