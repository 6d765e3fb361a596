package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file tests how a connection shows a name and a password.

var secret = Credentials{"user", "pass word"}

// showing lets s show who.
func (s *stage) showing(p Protocol, who Credentials) *stage {
	s.cfg.Protocol = p
	s.cfg.Credentials = func(context.Context) (*Credentials, error) { return &who, nil }
	return s
}

// The credentials are the first that is said, alone, on each connection.
func TestLogInComesFirst(t *testing.T) {
	for name, p := range map[string]Protocol{"meta": Meta, "classic": Classic, "auto": Auto} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					a := p.next()
					assert.Equal(t, []string{"set", "auth", "0", "-1", "14"}, a.words)
					assert.Equal(t, "user pass word", a.value)
					time.Sleep(limit / 4)
					assert.Zero(t, p.in.Buffered(), "nothing behind the credentials before their answer")
					p.say("STORED\r\n")
					for a := p.next(); a != nil; a = p.next() {
						if a.words[0] == "mn" {
							p.say("MN\r\n")
							continue
						}
						p.say(a.answer())
					}
				}).showing(p, secret)
				s.wantValue(t, "k")
				require.NoError(t, s.Close())
				s.wantValue(t, "k")
				assert.EqualValues(t, 2, s.dials.Load())
			})
		})
	}
}

// A server that does not like the question is shown the credentials again, on
// the connection that takes its place.
func TestLogInOnTheSecondConnectionOfAuto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				if a.words[0] == "version" {
					return
				}
				p.say(a.answer())
			}
		}).showing(Auto, secret)
		asked := 0
		s.cfg.Credentials = func(context.Context) (*Credentials, error) { asked++; return &secret, nil }
		s.wantValue(t, "k")
		assert.EqualValues(t, 2, s.dials.Load())
		assert.Equal(t, 1, asked)
	})
}

func TestLogInVerdicts(t *testing.T) {
	rows := map[string]error{
		"CLIENT_ERROR authentication failure\r\n":          ErrAuth,
		"CLIENT_ERROR unauthenticated\r\n":                 ErrAuth,
		"CLIENT_ERROR bad authentication token format\r\n": ErrAuth,
		"CLIENT_ERROR auth token too long\r\n":             ErrAuth,
		"CLIENT_ERROR user pass word\r\n":                  ErrAuth, // repeats what it was told
		"ERROR Too many open connections\r\n":              errAuthUndecided,
		"ERROR user pass word\r\n":                         errAuthUndecided,
		"SERVER_ERROR out of memory\r\n":                   errAuthUndecided,
		"user pass word\r\n":                               errMispaired,
		"STOREDuser pass word\r\n":                         errMispaired,
		"HD\r\n":                                           errMispaired,
		"\r\n":                                             errMispaired,
		"STORED\r\nEN O0\r\n":                              errLongReply,
		"":                                                 io.EOF,
		"STO":                                              io.EOF,
	}
	for said, want := range rows {
		t.Run(said, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					p.next()
					p.say(said)
					if want != io.EOF {
						assert.Nil(t, p.next(), "nothing follows")
					}
				}).showing(Meta, secret)
				for range 100 {
					wantFailedDial(t, s, want)
				}
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

// wantFailedDial asks for a key and expects that no connection could be made,
// for that reason, and that the error says nothing of the credentials.
func wantFailedDial(t *testing.T, s *stage, want error) {
	t.Helper()
	_, err := s.get("k")
	var lost *LostError
	require.ErrorAs(t, err, &lost)
	assert.True(t, lost.Dial)
	assert.False(t, lost.Sent)
	assert.ErrorIs(t, err, want)
	shown := fmt.Sprintf("%+v %#v", err, lost.Err)
	assert.NotContains(t, shown, "pass word")
	var nonsense *ProtocolError
	if errors.As(err, &nonsense) {
		assert.Empty(t, nonsense.Got)
	}
}

// A refusal pauses the dials, and each further one for longer, up to a second:
// the server is not asked in a loop.
func TestLogInIsNotRepeatedInALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			p.next()
			p.say("CLIENT_ERROR authentication failure\r\n")
		}).showing(Auto, secret)
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
			wantFailedDial(t, s, ErrAuth)
		}
		assert.Less(t, s.dials.Load(), int32(150))
		assert.Greater(t, s.dials.Load(), int32(30), "but it is asked again: the password may be a new one")
	})
}

