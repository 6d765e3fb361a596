package main

// What the reader of the demo sees.

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
}

// printShares compares each server's share of the keys with its weight.
func (d *demo) printShares(w io.Writer) {
	keys := make([]int, len(d.fleet.servers))
	for _, server := range d.home {
		keys[server]++
	}
	weights := 0
	for _, s := range d.fleet.servers {
		weights += s.Weight
	}
	fmt.Fprintln(w)
	table := newTable(w)
	fmt.Fprintln(table, "server\taddress\tweight\tkeys\tshare\tby weight\t")
	for i, s := range d.fleet.servers {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.1f %%\t%.1f %%\t\n", s.Name, s.Addr, s.Weight, keys[i],
			100*float64(keys[i])/keyCount, 100*float64(s.Weight)/float64(weights))
	}
	table.Flush()
}

// printReads shows the three passes and what the failing keys got.
func (d *demo) printReads(w io.Writer, all, before, after reading) {
	dead := d.fleet.servers[victim]
	fmt.Fprintf(w, "\nGetMulti, %d keys a batch\n", batchSize)
	table := newTable(w)
	fmt.Fprintln(table, "\tbatches\tµs/batch\thits\tmisses\twrong\trefused\t")
	for _, row := range []struct {
		name string
		reading
	}{
		{"all servers up", all},
		{"first half", before},
		{dead.Name + " stopped, second half", after},
	} {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", row.name, len(row.elapsed), median(row.elapsed).Microseconds(),
			row.hits, row.misses, row.wrong, row.refused)
	}
	table.Flush()
	if after.err != nil {
		fmt.Fprintf(w, "\nthe %d refused keys live on %s; %d batches told so, in %v at most; the first error:\n  %v\n",
			after.refused, dead.Name, len(after.failed), slices.Max(after.failed).Round(time.Microsecond), after.err)
	}
	fmt.Fprintln(w)
}

// median of d; zero for none.
func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
