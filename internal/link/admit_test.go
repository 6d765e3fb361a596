package link

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file tests what comes before a connection may be used.

// unproven lets s make connections that the server has yet to accept.
func (s *stage) unproven() *stage {
	dial := s.cfg.Dial
	s.cfg.Dial = func(ctx context.Context) (net.Conn, error) {
		nc, err := dial(ctx)
		return Unproven{nc}, err
	}
	return s
}

// A server that hangs up in place of a first reply has failed a dial: no call
// was on the connection, and the next dial waits.
func TestUnprovenConnectionThatIsRefused(t *testing.T) {
	for name, p := range map[string]Protocol{"meta": Meta, "classic": Classic, "binary": Binary} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) { p.in.ReadByte() }).unproven()
				s.cfg.Protocol = p
				for range 100 {
					_, err := s.get("k")
					var lost *LostError
					require.ErrorAs(t, err, &lost)
					assert.True(t, lost.Dial)
					assert.False(t, lost.Sent)
					assert.ErrorIs(t, err, io.EOF)
				}
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

func TestUnprovenConnectionThatIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			assert.Equal(t, []string{"version"}, p.next().words)
			p.say("VERSION 1.6.45\r\n")
			p.serve()
		}).unproven()
		s.wantValue(t, "k")
		s.wantValue(t, "l")
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// What is no answer to the first question is a failed dial too, and bounded in
// time and size.
func TestUnprovenConnectionWithoutAnAnswer(t *testing.T) {
	rows := map[string]struct {
		protocol Protocol
		play     func(p *peer)
		timeout  bool
	}{
		"silence":                 {Meta, silent, true},
		"silence, binary":         {Binary, silent, true},
		"slow drip":               {Meta, drip("V"), true},
		"slow drip, binary":       {Binary, drip("\x81\x0b"), true},
		"endless line":            {Meta, flood("VERSION 1"), false},
		"two lines":               {Meta, flood("VERSION 1.6.45\r\nEN\r\n"), false},
		"no reply, binary":        {Binary, flood("VERSION 1"), false},
		"another opcode, binary":  {Binary, flood("\x81\x0a" + strings.Repeat("\x00", 22)), false},
		"another request, binary": {Binary, flood("\x81\x0b" + strings.Repeat("\x00", 10) + "\x01" + strings.Repeat("\x00", 11)), false},
		"length bomb, binary":     {Binary, flood("\x81\x0b\x00\x00\x00\x00\x00\x00\x3f\xff\xff\xff" + strings.Repeat("\x00", 12)), false},
		"long body, binary":       {Binary, flood("\x81\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x04\x01" + strings.Repeat("\x00", 12)), false},
		"bad lengths, binary":     {Binary, flood("\x81\x0b\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01" + strings.Repeat("\x00", 12)), false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, row.play).unproven()
				s.cfg.Protocol = row.protocol
				start, before := time.Now(), allocated()
				_, err := s.get("k")
				assert.LessOrEqual(t, time.Since(start), limit)
				assert.Less(t, allocated()-before, uint64(1<<20))
				var lost *LostError
				require.ErrorAs(t, err, &lost)
				assert.True(t, lost.Dial)
				var late net.Error
				assert.Equal(t, row.timeout, errors.As(err, &late) && late.Timeout(), "%v", err)
				if !row.timeout {
					var nonsense *ProtocolError
					require.ErrorAs(t, err, &nonsense)
					assert.Empty(t, nonsense.Got)
				}
			})
		})
	}
}

// drip reads a byte, says s, and then a byte each moment, for ever.
func drip(s string) func(*peer) {
	return func(p *peer) {
		p.in.ReadByte()
		p.say(s)
		for {
			if _, err := p.Write([]byte{' '}); err != nil {
				return
			}
			time.Sleep(limit / 20)
		}
	}
}

// flood reads a byte and says s again and again.
func flood(s string) func(*peer) {
	return func(p *peer) {
		p.in.ReadByte()
		go p.ignore()
		for {
			if _, err := io.WriteString(p, s); err != nil {
				return
			}
		}
	}
}
