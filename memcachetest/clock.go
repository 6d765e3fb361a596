package memcachetest

// Time as the server sees it: nanoseconds since a base a minute before the start,
// where memcached's own tick counter has its zero. An item's expiry is such an
// instant; 0 means never.

import (
	"sync/atomic"
	"time"
)

const second = int64(time.Second)

// maxRelative is the largest expiration that counts from now. Above it the
// number is a Unix time.
const maxRelative = 30 * 24 * 60 * 60

// expiredAtOnce is an instant that is over on every server: one second after
// the base, which lies before the start. memcached uses the same trick.
const expiredAtOnce = second

// startInstant is the instant of the start.
const startInstant = 62 * second

// clock is the process's clock plus what FastForward added.
type clock struct {
	base   time.Time
	offset atomic.Int64
}

func newClock() *clock {
	return &clock{base: time.Now().Add(-time.Duration(startInstant))}
}

// now is the instant of the call.
func (c *clock) now() int64 {
	return int64(time.Since(c.base)) + c.offset.Load()
}

// expiry turns an expiration from the wire into an instant: 0 never, negative at
// once, up to maxRelative seconds from now, above that a Unix time.
func (c *clock) expiry(exptime, now int64) int64 {
	switch {
	case exptime == 0:
		return 0
	case exptime < 0:
		return expiredAtOnce
	case exptime <= maxRelative:
		return now + exptime*second
	}
	at := (exptime - c.base.Unix()) * second
	return max(at, expiredAtOnce)
}

// wholeSeconds rounds up, so that a TTL of 100 reads as 100 until a full second
// has passed.
func wholeSeconds(d int64) int64 {
	if d >= 0 {
		return (d + second - 1) / second
	}
	return d / second
}

// FastForward moves the server's clock ahead by d, so that items expire without
// waiting. A negative d moves it back.
func (s *Server) FastForward(d time.Duration) { s.clock.offset.Add(int64(d)) }