// What cannot be sent is not, and costs no dial.
func TestLogInChecksTheCredentials(t *testing.T) {
	text, all := []Protocol{Meta, Classic, Auto}, []Protocol{Meta, Classic, Auto, Binary}
	long := strings.Repeat("x", 16<<10)
	rows := map[string]struct {
		who       Credentials
		protocols []Protocol
	}{
		"no name":          {Credentials{"", "password"}, all},
		"space in name":    {Credentials{"a user", "password"}, text},
		"line in name":     {Credentials{"user\r\nflush_all", "password"}, all},
		"NUL in name":      {Credentials{"user\x00", "password"}, all},
		"line in password": {Credentials{"user", "password\r\nflush_all\r\n"}, all},
		"LF in password":   {Credentials{"user", "password\n"}, all},
		"NUL in password":  {Credentials{"user", "\x00password"}, all},
		"long name":        {Credentials{long, "p"}, all},
		"long password":    {Credentials{"user", long}, all},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, p := range row.protocols {
					s := onPipe(t, limit, healthy).showing(p, row.who)
					_, err := s.get("k")
					var lost *LostError
					require.ErrorAs(t, err, &lost)
					assert.True(t, lost.Dial)
					assert.ErrorIs(t, err, ErrCredentials)
					assert.NotContains(t, err.Error(), "password\r")
					assert.Zero(t, s.dials.Load())
				}
			})
		})
	}
}

// Credentials are asked for before each dial, and may fail or be late.
func TestLogInAsksForCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s := onPipe(t, limit, func(p *peer) {
			got = append(got, p.next().value)
			p.say("STORED\r\n")
			p.serve()
		})
		var who Credentials
		var fails error
		s.cfg.Credentials = func(ctx context.Context) (*Credentials, error) {
			_, bounded := ctx.Deadline()
			assert.True(t, bounded)
			if fails == context.DeadlineExceeded {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &who, fails
		}
		for _, who = range []Credentials{{"user", "first"}, {"user", "second"}} {
			s.wantValue(t, "k")
			s.wantValue(t, "l")
			require.NoError(t, s.Close())
		}
		assert.Equal(t, []string{"user first", "user second"}, got)

		fails = errors.New("no credentials today")
		wantFailedDial(t, s, fails)
		require.NoError(t, s.Close())
		fails = context.DeadlineExceeded
		start := time.Now()
		wantFailedDial(t, s, fails)
		assert.LessOrEqual(t, time.Since(start), limit)
		assert.EqualValues(t, 2, s.dials.Load())
	})
}

// Without credentials the server that wants some is known by its first word,
// and no value is sent to it that it would take for a password.
func TestAutoMeetsAServerThatWantsCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, limit, func(p *peer) {
			assert.Equal(t, []string{"version"}, p.next().words)
			p.say("CLIENT_ERROR unauthenticated\r\n")
			assert.Nil(t, p.next())
		})
		s.cfg.Protocol = Auto
		wantFailedDial(t, s, ErrAuth)
	})
}

// packet is a request or a reply of the binary protocol without extras.
type packet struct {
	opcode byte
	status uint16
	key    string
	value  string
}

func (p *peer) nextPacket() packet {
	var header [24]byte
	if _, err := io.ReadFull(p.in, header[:]); err != nil {
		return packet{}
	}
	body := make([]byte, binary.BigEndian.Uint32(header[8:]))
	io.ReadFull(p.in, body)
	key := binary.BigEndian.Uint16(header[2:])
	return packet{header[1], 0, string(body[:key]), string(body[key:])}
}

func (p *peer) sayPacket(r packet) {
	var header [24]byte
	header[0], header[1] = 0x81, r.opcode
	binary.BigEndian.PutUint16(header[6:], r.status)
	binary.BigEndian.PutUint32(header[8:], uint32(len(r.value)))
	p.say(string(header[:]) + r.value)
}

