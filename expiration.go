package memcache

import (
	"math"
	"time"
)

// maxRelative is the longest time to live that can be told in seconds from now:
// the server takes a larger number for a Unix time.
const maxRelative = 30 * 24 * time.Hour

// Expiration returns the number that stands for a time to live of d in
// Item.Expiration, Touch and GetAndTouch. Parts of a second count as a whole
// one, and more than 30 days become a Unix time, until 2038 at the latest. 0
// stays 0: the item never expires. A negative d means that it expires at once.
//
//	Item{Key: key, Value: value, Expiration: memcache.Expiration(90 * time.Minute)}
func Expiration(d time.Duration) int32 {
	switch {
	case d == 0:
		return 0
	case d < 0:
		return -1
	case d <= maxRelative:
		return int32((d + time.Second - 1) / time.Second)
	}
	end := time.Now().Add(d)
	unix := end.Unix()
	if end.Nanosecond() > 0 {
		unix++
	}
	return int32(min(unix, math.MaxInt32))
}
