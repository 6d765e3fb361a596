package memcache

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/link"
)

// The settings say how many failures in a row take a server down.
func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    FailoverSettings
		events string // h and s: failures, a: an answer
		down   bool
	}{
		{"one refusal", FailoverSettings{}, "h", true},
		{"two timeouts", FailoverSettings{}, "ss", false},
		{"three timeouts", FailoverSettings{}, "sss", true},
		{"an answer ends the row", FailoverSettings{}, "ssass", false},
		{"and a new one begins", FailoverSettings{}, "ssasss", true},
		{"two refusals allowed", FailoverSettings{HardFailures: 3}, "hh", false},
		{"but not three", FailoverSettings{HardFailures: 3}, "hhh", true},
		{"kinds are counted apart", FailoverSettings{HardFailures: 3}, "hhss", false},
		{"an answer ends both rows", FailoverSettings{HardFailures: 2}, "hah", false},
		{"one timeout", FailoverSettings{SoftFailures: 1}, "s", true},
		{"never by refusals", FailoverSettings{HardFailures: -1}, "hhhhhhhhhh", false},
		{"never by timeouts", FailoverSettings{SoftFailures: -1}, "ssssssssss", false},
		{"the other kind all the same", FailoverSettings{SoftFailures: -1}, "ssssh", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict{set: tt.set}
			for _, event := range tt.events {
				switch event {
				case 'a':
					v.answered()
				default:
					v.failed(0, event == 'h', 0)
				}
			}
			assert.Equal(t, tt.down, v.state == ServerDown)
			assert.Equal(t, !tt.down, v.state.serves())
		})
	}
}

// The pauses before probes grow to their limit, and differ between clients.
func TestProbeDelays(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   FailoverSettings
		means []time.Duration
	}{
		{"by default", FailoverSettings{}, []time.Duration{
			500 * time.Millisecond, 800 * time.Millisecond, 1280 * time.Millisecond, 2048 * time.Millisecond, 3276800 * time.Microsecond,
			5242880 * time.Microsecond, 8388608 * time.Microsecond, 13421772800, 21474836480, 30 * time.Second, 30 * time.Second,
		}},
		{"as set", FailoverSettings{ProbeDelay: time.Second, MaxProbeDelay: 2 * time.Second}, []time.Duration{
			time.Second, 1600 * time.Millisecond, 2 * time.Second,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, random := range []float64{0, 0.5, 0.999} {
				v := verdict{set: tt.set}
				now := int64(time.Hour)
				v.failed(now, true, random)
				for i, mean := range tt.means {
					want := float64(mean) * (0.5 + random)
					assert.InDelta(t, want, float64(v.due-now), 1e3, "pause %d", i)
					assert.False(t, v.probe(v.due-1), "too early")
					now = v.due
					require.True(t, v.probe(now))
					assert.False(t, v.probe(now), "one at a time")
					v.probed(now, false, random)
				}
			}
		})
	}
}

// A server that goes down soon after its return is left alone for longer each
// time, up to five minutes, and one that stayed up is not.
func TestFlapping(t *testing.T) {
	v := verdict{}
	now := int64(0)
	cycle := func(up time.Duration) (pause time.Duration) {
		v.failed(now, true, 0.5)
		require.Equal(t, ServerDown, v.state)
		pause = time.Duration(v.due - now)
		now = v.due
		require.True(t, v.probe(now))
		v.probed(now, true, 0.5)
		require.Equal(t, ServerUp, v.state)
		now += int64(up)
		return pause
	}
	assert.Equal(t, 500*time.Millisecond, cycle(time.Second))
	assert.Equal(t, 750*time.Millisecond, cycle(time.Second))
	assert.Equal(t, 1125*time.Millisecond, cycle(time.Second))
	for range 20 {
		cycle(time.Second)
	}
	assert.Equal(t, 5*time.Minute, cycle(time.Minute))
	assert.Equal(t, 500*time.Millisecond, cycle(time.Minute), "it stayed up")
	assert.Equal(t, 500*time.Millisecond, cycle(29*time.Second))
	assert.Equal(t, 750*time.Millisecond, cycle(29*time.Second))

	v = verdict{set: FailoverSettings{ProbeDelay: 20 * time.Millisecond, MaxProbeDelay: 100 * time.Millisecond}}
	for range 20 {
		cycle(50 * time.Millisecond)
	}
	assert.Equal(t, time.Second, cycle(150*time.Millisecond), "ten times MaxProbeDelay")
	assert.Equal(t, 20*time.Millisecond, cycle(0), "it stayed up")
}

func TestTheOperatorsWord(t *testing.T) {
	v := verdict{}
	v.force(ServerForcedUp)
	for range 10 {
		assert.False(t, v.failed(0, true, 0))
	}
	assert.True(t, v.state.serves())
	v.restore(1)
	assert.Equal(t, ServerUp, v.state)
	assert.False(t, v.counting(), "what was counted meanwhile is forgotten")

	for _, state := range []ServerState{ServerForcedDown, ServerDraining} {
		v = verdict{}
		v.force(state)
		assert.False(t, v.state.serves())
		assert.False(t, v.failed(2, true, 0))
		assert.False(t, v.probe(1<<60), "nobody asks")
		v.restore(3)
		assert.Equal(t, ServerDown, v.state, "it is probed first")
		assert.True(t, v.probe(3))
	}

	v = verdict{}
	v.failed(0, true, 0.5)
	require.True(t, v.probe(v.due))
	v.force(ServerForcedDown)
	v.probed(v.due, true, 0)
	assert.Equal(t, ServerForcedDown, v.state, "a probe does not overrule it")

	v = verdict{}
	v.failed(0, true, 0.5)
	v.restore(5)
	assert.True(t, v.probe(5), "of one that is down: try now")
}