func TestLogInBySASL(t *testing.T) {
	const list, start, step = 0x20, 0x21, 0x22
	var (
		asksList = packet{list, 0, "", ""}
		offers   = packet{list, 0, "", "CRAM-MD5 plain ANONYMOUS"}
		starts   = packet{start, 0, "PLAIN", "\x00user\x00pass word"}
		steps    = packet{step, 0, "PLAIN", "\x00user\x00pass word"}
	)
	type turn struct{ asked, said packet }
	rows := map[string]struct {
		play []turn
		want error // nil: the connection is used
	}{
		"good":            {[]turn{{asksList, offers}, {starts, packet{start, 0, "", "Authenticated"}}}, nil},
		"in two steps":    {[]turn{{asksList, offers}, {starts, packet{start, 0x21, "", "?"}}, {steps, packet{step, 0, "", ""}}}, nil},
		"wrong":           {[]turn{{asksList, offers}, {starts, packet{start, 0x20, "", "Auth failure."}}}, ErrAuth},
		"wrong, in steps": {[]turn{{asksList, offers}, {starts, packet{start, 0x21, "", ""}}, {steps, packet{step, 0x20, "", ""}}}, ErrAuth},
		"repeats it":      {[]turn{{asksList, offers}, {starts, packet{start, 0x20, "", "user pass word"}}}, ErrAuth},
		"steps and steps": {[]turn{{asksList, offers}, {starts, packet{start, 0x21, "", ""}}, {steps, packet{step, 0x21, "", ""}}}, errMispaired},
		"no PLAIN":        {[]turn{{asksList, packet{list, 0, "", "CRAM-MD5 PLAINER"}}}, ErrAuth},
		"no SASL":         {[]turn{{asksList, packet{list, 0x81, "", "Unknown command"}}}, ErrAuth},
		"out of memory":   {[]turn{{asksList, offers}, {starts, packet{start, 0x82, "", ""}}}, errAuthUndecided},
		"other opcode":    {[]turn{{asksList, offers}, {starts, packet{step, 0, "", ""}}}, errMispaired},
		"hangs up":        {[]turn{{asksList, offers}}, io.EOF},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, func(p *peer) {
					for _, turn := range row.play {
						assert.Equal(t, turn.asked, p.nextPacket())
						p.sayPacket(turn.said)
					}
					if row.want == nil {
						assert.Equal(t, packet{0, 0, "k", ""}, p.nextPacket())
						p.sayPacket(packet{0, 1, "", "Not found"})
					}
					if row.want == io.EOF {
						p.nextPacket()
						return
					}
					assert.Zero(t, p.nextPacket(), "nothing follows")
				}).showing(Binary, secret)
				if row.want == nil {
					_, err := s.get("k")
					assert.Equal(t, errMiss, err)
					return
				}
				for range 100 {
					wantFailedDial(t, s, row.want)
				}
				assert.EqualValues(t, 1, s.dials.Load())
			})
		})
	}
}

// A verdict that does not come, or does not end, costs bounded time and memory.
func TestLogInWithoutAVerdict(t *testing.T) {
	offers := "\x81\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05" + strings.Repeat("\x00", 12) + "PLAIN"
	rows := map[string]struct {
		protocol Protocol
		play     func(p *peer)
		timeout  bool
	}{
		"silence":                  {Meta, silent, true},
		"silence, binary":          {Binary, silent, true},
		"slow drip":                {Auto, drip("S"), true},
		"slow drip, binary":        {Binary, drip("\x81\x20"), true},
		"endless line":             {Meta, flood("STORED"), false},
		"endless lines":            {Classic, flood("CLIENT_ERROR authentication failure\r\n"), false},
		"endless list, binary":     {Binary, flood("\x81\x20\x00\x00\x00\x00\x00\x00\x3f\xff\xff\xff" + strings.Repeat("\x00", 12)), false},
		"endless verdict, binary":  {Binary, flood(offers + "\x81\x21\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff" + strings.Repeat("\x00", 12)), false},
		"text in place of packets": {Binary, flood("CLIENT_ERROR unauthenticated\r\n"), false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onPipe(t, limit, row.play).showing(row.protocol, secret)
				start, before := time.Now(), allocated()
				_, err := s.get("k")
				assert.LessOrEqual(t, time.Since(start), limit)
				assert.Less(t, allocated()-before, uint64(1<<20))
				var lost *LostError
				require.ErrorAs(t, err, &lost)
				assert.True(t, lost.Dial)
				var late net.Error
				assert.Equal(t, row.timeout, errors.As(err, &late) && late.Timeout(), "%v", err)
			})
		})
	}
}

// Close ends a log-in that is under way.
func TestCloseDuringLogIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onPipe(t, time.Hour, silent).showing(Meta, secret)
		failed := later(func() error { _, err := s.get("k"); return err })
		synctest.Wait()
		require.NoError(t, s.Close())
		assert.ErrorIs(t, <-failed, ErrClosed)
	})
}
