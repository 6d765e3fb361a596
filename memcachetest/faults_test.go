package memcachetest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// faulty is what Server and Proxy have in common.
type faulty interface {
	Network() string
	Addr() string
	Inject(Fault) (remove func())
	Heal()
	Pause()
	Resume()
	Refuse(bool) error
	Stop()
	LimitConns(int)
}

// onBoth runs a test on a server, and on a proxy in front of one.
func onBoth(t *testing.T, f func(t *testing.T, s faulty)) {
	t.Run("server", func(t *testing.T) { f(t, NewServer(t)) })
	t.Run("proxy", func(t *testing.T) { f(t, NewProxy(t, NewServer(t).Addr())) })
}

const storeK = "ms k 5 F3\r\nhello\r\n"

func TestFaultsInText(t *testing.T) {
	const hit = "VA 5 O7\r\nhello\r\n"
	for name, row := range map[string]struct {
		do     Action
		want   string
		closed bool
	}{
		"delay":           {do: Delay(20 * time.Millisecond), want: hit + "MN\r\n"},
		"drip":            {do: Drip(4, time.Millisecond), want: hit + "MN\r\n"},
		"cut":             {do: Cut(3), want: "VA ", closed: true},
		"cut before":      {do: Cut(0), want: "", closed: true},
		"cut behind":      {do: Cut(1000), want: hit, closed: true},
		"cut value":       {do: CutValue(), want: "VA 5 O7\r\nhe", closed: true},
		"half close":      {do: HalfClose(), want: hit, closed: true},
		"drop":            {do: Drop(), want: "MN\r\n"},
		"duplicate":       {do: Duplicate(), want: hit + hit + "MN\r\n"},
		"swap":            {do: Swap(), want: "MN\r\n" + hit},
		"wrong opaque":    {do: WrongOpaque(), want: "VA 5 O6\r\nhello\r\nMN\r\n"},
		"corrupt header":  {do: CorruptHeader(), want: "CT5  O7\r\nhello\r\nMN\r\n"},
		"oversize length": {do: OversizeLength(), want: "VA 2147483638 O7\r\nhello\r\nMN\r\n"},
		"answer":          {do: Answer("SERVER_ERROR busy"), want: "SERVER_ERROR busy\r\nMN\r\n"},
		"empty line":      {do: Answer(""), want: "\r\nMN\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s faulty) {
				c := dial(t, s)
				c.send(storeK)
				c.want("HD\r\n")
				remove := s.Inject(Fault{Command: "mg", Do: row.do})
				c.send("mg k v O7\r\nmn\r\n")
				if row.closed {
					c.wantClosed(row.want)
				} else {
					c.want(row.want)
				}
				remove()
				remove() // does nothing
				c = dial(t, s)
				c.send("mg k v O7\r\nmn\r\n")
				c.want(hit + "MN\r\n")
			})
		})
	}
}

func TestFaultsInBinary(t *testing.T) {
	// getk k, opaque 7: flags 3, key, value; then a noop.
	header := func(status, extras, key, total int, opaque byte) string {
		b := []byte{magicReply, opGetK, 0, byte(key), byte(extras), 0, 0, byte(status), 0, 0, 0, byte(total), 0, 0, 0, opaque}
		return string(binary.BigEndian.AppendUint64(b, 1))
	}
	const body = "\x00\x00\x00\x03khello"
	hit := header(0, 4, 1, 10, 7) + body
	noop := "\x81\x0a" + string(make([]byte, 22))
	for name, row := range map[string]struct {
		do     Action
		want   string
		closed bool
	}{
		"cut value":       {do: CutValue(), want: hit[:len(hit)-3], closed: true},
		"swap":            {do: Swap(), want: noop + hit},
		"wrong opaque":    {do: WrongOpaque(), want: header(0, 4, 1, 10, 6) + body + noop},
		"corrupt header":  {do: CorruptHeader(), want: string([]byte{magicReply ^ 0x15, opGetK ^ 0x15, 0x15, 1 ^ 0x15}) + hit[4:] + noop},
		"oversize length": {do: OversizeLength(), want: hit[:8] + "\x7f\xff\xff\xf6" + hit[12:] + noop},
		"answer":          {do: Answer("busy"), want: header(0x84, 0, 0, 4, 7) + "busy" + noop},
		"out of memory":   {do: OutOfMemory(), want: "Out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s faulty) {
				text := dial(t, s)
				text.send("ms k 5 F3 E1\r\nhello\r\n")
				text.want("HD\r\n")
				s.Inject(Fault{Command: "getk", Do: row.do})
				c := dial(t, s)
				// In one piece: what came after a cut would turn it into a reset.
				c.send("\x80\x0c\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x07" + string(make([]byte, 8)) + "k" +
					"\x80\x0a" + string(make([]byte, 22)))
				switch {
				case row.closed:
					c.wantClosed(row.want)
				case row.do.kind == actNoMemory:
					reply := make([]byte, binaryHead)
					_, err := io.ReadFull(c.r, reply)
					require.NoError(t, err)
					assert.Equal(t, byte(statusNoMemory), reply[7])
					c.want(row.want + noop)
				default:
					c.want(row.want)
				}
			})
		})
	}
}