// Random events, against the rules in their plainest form.
func TestVerdictByRandomEvents(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		set := FailoverSettings{HardFailures: r.IntN(5) - 1, SoftFailures: r.IntN(5) - 1}
		v := verdict{set: set}
		limit := func(n, standard int) int {
			if n == 0 {
				return standard
			}
			return n
		}
		hardLimit, softLimit := limit(set.HardFailures, 1), limit(set.SoftFailures, 3)
		state, hard, soft, now := ServerUp, 0, 0, int64(0)
		probes := 0 // under way
		for range 200 {
			now += r.Int64N(int64(10 * time.Second))
			random := r.Float64()
			switch r.IntN(8) {
			case 0, 1:
				isHard := r.IntN(2) == 0
				down := v.failed(now, isHard, random)
				if state == ServerUp || state == ServerForcedUp {
					if isHard {
						hard++
					} else {
						soft++
					}
				}
				goes := state == ServerUp && (hardLimit > 0 && hard >= hardLimit || softLimit > 0 && soft >= softLimit)
				require.Equal(t, goes, down)
				if goes {
					state, hard, soft = ServerDown, 0, 0
					require.Greater(t, v.due, now)
				}
			case 2:
				if state.serves() {
					v.answered()
					hard, soft = 0, 0
				}
			case 3, 4:
				starts := v.probe(now)
				require.Equal(t, state == ServerDown && now >= v.due, starts)
				if starts {
					state = ServerProbing
					probes++
				}
			case 5:
				if probes == 0 {
					continue
				}
				probes = 0
				ok := r.IntN(2) == 0
				v.probed(now, ok, random)
				switch {
				case state != ServerProbing:
				case ok:
					state = ServerUp
				default:
					state = ServerDown
					require.Greater(t, v.due, now)
					require.LessOrEqual(t, v.due-now, int64(maxFlapDelay*defaultMaxProbeDelay)*3/2)
				}
			case 6:
				state = []ServerState{ServerForcedUp, ServerForcedDown, ServerDraining}[r.IntN(3)]
				v.force(state)
				hard, soft = 0, 0
			case 7:
				v.restore(now)
				switch state {
				case ServerForcedUp:
					state, hard, soft = ServerUp, 0, 0
				case ServerForcedDown, ServerDraining:
					state = ServerDown
				}
			}
			require.Equal(t, state, v.state)
			require.Equal(t, hard > 0 || soft > 0, v.counting())
		}
	}
}

// What is stored in the place of another server lives for MaxTTL at the most.
func TestBoundedExpiration(t *testing.T) {
	now := int32(time.Now().Unix())
	half := FailoverSettings{MaxTTL: 1500 * time.Millisecond}
	for _, tt := range []struct {
		name       string
		set        FailoverSettings
		expiration int32
		want       int32
	}{
		{"for ever", FailoverSettings{}, 0, 30},
		{"shorter", FailoverSettings{}, 10, 10},
		{"longer", FailoverSettings{}, 3600, 30},
		{"the longest relative one", FailoverSettings{}, maxRelativeTTL, 30},
		{"at once", FailoverSettings{}, -1, -1},
		{"at a time that is far", FailoverSettings{}, now + 3600, 30},
		{"at a time that is near", FailoverSettings{}, now + 10, now + 10},
		{"at a time that has passed", FailoverSettings{}, now - 10, now - 10},
		{"parts of a second", half, 0, 2},
		{"more than can be said", FailoverSettings{MaxTTL: 1000 * time.Hour}, 0, maxRelativeTTL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.set.bounded(tt.expiration))
		})
	}
}

// Which operations go elsewhere, one by one.
func TestPolicyOfOperations(t *testing.T) {
	var set FailoverSettings
	want := map[link.Op]policy{
		link.Get: reads, link.Inspect: reads, link.GetAndTouch: touches, link.Touch: touches, link.Set: writes,
	}
	for op := link.Get; op <= link.Stats; op++ {
		assert.Equal(t, want[op], set.policyOf(op), op.String())
	}
	set.Conditional = true
	for _, op := range []link.Op{
		link.Add, link.Replace, link.Append, link.Prepend, link.CompareAndSwap, link.Increment, link.Decrement,
	} {
		want[op] = writes
	}
	for op := link.Get; op <= link.Stats; op++ {
		assert.Equal(t, want[op], set.policyOf(op), op.String())
	}
}

// Whatever took a server down, calls that it refuses say that it is down.
func TestRefusedCallsSayThatTheServerIsDown(t *testing.T) {
	s := &server{addr: newServerAddr("127.0.0.1:11211")}
	for _, reason := range []error{
		nil,
		&link.LostError{Err: context.DeadlineExceeded, Dial: true},
		&link.LostError{Err: io.EOF, Sent: true},
		&link.ServerError{Kind: "SERVER_ERROR"},
		&link.ProtocolError{Err: io.EOF},
		link.ErrUnsupported,
	} {
		down := newDownError("server", reason)
		for _, err := range []error{down, &owedError{down}} {
			failed := s.failure(context.Background(), link.Delete, err)
			var op *OpError
			require.ErrorAs(t, failed, &op, "%v", reason)
			assert.ErrorIs(t, failed, ErrServerDown)
			assert.False(t, op.OutcomeUnknown)
			_, owed := err.(*owedError)
			assert.Equal(t, owed, errors.Is(failed, ErrInvalidationPending))
		}
	}
}
