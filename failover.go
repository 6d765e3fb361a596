package memcache

import (
	"math"
	"time"
)

// This file decides whether a server is up, by what has happened and when. It
// does no I/O, reads no clock and takes no lock: health.go carries out what it
// says, and the test walks it through random events in a time of its own.

// FailoverSettings say when a server is taken to be down and what becomes of its
// calls then. The zero value of each field is a good choice. They are read when
// the client first uses a server.
//
// A server is down after HardFailures in a row of a kind that says that nobody
// is there: a connection that could not be made at the second attempt either, or
// was hung up on before any reply twice in a row; or after SoftFailures in a row
// of a kind that says that it does not keep up: no progress for Client.Timeout,
// a connection lost in mid-reply, too many connections. A reply ends the row,
// whatever it says, and a mere connection does not. What one connection fails
// is one failure, however many calls wait on it. What a caller brings about
// never counts: a cancelled context, a deadline shorter than Client.Timeout, a
// miss, an error line, ConnSettings.MaxCalls.
//
// While a server is down, calls to it fail at once, with an *OpError for which
// errors.Is finds ErrServerDown, and nobody connects to it. The first call after
// a pause starts a probe beside it: two connections in turn, made as any other,
// that must answer a get each. Then the server is up again. Without calls
// nothing runs.
//
// The keys of what a server missed are remembered: of each Delete and Set that
// was not made because it is down, or whose outcome is not known. It deletes them
// before it serves again, and those of a server that is not down are deleted as
// soon as what may still be on its way to the server has come to an end. Calls
// that are answered by such a promise fail with ErrInvalidationPending. A Delete
// that succeeds is final: an older write of this client that may still be on its
// way is waited for, for Client.Timeout at the most. So it is before a value is
// stored or counted, which is not sent if that takes longer. Either fails then as
// any call that is out of time. That takes connections with a method CloseWrite, or
// one NetConn that gives such a connection, as those of packages net and crypto/tls
// have; what lies on others is taken to be over when they are closed. Counters and
// the like are never deleted for a count that was missed.
type FailoverSettings struct {
	// Mode says who takes the operations of a server that is down. See
	// FailoverMode.
	Mode FailoverMode

	// Gutter picks the servers of mode Gutter: a small pool of their own. Its
	// servers fail fast.
	Gutter ServerSelector

	// MaxHops is how many servers beyond its own an operation may go to in mode
	// NextServer, those that are down counted. 0 means 2.
	MaxHops int

	// MaxTTL bounds how long an item lives that was stored in the place of
	// another server, whatever its Expiration. 0 or less means 30 s; parts of a
	// second count as a whole one.
	MaxTTL time.Duration

	// Conditional lets Add, Replace, CompareAndSwap, Append, Prepend, Increment
	// and Decrement go to other servers, too, which do not know the item.
	Conditional bool

	// MaxDownShare is the share of the servers up to which operations go to
	// others: if more are down, all of theirs fail at once. 0 or less means 0.5,
	// and 1 that they always do.
	MaxDownShare float64

	// HardFailures and SoftFailures are how many failures in a row take a server
	// down. 0 means 1 and 3, negative means that they never do.
	HardFailures, SoftFailures int

	// ProbeDelay is the mean pause before the first probe of a server that went
	// down. Each further one is 1.6 times as long, up to MaxProbeDelay, and half
	// as long again for each time that the server went down within MaxProbeDelay
	// of its return, up to ten times MaxProbeDelay; each is varied by a half both
	// ways. 0 or less means 500 ms and 30 s.
	ProbeDelay, MaxProbeDelay time.Duration

	// JournalKeys and JournalBytes bound what is remembered of the changes that
	// one server missed: keys, each once, and the memory for them; likewise of all
	// servers together that have left the list and may come back. 0 means 100,000
	// and 16 MiB. A negative JournalKeys means that nothing is remembered: a
	// server that comes back with its memory serves what it holds.
	JournalKeys, JournalBytes int

	// Overflow says what becomes of a server that missed more.
	Overflow OverflowPolicy
}

// ServerState says whether a server gets calls.
type ServerState uint8

const (
	ServerUp         ServerState = iota // it gets its calls
	ServerDown                          // it failed: calls fail at once
	ServerProbing                       // as ServerDown, while a probe is under way
	ServerForcedUp                      // it gets its calls whatever happens: SetServerState
	ServerForcedDown                    // calls fail at once whatever happens: SetServerState
	ServerDraining                      // as ServerForcedDown; its connections close when their calls have ended
)

var stateNames = [...]string{"up", "down", "probing", "forced up", "forced down", "draining"}

// String returns the state in words.
func (s ServerState) String() string {
	if int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}

// serves reports whether a server in state s gets calls.
func (s ServerState) serves() bool { return s == ServerUp || s == ServerForcedUp }

