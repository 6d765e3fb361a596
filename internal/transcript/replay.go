package transcript

// Replaying a case on a connection.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"time"
)

// Target is a server to replay cases against.
type Target struct {
	// Dial opens a fresh connection.
	Dial func() (net.Conn, error)
	// Versions says whose answers are right, by preference. A server between two
	// recorded versions has both here: at each step either answer is right.
	Versions []string
	// Silence is how long to wait before `none` counts as met. 0 means 300 ms, the
	// time of the recording.
	Silence time.Duration
	// Timeout is how long to wait for bytes that must come. 0 means 5 s.
	Timeout time.Duration
}

// Replay runs the case and returns how the server's answers differ, or nil.
func (c *Case) Replay(t Target) error {
	if t.Silence == 0 {
		t.Silence = 300 * time.Millisecond
	}
	if t.Timeout == 0 {
		t.Timeout = 5 * time.Second
	}
	nc, err := t.Dial()
	if err != nil {
		return err
	}
	r := &replay{target: t, nc: nc, cas: bindings{}}
	defer func() {
		nc.Close()
		r.waitSent()
	}()
	for i := range c.steps {
		s := &c.steps[i]
		if err := r.step(s); err != nil {
			return fmt.Errorf("%s line %d: case %s: %w", c.File, s.line, c.Name, err)
		}
	}
	if err := r.finish(); err != nil {
		return fmt.Errorf("%s: case %s: %w", c.File, c.Name, err)
	}
	return nil
}

// replay is the state of one run.
type replay struct {
	target Target
	nc     net.Conn
	got    []byte // came, and not yet matched
	closed bool   // the server ended the connection
	cas    bindings
	sent   chan struct{} // closed when the last send is over; nil before the first
}

func (r *replay) step(s *step) error {
	switch {
	case s.send != nil:
		for _, version := range s.skipped {
			if version == r.target.Versions[0] {
				return nil
			}
		}
		return r.send(s.send)
	case s.expect != nil:
		return r.expect(s.expect)
	}
	time.Sleep(s.pause)
	return nil
}

// send writes in the background, so that a server that answers before it has read
// everything cannot block. A failed write shows as a closed connection.
func (r *replay) send(parts []part) error {
	var b []byte
	for _, p := range parts {
		switch p.kind {
		case literal:
			b = append(b, p.bytes...)
		case casText:
			b = strconv.AppendUint(b, r.cas[p.name], 10)
		case casBinary:
			b = binary.BigEndian.AppendUint64(b, r.cas[p.name])
		default:
			return errors.New("pattern in a send")
		}
	}
	r.waitSent()
	sent := make(chan struct{})
	r.sent = sent
	go func() {
		defer close(sent)
		r.nc.Write(b)
	}()
	return nil
}

func (r *replay) waitSent() {
	if r.sent != nil {
		<-r.sent
	}
}

// answer is what one version says at a step.
type answer struct {
	parts  []part
	closed bool
}

// answers collects the different answers of the versions that are right.
func (r *replay) answers(lines []reply) []answer {
	var all []answer
	for _, version := range r.target.Versions {
		var a answer
		found := false
		for _, line := range lines {
			if line.version != "" && line.version != version {
				continue
			}
			found = true
			a.parts = append(a.parts, line.parts...)
			a.closed = a.closed || line.closed
		}
		if found {
			all = append(all, a)
		}
	}
	return all
}

// trial is how one answer fits what came so far.
type trial struct {
	verdict verdict
	n       int
	cas     bindings
	reason  string
}

func (r *replay) try(a answer) trial {
	cas := maps.Clone(r.cas)
	n, v, reason := match(a.parts, r.got, cas)
	switch {
	case v != matched:
	case a.closed && !r.closed && n == len(r.got):
		v = unfinished
	case len(a.parts) == 0 && !a.closed && len(r.got) == 0:
		v = unfinished // silence is met only by time
	case len(a.parts) == 0 && !a.closed, a.closed && n < len(r.got):
		v, reason = differs, "where nothing was to come"
	}
	return trial{v, n, cas, reason}
}

// expect waits until one of the answers is there. Where several are right, one may
// be the beginning of another; then it waits a little for the longer one.
func (r *replay) expect(lines []reply) error {
	all := r.answers(lines)
	if len(all) == 0 {
		return nil
	}
	for {
		var best *trial
		var reason string
		open, silent := false, false
		for _, a := range all {
			fit := r.try(a)
			switch fit.verdict {
			case matched:
				if best == nil || fit.n > best.n {
					best = &fit
				}
			case unfinished:
				open = true
				silent = silent || len(a.parts) == 0 && !a.closed
			default:
				reason = fit.reason
			}
		}
		switch {
		case best != nil && (!open || r.closed):
			r.accept(best)
			return nil
		case !open:
			return fmt.Errorf("differs %s: got %q", reason, clip(r.got))
		case r.closed:
			return fmt.Errorf("connection closed early, after %q", clip(r.got))
		}
		wait := r.target.Timeout
		if best != nil || silent {
			wait = r.target.Silence
		}
		err := r.read(wait)
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case best != nil:
			r.accept(best)
			return nil
		case silent && len(r.got) == 0:
			return nil
		default:
			return fmt.Errorf("%w, after %q", err, clip(r.got))
		}
	}
}

func (r *replay) accept(t *trial) { r.got, r.cas = r.got[t.n:], t.cas }

// read takes what the connection has next.
func (r *replay) read(wait time.Duration) error {
	r.nc.SetReadDeadline(time.Now().Add(wait))
	buf := make([]byte, 64<<10)
	n, err := r.nc.Read(buf)
	r.got = append(r.got, buf[:n]...)
	if err == nil || n > 0 {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	// A reset is a close as well: it comes when the server closed with unread input.
	r.closed = true
	return nil
}

// finish makes sure that nothing is left over: it ends its own side, upon which a
// server closes, and reads up to that.
func (r *replay) finish() error {
	r.waitSent()
	half, ok := r.nc.(interface{ CloseWrite() error })
	if ok && half.CloseWrite() == nil {
		for !r.closed {
			if err := r.read(r.target.Timeout); err != nil {
				return fmt.Errorf("not closed at the end: %w", err)
			}
		}
	}
	if len(r.got) > 0 {
		return fmt.Errorf("more than expected: %q", clip(r.got))
	}
	return nil
}

// clip keeps error texts short.
func clip(b []byte) []byte {
	const limit = 300
	if len(b) > limit {
		return b[:limit]
	}
	return b
}
