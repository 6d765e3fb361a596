package main

// vbench profile: where the processor time of a GetMulti goes.

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"

	"github.com/vaquero-cache/memcache/bench/internal/budget"
	"github.com/vaquero-cache/memcache/bench/internal/contender"
	"github.com/vaquero-cache/memcache/bench/internal/fleet"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// fewestCalls are made however long they take: on a loaded machine a short time may
// see no sample.
const fewestCalls = 2000

// measureBudget calls for a while under the profiler and writes the shares.
func measureBudget(ctx context.Context, args []string, out, progress io.Writer) error {
	fs := flag.NewFlagSet("vbench profile", flag.ContinueOnError)
	fs.SetOutput(progress)
	servers := fs.Int("servers", 4, "number of servers")
	keys := fs.Int("keys", 100, "keys in a call")
	length := fs.Duration("time", 10*time.Second, "how long to call; a sample is taken each 10 ms of processor time")
	client := fs.String("client", contender.Vaquero, "whose time it is")
	if err := fs.Parse(args); err != nil {
		return flag.ErrHelp
	}
	kinds, err := contender.Named([]string{*client})
	switch {
	case err != nil:
		return err
	case *servers < 1 || *keys < 1 || *keys > workload.KeyCount || *length <= 0:
		return fmt.Errorf("%d servers, %d keys, %v", *servers, *keys, *length)
	case kinds[0].Open == nil:
		return fmt.Errorf("%s is no part of this process", *client)
	}
	f, err := fleet.Start(ctx, *servers)
	if err != nil {
		return err
	}
	defer f.Stop()
	set := workload.NewSet(workload.DefaultValueSize)
	if err := f.Fill(set); err != nil {
		return err
	}
	opened, err := kinds[0].Open(contender.Target{Addrs: f.Addrs(*servers), Callers: 1}, set)
	if err != nil {
		return err
	}
	defer opened.Close()
	caller, err := opened.Multi(contender.Batches{Set: set, Batches: set.Batches(*keys, 100)})
	if err != nil {
		return err
	}

	var raw bytes.Buffer
	if err := pprof.StartCPUProfile(&raw); err != nil {
		return err
	}
	calls := int64(0)
	for start := time.Now(); err == nil && (time.Since(start) < *length || calls < fewestCalls); calls++ {
		if err = context.Cause(ctx); err != nil {
			break
		}
		if err = caller.Call(); err == nil {
			err = caller.Check()
		}
	}
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	p, err := profile.Parse(&raw)
	if err != nil {
		return err
	}
	shares, err := budget.Of(p)
	if err != nil {
		return err
	}
	return budget.Markdown(out, fmt.Sprintf("GetMulti, %d × %d keys, %s", *servers, *keys, *client), shares, calls)
}