const (
	defaultHardFailures  = 1
	defaultSoftFailures  = 3
	defaultProbeDelay    = 500 * time.Millisecond
	defaultMaxProbeDelay = 30 * time.Second

	probeGrowth  = 1.6
	flapGrowth   = 1.5
	maxFlapDelay = 10 // times MaxProbeDelay

	// never is a time that does not come.
	never = int64(math.MaxInt64)
)

// verdict is what is held of one server. Times are readings of a clock that
// starts anywhere and never goes back.
//
//	        hard × HardFailures, soft × SoftFailures in a row
//	up ─────────────────────────────────▶ down ◀─────────────┐
//	▲                                      │ a call, once due │ failed
//	└────────────── succeeded ── probing ◀─┘──────────────────┘
type verdict struct {
	set FailoverSettings

	state      ServerState
	hard, soft int   // failures in a row, while up
	attempts   int   // probes that failed since it went down
	flaps      int   // times in a row that it went down soon after its return
	returned   int64 // when it came up; meaningless unless it has been down
	wasDown    bool
	returns    int   // how often it came up
	due        int64 // when the next probe may start, while down
}

// failed notes a failure. It reports whether that took the server down.
func (v *verdict) failed(now int64, hard bool, random float64) bool {
	switch v.state {
	case ServerUp, ServerForcedUp:
	default:
		return false
	}
	if hard {
		v.hard++
	} else {
		v.soft++
	}
	if v.state == ServerForcedUp || !reached(v.hard, v.set.HardFailures, defaultHardFailures) &&
		!reached(v.soft, v.set.SoftFailures, defaultSoftFailures) {
		return false
	}
	if v.wasDown && now-v.returned < int64(v.set.maxProbeDelay()) {
		v.flaps++
	} else {
		v.flaps = 0
	}
	v.down(now + v.delay(random))
	return true
}

// reached reports whether n failures are enough.
func reached(n, limit, standard int) bool {
	if limit == 0 {
		limit = standard
	}
	return limit > 0 && n >= limit
}

func (v *verdict) down(due int64) {
	v.state, v.due = ServerDown, due
	v.hard, v.soft, v.attempts = 0, 0, 0
	v.wasDown = true
}

// maxProbeDelay is the longest pause of a server that does not come back, and
// how long one must have been back for its next failure to be no flap.
func (s *FailoverSettings) maxProbeDelay() time.Duration {
	return positive(s.MaxProbeDelay, defaultMaxProbeDelay)
}

// delay is the pause before the next probe.
func (v *verdict) delay(random float64) int64 { return v.set.pause(v.attempts, v.flaps, random) }

// pause is how long to wait after so many attempts that failed. random is in
// [0, 1).
func (s *FailoverSettings) pause(attempts, flaps int, random float64) int64 {
	d := float64(positive(s.ProbeDelay, defaultProbeDelay)) * math.Pow(probeGrowth, float64(attempts))
	longest := float64(s.maxProbeDelay())
	d = min(d, longest)
	if flaps > 0 {
		d = min(d*math.Pow(flapGrowth, float64(flaps)), maxFlapDelay*longest)
	}
	return int64(d * (0.5 + random))
}

// answered notes a complete reply.
func (v *verdict) answered() { v.hard, v.soft = 0, 0 }

// counting reports whether a reply would change anything.
func (v *verdict) counting() bool { return v.hard > 0 || v.soft > 0 }

// probe reports whether a probe starts now. No other starts before probed.
func (v *verdict) probe(now int64) bool {
	if v.state != ServerDown || now < v.due {
		return false
	}
	v.state = ServerProbing
	return true
}

// probed notes the end of a probe, unless the operator has spoken meanwhile.
func (v *verdict) probed(now int64, ok bool, random float64) {
	switch {
	case v.state != ServerProbing:
	case ok:
		v.up(now)
	default:
		v.attempts++
		v.state, v.due = ServerDown, now+v.delay(random)
	}
}

// postponed is probed for a probe that was cut short: the next may start at once.
func (v *verdict) postponed(now int64) {
	if v.state == ServerProbing {
		v.state, v.due = ServerDown, now
	}
}

func (v *verdict) up(now int64) {
	v.state, v.returned = ServerUp, now
	v.returns++
	v.hard, v.soft, v.attempts = 0, 0, 0
}

// force puts the server into a state of the operator's.
func (v *verdict) force(state ServerState) {
	v.state = state
	v.hard, v.soft = 0, 0
}

// restoreDown lets a server that is down be probed at once.
func (v *verdict) restoreDown(now int64) {
	if v.state == ServerDown {
		v.due, v.attempts = now, 0
	}
}

// restore ends the operator's word. A server that got no calls has to be probed
// before it gets any.
func (v *verdict) restore(now int64) {
	switch v.state {
	case ServerForcedUp:
		v.up(now)
	case ServerForcedDown, ServerDraining:
		v.down(now)
	default:
		v.restoreDown(now)
	}
}
