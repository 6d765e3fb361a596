package link

import "errors"

// repeatable lists the operations that may be performed twice: a second time
// changes nothing. The others are repeated only if no byte of them was sent.
var repeatable = [OpEnd]bool{
	Get: true, Set: true, Delete: true, Version: true, Inspect: true, Stats: true,
}

// mayRepeat reports whether k, which failed with err on c, may be tried once
// more on a fresh connection: c had answered before and then, since k was
// submitted, brought not one byte, so that most likely it died while it lay
// idle and k was only the first to notice.
//
//	failure                 bytes of k sent   byte came since   repeated
//	hung up or reset        no                no                every operation
//	hung up or reset        perhaps           no                get, set, delete, version,
//	                                                          inspect, stats
//	hung up or reset        any               yes               none
//	no progress in time,
//	nonsense, Close, dial   any               any               none
//	any, on a connection
//	that never answered     any               any               none
func mayRepeat(c *conn, k *call, err error) bool {
	var lost *LostError
	if !errors.As(err, &lost) || errors.Is(err, ErrNoProgress) || errors.Is(err, ErrClosed) {
		return false
	}
	c.mu.Lock()
	silent := c.reads == k.heard && c.reads > 0
	c.mu.Unlock()
	if !silent {
		return false
	}
	if !lost.Sent {
		return true
	}
	for i := range k.reqs {
		if !repeatable[k.reqs[i].Op] {
			return false
		}
	}
	return true
}

// lost turns the reason why c closed into what became of k.
func (c *conn) lost(k *call, err error) error {
	var nonsense *ProtocolError
	if errors.As(err, &nonsense) {
		return err
	}
	c.mu.Lock()
	// What a call that was given up has left in the buffer goes out yet.
	sent := k.end-uint64(k.size) < c.taken || !c.turns.closed
	c.mu.Unlock()
	return &LostError{Err: err, Sent: sent, Left: k.gone.Load()}
}

// again returns a fresh record for the same call: the reader of the closed
// connection may still be at work on the old one.
func (k *call) again() *call {
	n := k.link.newCall()
	n.exact = k.exact
	if k.keys == nil && len(k.reqs) == 1 {
		n.single(&k.reqs[0])
		return n
	}
	n.reqs, n.keys, n.replies = k.reqs, k.keys, make([]Reply, len(k.replies))
	return n
}

// wasSent reports whether err leaves open what became of a request.
func wasSent(err error) bool {
	var lost *LostError
	return errors.As(err, &lost) && lost.Sent
}

// alsoSent returns err, the end of a call that was repeated, so that it says
// that the attempt before may have been performed, if it may.
func alsoSent(err error, before bool) error {
	var lost *LostError
	switch {
	case !before:
		return err
	case errors.As(err, &lost):
		return &LostError{Err: lost.Err, Sent: true}
	}
	return &LostError{Err: err, Sent: true}
}
