package run

// Rounds and slices.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Run measures row and returns one Slice for each contender and round. It stops
// at the first error, which names the contender. round, unless it is nil, is
// called when a round begins. Run closes the contenders.
func Run(ctx context.Context, row Row, opts Options, round func(int)) ([]Slice, error) {
	r := &rowRun{Row: row, opts: opts, times: make([]*samples, row.Callers)}
	defer r.close()
	for i := range r.times {
		r.times[i] = newSamples(row.Callers)
	}
	for _, c := range row.Contenders {
		if c.Measure != nil {
			r.callers = append(r.callers, nil)
			continue
		}
		callers := make([]Caller, row.Callers)
		for i := range callers {
			var err error
			if callers[i], err = c.Caller(i); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
		}
		r.callers = append(r.callers, callers)
	}

	var taken []Slice
	for n := range opts.Rounds {
		if round != nil {
			round(n)
		}
		for turn := range row.Contenders {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			who := (turn + n) % len(row.Contenders)
			s, err := r.slice(who)
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", row.Contenders[who].Name, n, err)
			}
			s.Round, s.Turn = n, turn
			taken = append(taken, s)
		}
	}
	return taken, nil
}

type rowRun struct {
	Row
	opts    Options
	callers [][]Caller // of each contender
	times   []*samples // of each caller, used by one contender after the other
	merged  []uint32
	slices  int
	hung    bool
}

func (r *rowRun) close() {
	if r.hung {
		return // to close what hangs may hang too
	}
	for _, c := range r.Contenders {
		if c.Close != nil {
			c.Close()
		}
	}
}

// slice gives one turn to contender who.
func (r *rowRun) slice(who int) (Slice, error) {
	if measure := r.Contenders[who].Measure; measure != nil {
		return r.elsewhere(r.Contenders[who].Name, measure)
	}
	callers := r.callers[who]
	r.slices++
	for _, c := range callers {
		if s, ok := c.(Slicer); ok {
			s.Begin(r.slices)
		}
	}
	hogs := startHogs(r.Hogs, r.HogWork)
	s, err := r.measure(callers, hogs)
	hogs.stop()
	if err != nil {
		r.hung = errors.Is(err, ErrHang)
		return s, err
	}
	s.Client = r.Contenders[who].Name
	for _, c := range callers {
		if c, ok := c.(Slicer); ok {
			if err := c.End(); err != nil {
				return s, err
			}
		}
		if c, ok := c.(Teller); ok {
			c.Tell(&s)
		}
	}
	return s, nil
}

// measure lets callers work for the length of a slice.
func (r *rowRun) measure(callers []Caller, hogs *hogs) (s Slice, err error) {
	t, err := startTurn(callers, r.times, r.opts.Slice, r.Rate)
	if err != nil {
		return s, err
	}
	runtime.GC() // the garbage of the contender before is not this one's to collect
	traffic, err := r.traffic()
	if err != nil {
		t.abandon(err)
		return s, err
	}
	var start, end usage
	start.runtime()
	start.memory()
	start.syscalls()
	units := hogs.units.Load()
	start.processor()

	err = t.run()

	end.processor()
	s.HogUnits = hogs.units.Load() - units
	end.syscalls()
	end.memory()
	end.runtime()
	if err != nil {
		return s, err
	}
	s.put(&start, &end)
	if err := s.moved(traffic, r.traffic); err != nil {
		return s, err
	}
	s.Items = max(r.Items, 1)
	s.Ops, s.Elapsed = t.sum()
	if t.open != nil {
		t.open.put(&s)
		return s, nil
	}
	r.merged = merge(r.merged[:0], r.times)
	s.P25, s.P50, s.P99 = quantile(r.merged, 0.25), quantile(r.merged, 0.5), quantile(r.merged, 0.99)
	return s, nil
}

// elsewhere gives one turn to a contender that measures itself.
func (r *rowRun) elsewhere(name string, measure func(time.Duration) (Slice, error)) (Slice, error) {
	before, err := r.traffic()
	if err != nil {
		return Slice{}, err
	}
	s, err := measure(r.opts.Slice)
	if err != nil {
		return s, err
	}
	if s.Ops == 0 || s.Elapsed <= 0 {
		return s, errNothing
	}
	if err := s.moved(before, r.traffic); err != nil {
		return s, err
	}
	s.Client, s.Items = name, max(r.Items, 1)
	return s, nil
}

// errNothing means that a contender which measures itself did not work.
var errNothing = errors.New("not one operation")

// moved puts the traffic since before into s, if any is counted.
func (s *Slice) moved(before *Traffic, read func() (*Traffic, error)) error {
	after, err := read()
	if err == nil && after != nil {
		moved := after.Sub(*before)
		s.Traffic = &moved
	}
	return err
}

// traffic reads the counters of the servers, if any are to be read.
func (r *rowRun) traffic() (*Traffic, error) {
	if r.Traffic == nil {
		return nil, nil
	}
	t, err := r.Traffic()
	return &t, err
}

// Of returns the slices of one contender in the order of rounds.
func Of(all []Slice, client string) []Slice {
	return slices.DeleteFunc(slices.Clone(all), func(s Slice) bool { return s.Client != client })
}