func TestOutOfMemoryStoresNothing(t *testing.T) {
	s := NewServer(t)
	c := dial(t, s)
	s.Inject(Fault{Do: OutOfMemory()})
	c.send("ms a 1\r\nx\r\nset b 0 0 1\r\nx\r\nma c N0\r\nmg a\r\n")
	c.want("SERVER_ERROR out of memory storing object\r\nSERVER_ERROR out of memory storing object\r\n" +
		"SERVER_ERROR out of memory\r\nSERVER_ERROR out of memory\r\n")
	assert.Empty(t, s.Keys())
	s.Heal()
	c.send("ms a 1\r\nx\r\n")
	c.want("HD\r\n")
}

func TestFaultSelection(t *testing.T) {
	const fine, bad = "MN\r\n", "bad\r\n"
	for name, row := range map[string]struct {
		fault       Fault
		first, last string // what three mn get on connection 1, and then on 2
	}{
		"all":             {Fault{}, bad + bad + bad, bad + bad + bad},
		"one connection":  {Fault{Conn: 2}, fine + fine + fine, bad + bad + bad},
		"other command":   {Fault{Command: "mg"}, fine + fine + fine, fine + fine + fine},
		"this command":    {Fault{Command: "mn", Times: 1}, bad + fine + fine, fine + fine + fine},
		"all but this":    {Fault{Except: []string{"mn"}}, fine + fine + fine, fine + fine + fine},
		"the second":      {Fault{After: 1, Times: 1}, fine + bad + fine, fine + fine + fine},
		"from the fourth": {Fault{After: 3}, fine + fine + fine, bad + bad + bad},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s faulty) {
				row.fault.Do = Answer("bad")
				s.Inject(row.fault)
				for _, want := range []string{row.first, row.last} {
					c := dial(t, s)
					c.send("mn\r\nmn\r\nmn\r\n")
					c.want(want)
				}
			})
		})
	}
}

func TestStallEndsWithTheFault(t *testing.T) {
	onBoth(t, func(t *testing.T, s faulty) {
		c := dial(t, s)
		remove := s.Inject(Fault{After: 1, Times: 1, Do: Stall()})
		c.send("mn\r\nversion\r\nmn\r\n")
		c.want("MN\r\n")
		c.wantNothing()
		remove()
		c.want("VERSION 1.6.45\r\nMN\r\n")

		s.Inject(Fault{Do: Stall()})
		c.send("mn\r\n")
		c.wantNothing()
		s.Heal()
		c.want("MN\r\n")
	})
}

