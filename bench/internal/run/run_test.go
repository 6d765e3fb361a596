package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// worker does nothing, and fails when told to.
type worker struct {
	calls, checks, begun, ended int
	failCall, failCheck         int // in this call; 0 never
	failEnd                     bool
}

var errTest = errors.New("failed as told")

func (w *worker) Call() error {
	if w.calls++; w.calls == w.failCall {
		return errTest
	}
	return nil
}

func (w *worker) Check() error {
	if w.checks++; w.checks == w.failCheck {
		return errTest
	}
	return nil
}

func (w *worker) Begin(int) { w.begun++ }

func (w *worker) End() error {
	if w.ended++; w.failEnd {
		return errTest
	}
	return nil
}

// contenders returns n that share nothing, and all workers made so far.
func contenders(n, callers int, prepare func(who, i int, w *worker)) ([]Contender, []*worker, *atomic.Int32) {
	var list []Contender
	var closed atomic.Int32
	workers := make([]*worker, n*callers)
	for who := range n {
		list = append(list, Contender{
			Name: fmt.Sprint("client ", who),
			Caller: func(i int) (Caller, error) {
				w := new(worker)
				if prepare != nil {
					prepare(who, i, w)
				}
				workers[who*callers+i] = w
				return w, nil
			},
			Close: func() { closed.Add(1) },
		})
	}
	return list, workers, &closed
}

func TestTurnsRotateAndEveryCallIsChecked(t *testing.T) {
	list, workers, closed := contenders(3, 2, nil)
	taken, err := Run(t.Context(), Row{Callers: 2, Items: 5, Contenders: list}, Options{Rounds: 4, Slice: time.Millisecond}, nil)
	require.NoError(t, err)
	require.Len(t, taken, 12)
	for i, s := range taken {
		round, turn := i/3, i%3
		assert.Equal(t, round, s.Round)
		assert.Equal(t, turn, s.Turn)
		assert.Equal(t, fmt.Sprint("client ", (turn+round)%3), s.Client)
		assert.Equal(t, 5, s.Items)
		assert.GreaterOrEqual(t, s.Elapsed, time.Millisecond)
		assert.LessOrEqual(t, s.P25, s.P50)
		assert.LessOrEqual(t, s.P50, s.P99)
	}
	var done int64
	for _, s := range taken {
		done += s.Ops
	}
	const warm = 3 * 2 * 4 // one call of each caller in each slice
	for _, w := range workers {
		assert.Equal(t, w.calls, w.checks)
		assert.Equal(t, 4, w.begun)
		assert.Equal(t, 4, w.ended)
		done -= int64(w.calls)
	}
	assert.EqualValues(t, -warm, done)
	assert.EqualValues(t, 3, closed.Load())
}

func TestErrorsEndTheRow(t *testing.T) {
	for name, fail := range map[string]worker{
		"the first call":       {failCall: 1},
		"a later call":         {failCall: 5},
		"the check of a call":  {failCheck: 5},
		"the check of the one": {failCheck: 1},
	} {
		t.Run(name, func(t *testing.T) {
			list, _, closed := contenders(2, 3, func(who, i int, w *worker) {
				if who == 1 && i == 2 {
					*w = fail
				}
			})
			taken, err := Run(t.Context(), Row{Callers: 3, Contenders: list}, Options{Rounds: 10, Slice: time.Millisecond}, nil)
			require.ErrorIs(t, err, errTest)
			assert.ErrorContains(t, err, "client 1")
			assert.Nil(t, taken)
			assert.EqualValues(t, 2, closed.Load())
		})
	}
	t.Run("a caller that cannot be made", func(t *testing.T) {
		_, err := Run(t.Context(), Row{Callers: 1, Contenders: []Contender{
			{Name: "nobody", Caller: func(int) (Caller, error) { return nil, errTest }},
		}}, Options{Rounds: 1, Slice: time.Millisecond}, nil)
		assert.ErrorIs(t, err, errTest)
	})
	t.Run("the counters of the servers", func(t *testing.T) {
		list, _, _ := contenders(1, 1, nil)
		_, err := Run(t.Context(), Row{Callers: 1, Contenders: list,
			Traffic: func() (Traffic, error) { return Traffic{}, errTest },
		}, Options{Rounds: 1, Slice: time.Millisecond}, nil)
		assert.ErrorIs(t, err, errTest)
	})
	t.Run("a check after the slice", func(t *testing.T) {
		list, _, _ := contenders(1, 1, func(_, _ int, w *worker) { w.failEnd = true })
		_, err := Run(t.Context(), Row{Callers: 1, Contenders: list}, Options{Rounds: 1, Slice: time.Millisecond}, nil)
		assert.ErrorIs(t, err, errTest)
	})
}

// TestHang is in a bubble, where the 20 seconds of patience take no time.
func TestHang(t *testing.T) {
	for name, failing := range map[string]int{"the first call": 1, "a later call": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				_, err := Run(t.Context(), Row{Callers: 1, Contenders: []Contender{{
					Name:   "hangs",
					Caller: func(int) (Caller, error) { return &hanging{in: failing, release: release}, nil },
					Close:  func() { t.Error("what hangs is not to be closed") },
				}}}, Options{Rounds: 1, Slice: time.Millisecond}, nil)
				assert.ErrorIs(t, err, ErrHang)
				close(release)
			})
		})
	}
}

// hanging is a Caller that hangs in one call, and makes no other one after it.
type hanging struct {
	calls, in int
	release   chan struct{}
}

