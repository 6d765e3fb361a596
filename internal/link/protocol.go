package link

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/classic"
)

// This file finds out which protocol a connection speaks.

// Protocol says how a server is spoken to.
type Protocol uint8

const (
	Meta    Protocol = iota // the meta protocol, in batches too
	Auto                    // ask each connection: meta where it is known, else classic
	Classic                 // the classic text protocol
	Binary                  // the binary protocol
)

// Meta is spoken to servers of this version or a later one: since then a reply
// to a miss carries the opaque. It needs the answer to mn too, because a proxy
// may pass on the version of the server behind it and close on any meta command.
var metaSince = version{1, 6, 18}

// silence is how long an answer to the question is waited for at the most. A
// server that does not know version may say nothing at all.
const silence = 250 * time.Millisecond

// open makes a connection and decides how to speak on it. Nothing with a body,
// and nothing of a caller, is sent before that is known; a server that does not
// like the question gets its first command on a fresh connection.
func (l *Link) open(ctx context.Context) (*conn, error) {
	nc, err := l.dialOnce(ctx)
	if err != nil {
		return nil, err
	}
	protocol := l.cfg.Protocol
	if protocol == Auto {
		var inStep bool
		patience := min(silence, l.cfg.DialTimeout()/2)
		if protocol, inStep = ask(ctx, nc, patience); !inStep {
			nc.Close()
			if nc, err = l.dialOnce(ctx); err != nil {
				return nil, err
			}
		}
	}
	return newConn(l, newWire(nc), l.codec(protocol)), nil
}

func (l *Link) codec(p Protocol) codec {
	switch p {
	case Classic:
		return &classicCodec{maxValue: l.cfg.MaxValue}
	case Binary:
		return &binaryCodec{maxValue: l.cfg.MaxValue}
	}
	return newMetaCodec(l.cfg.MaxValue, l.cfg.Protocol == Meta)
}

// dialOnce dials, and closes what comes too late.
func (l *Link) dialOnce(ctx context.Context) (net.Conn, error) {
	nc, err := l.cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		nc.Close()
		return nil, context.Cause(ctx)
	}
	return nc, nil
}

// ask finds out whether nc speaks meta. inStep reports whether nc is as good as
// new, which it is not after silence, nonsense or a close.
func ask(ctx context.Context, nc net.Conn, patience time.Duration) (p Protocol, inStep bool) {
	nc.SetDeadline(time.Now().Add(patience))
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(longAgo) })
	defer func() {
		if !stop() {
			inStep = false
		}
		nc.SetDeadline(time.Time{})
	}()

	line, err := question(nc, classic.AppendVersion(nil))
	if err != nil {
		return Classic, false
	}
	text, ok := strings.CutPrefix(string(line), "VERSION ")
	if !ok {
		return Classic, false
	}
	if v, ok := parseVersion(text); !ok || slices.Compare(v[:], metaSince[:]) < 0 {
		return Classic, true
	}
	if line, err = question(nc, []byte("mn\r\n")); err != nil || string(line) != "MN" {
		return Classic, false
	}
	return Auto, true
}

// question sends q and returns the line that answers it, without its end. More
// than one line is an error.
func question(nc net.Conn, q []byte) ([]byte, error) {
	if _, err := nc.Write(q); err != nil {
		return nil, err
	}
	var buf [512]byte
	n := 0
	for n < len(buf) {
		m, err := nc.Read(buf[n:])
		n += m
		if end := bytes.IndexByte(buf[:n], '\n'); end >= 0 {
			if end+1 < n {
				break
			}
			return bytes.TrimSuffix(buf[:end], []byte("\r")), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("more than a line")
}

// parseVersion reads three numbers with points between them; what stands behind
// the last digit, as in 1.6.18-rc1, is not looked at.
func parseVersion(text string) (v version, ok bool) {
	for i := range v {
		end := 0
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(text[:end])
		if err != nil {
			return v, false
		}
		v[i], text = n, text[end:]
		if i < len(v)-1 {
			if text, ok = strings.CutPrefix(text, "."); !ok {
				return v, false
			}
		}
	}
	return v, true
}

type version [3]int
