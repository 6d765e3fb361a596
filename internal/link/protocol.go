package link

import (
	"context"
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

// open makes a connection, shows who we are and decides how to speak on it.
// Nothing with a body, and nothing of a caller, is sent before that is known; a
// server that does not like the question gets its first command on a fresh
// connection.
func (l *Link) open(ctx context.Context) (*conn, error) {
	token, err := l.token(ctx)
	if err != nil {
		return nil, err
	}
	nc, err := l.admitted(ctx, token)
	if err != nil {
		return nil, err
	}
	protocol := l.cfg.Protocol
	if protocol == Auto {
		var inStep bool
		patience := min(silence, l.cfg.DialTimeout()/2)
		protocol, inStep, err = ask(ctx, nc, patience)
		if err != nil || !inStep {
			abort(nc)
		}
		if err == nil && !inStep {
			nc, err = l.admitted(ctx, token)
		}
		if err != nil {
			return nil, err
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

// ask finds out whether nc speaks meta. inStep reports whether nc is as good as
// new, which it is not after silence, nonsense or a close. The error is that of
// a server which answers nobody whom it does not know.
func ask(ctx context.Context, nc net.Conn, patience time.Duration) (p Protocol, inStep bool, err error) {
	spoiled := converse(ctx, nc, time.Now().Add(patience), func() error {
		p, inStep, err = askBounded(nc)
		return nil
	})
	return p, inStep && spoiled == nil, err
}

func askBounded(nc net.Conn) (p Protocol, inStep bool, err error) {
	line, err := question(nc, classic.AppendVersion(nil))
	if err != nil {
		return Classic, false, nil
	}
	if string(line) == "CLIENT_ERROR unauthenticated" {
		return Classic, false, errNoCredentials
	}
	text, ok := strings.CutPrefix(string(line), "VERSION ")
	if !ok {
		return Classic, false, nil
	}
	if v, ok := parseVersion(text); !ok || slices.Compare(v[:], metaSince[:]) < 0 {
		return Classic, true, nil
	}
	if line, err = question(nc, []byte("mn\r\n")); err != nil || string(line) != "MN" {
		return Classic, false, nil
	}
	return Auto, true, nil
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