func (h *hanging) Call() error {
	if h.calls++; h.calls < h.in {
		return nil
	}
	<-h.release
	return errTest
}

func (h *hanging) Check() error { return nil }

func TestCancelEndsTheRow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	list, _, _ := contenders(2, 1, nil)
	_, err := Run(ctx, Row{Callers: 1, Contenders: list}, Options{Rounds: 1000, Slice: time.Millisecond}, func(n int) {
		if n == 2 {
			cancel()
		}
	})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestHogsAndTrafficAreCounted(t *testing.T) {
	list, _, _ := contenders(1, 1, nil)
	total := Traffic{}
	taken, err := Run(t.Context(), Row{Callers: 1, Contenders: list, Hogs: 1, HogWork: 10 * time.Microsecond,
		Traffic: func() (Traffic, error) { total = total.Add(Traffic{1, 2, 3}); return total, nil },
	}, Options{Rounds: 1, Slice: 20 * time.Millisecond}, nil)
	require.NoError(t, err)
	assert.Positive(t, taken[0].HogUnits)
	assert.Equal(t, &Traffic{1, 2, 3}, taken[0].Traffic)
}

// A caller that is slow does not get less to do: what was due while it was busy
// counts with the time that it waited.
func TestOpenLoopLeavesNothingOut(t *testing.T) {
	const each = 5 * time.Millisecond
	slow := Contender{Name: "slow", Caller: func(int) (Caller, error) { return sleeper(each), nil }}
	taken, err := Run(t.Context(), Row{Callers: 1, Rate: 1000, Contenders: []Contender{slow}},
		Options{Rounds: 1, Slice: 100 * time.Millisecond}, nil)
	require.NoError(t, err)
	s := taken[0]
	due := len(newOpenLoop(1000, 100*time.Millisecond, 1).dues)
	assert.EqualValues(t, due, s.Ops+s.Missed)
	assert.LessOrEqual(t, s.Ops, int64(2*100/5+1), "one begins before twice the length, the next after it")
	assert.Greater(t, s.P50, 10*each, "the median waited behind many")
	require.Len(t, s.Tail, len(TailQuantiles))
	assert.IsNonDecreasing(t, s.Tail)
}

type sleeper time.Duration

func (s sleeper) Call() error { time.Sleep(time.Duration(s)); return nil }
func (sleeper) Check() error  { return nil }

func TestOpenLoopEndsWithAnError(t *testing.T) {
	for _, failing := range []int{1, 3} {
		list, _, closed := contenders(1, 4, func(_, i int, w *worker) {
			if i == 1 {
				w.failCall = failing
			}
		})
		_, err := Run(t.Context(), Row{Callers: 4, Rate: 10000, Contenders: list}, Options{Rounds: 1, Slice: 20 * time.Millisecond}, nil)
		assert.ErrorIs(t, err, errTest)
		assert.EqualValues(t, 1, closed.Load())
	}
}

func TestContendersThatMeasureThemselves(t *testing.T) {
	elsewhere := func(s Slice, err error) []Contender {
		return []Contender{{Name: "elsewhere", Measure: func(d time.Duration) (Slice, error) {
			assert.Equal(t, time.Millisecond, d)
			return s, err
		}}}
	}
	one := Slice{Ops: 1, Elapsed: time.Millisecond, P25: 1}
	total := Traffic{}
	row := Row{Callers: 1, Items: 7, Contenders: elsewhere(one, nil), Traffic: func() (Traffic, error) {
		total = total.Add(Traffic{1, 2, 3})
		return total, nil
	}}
	opts := Options{Rounds: 2, Slice: time.Millisecond}
	taken, err := Run(t.Context(), row, opts, nil)
	require.NoError(t, err)
	require.Len(t, taken, 2)
	assert.Equal(t, "elsewhere", taken[1].Client)
	assert.Equal(t, 1, taken[1].Round)
	assert.Equal(t, 7, taken[1].Items)
	assert.Equal(t, &Traffic{1, 2, 3}, taken[1].Traffic)

	row.Contenders = elsewhere(one, errTest)
	_, err = Run(t.Context(), row, opts, nil)
	require.ErrorIs(t, err, errTest)
	row.Contenders = elsewhere(Slice{}, nil)
	_, err = Run(t.Context(), row, opts, nil)
	require.ErrorIs(t, err, errNothing)
}

func TestSamplesKeepTheLast(t *testing.T) {
	s := newSamples(sampleCount) // as few as there are
	require.Len(t, s.ns, minSamples)
	for i := range 3 * minSamples {
		s.add(time.Duration(i))
	}
	kept := merge(nil, []*samples{s})
	assert.Len(t, kept, minSamples)
	assert.EqualValues(t, 2*minSamples, kept[0])
	s.reset()
	assert.Empty(t, s.kept())
	s.add(time.Hour) // more than 32 bits of nanoseconds
	assert.Equal(t, time.Duration(1<<32-1), quantile(s.kept(), 0.5))
}

func TestQuantiles(t *testing.T) {
	hundred := make([]uint32, 101)
	for i := range hundred {
		hundred[i] = uint32(i)
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.25: 25, 0.5: 50, 0.99: 99, 1: 100} {
		assert.Equal(t, want, quantile(hundred, q))
	}
	assert.Zero(t, quantile(nil, 0.5))
	assert.True(t, slices.IsSorted(hundred))
}