func TestReset(t *testing.T) {
	onBoth(t, func(t *testing.T, s faulty) {
		c := dial(t, s)
		s.Inject(Fault{After: 1, Do: Reset()})
		c.send("mn\r\n")
		c.want("MN\r\n")
		c.send("mn\r\n")
		_, err := c.r.ReadByte()
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

func TestHalfCloseStillReads(t *testing.T) {
	s := NewServer(t)
	c := dial(t, s)
	s.Inject(Fault{Times: 1, Do: HalfClose()})
	c.send("mn\r\n")
	c.wantClosed("MN\r\n")
	c.send("ms k 1\r\nx\r\n")
	require.Eventually(t, func() bool { return len(s.Keys()) == 1 }, 5*time.Second, time.Millisecond)
}

func TestFaultOnWholeMultiget(t *testing.T) {
	onBoth(t, func(t *testing.T, s faulty) {
		c := dial(t, s)
		c.send("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\n")
		c.want("STORED\r\nSTORED\r\n")
		s.Inject(Fault{Command: "get", Times: 1, Do: Duplicate()})
		c.send("get a b\r\nget a\r\n")
		const both = "VALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n2\r\nEND\r\n"
		c.want(both + both + "VALUE a 0 1\r\n1\r\nEND\r\n")
	})
}

func TestPause(t *testing.T) {
	onBoth(t, func(t *testing.T, s faulty) {
		before := dial(t, s)
		before.send("mn\r\n")
		before.want("MN\r\n")
		s.Pause()
		during := dial(t, s)
		before.send("mn\r\n")
		during.send("mn\r\n")
		before.wantNothing()
		during.wantNothing()
		s.Resume()
		before.want("MN\r\n")
		during.want("MN\r\n")
	})
}

func TestRefuse(t *testing.T) {
	onBoth(t, func(t *testing.T, s faulty) {
		c := dial(t, s)
		c.send("mn\r\n")
		c.want("MN\r\n")
		require.NoError(t, s.Refuse(true))
		_, err := net.Dial(s.Network(), s.Addr())
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		c.send("mn\r\n")
		c.want("MN\r\n")
		require.NoError(t, s.Refuse(false))
		dial(t, s)
	})
}

func TestTurnedAway(t *testing.T) {
	onBoth(t, func(t *testing.T, s faulty) {
		s.LimitConns(0)
		dial(t, s).wantClosed("ERROR Too many open connections\r\n")
		s.LimitConns(1)
		c := dial(t, s)
		c.send("mn\r\n")
		c.want("MN\r\n")
	})
}

func TestStopAndRestart(t *testing.T) {
	s := NewServer(t)
	c := dial(t, s)
	c.send("ms k 1\r\nx\r\n")
	c.want("HD\r\n")
	s.Stop()
	c.wantClosed("")
	_, err := net.Dial(s.Network(), s.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = s.Dial(t.Context(), "", "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	require.NoError(t, s.RestartWarm())
	c = dial(t, s)
	c.send("mg k\r\n")
	c.want("HD\r\n")

	require.NoError(t, s.Restart())
	c.wantClosed("")
	c = dial(t, s)
	c.send("mg k\r\n")
	c.want("EN\r\n")

	require.NoError(t, s.Close())
	for name, f := range map[string]func() error{
		"restart": s.Restart, "warm": s.RestartWarm, "refuse": func() error { return s.Refuse(false) },
	} {
		assert.ErrorIs(t, f(), net.ErrClosed, name)
	}
}

func TestPersonalities(t *testing.T) {
	for name, row := range map[string]struct {
		is     Personality
		script string
		want   string
		closed bool
	}{
		"everything":   {Personality{}, "mn\r\nversion\r\n", "MN\r\nVERSION 1.6.45\r\n", false},
		"classic only": {ClassicOnly(), "mg k\r\nmn\r\nget k\r\nversion\r\n", "ERROR\r\nERROR\r\nEND\r\nVERSION 1.6.45\r\n", false},
		"add only":     {AddOnly(), "add k 0 0 1\r\nx\r\nget k\r\n", "STORED\r\n", true},
		"fake": {
			FakeClassic(), "set k 0 0 1\r\n5\r\nincr k 1\r\ngets x\r\ntouch k 0\r\ndelete k\r\nflush_all\r\nget k\r\n",
			"STORED\r\n6\r\nEND\r\nTOUCHED\r\nDELETED\r\nOK\r\n", true,
		},
		"version only":     {VersionOnly(), "get k\r\nmn\r\nset k 0 0 1\r\nx\r\nversion\r\n", "VERSION 1.6.45\r\n", false},
		"silent":           {Silent(), "version\r\nmn\r\n", "", false},
		"nonsense version": {NonsenseVersion(), "version\r\nmn\r\n", "I am a teapot\r\nMN\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewServer(t, Config{Personality: row.is})
			c := dial(t, s)
			c.send(row.script)
			if row.closed {
				c.wantClosed(row.want)
				return
			}
			c.want(row.want)
			c.wantNothing()
			s.SetPersonality(Personality{})
			c.send("mn\r\n")
			c.want("MN\r\n")
		})
	}
}

func TestPersonalityInBinary(t *testing.T) {
	noop := "\x80\x0a" + string(make([]byte, 22))
	for name, row := range map[string]struct {
		is     Personality
		want   string
		closed bool
	}{
		"error":   {Personality{Commands: []string{"get"}}, "\x81\x0a\x00\x00\x00\x00\x00\x81\x00\x00\x00\x0f" + string(make([]byte, 12)) + "Unknown command", false},
		"close":   {AddOnly(), "", true},
		"silence": {Silent(), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, NewServer(t, Config{Personality: row.is}))
			c.send(noop)
			if row.closed {
				c.wantClosed(row.want)
				return
			}
			c.want(row.want)
			c.wantNothing()
		})
	}
}

func TestFaultsOnPipes(t *testing.T) {
	s := NewServer(t, Config{Network: NetworkPipe})
	for name, do := range map[string]Action{"reset": Reset(), "half close": HalfClose(), "cut": Cut(1)} {
		t.Run(name, func(t *testing.T) {
			defer s.Inject(Fault{Do: do})()
			nc, err := s.Dial(t.Context(), "", "")
			require.NoError(t, err)
			c := newClient(t, nc)
			go io.WriteString(nc, "mn\r\n")
			_, err = io.ReadAll(c.r)
			if !errors.Is(err, io.ErrClosedPipe) {
				require.NoError(t, err)
			}
		})
	}
}
