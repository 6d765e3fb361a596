package integration

// The embedded server against real ones: the same random scripts must give the
// same replies.

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

const (
	// scriptLength is the number of commands on one connection. memcached writes its
	// replies after 20, and what it answers may depend on what is unsent, so a script
	// with its end is no longer than that.
	scriptLength = 11
	// diffCommands names the variable with the number of commands to compare; unset
	// means as many as diffTime allows.
	diffCommands = "MEMCACHE_DIFF_COMMANDS"
	diffTime     = 1750 * time.Millisecond
	diffSeed     = "MEMCACHE_DIFF_SEED"
	maxReports   = 10
)

// recordedVersions are those whose answers the embedded server gives.
var recordedVersions = []string{"1.6.45", "1.6.18"}

// differentialOptions are those of a real server, and the same of the embedded one.
var differentialOptions = []struct {
	real     []string
	embedded memcachetest.Config
}{
	{nil, memcachetest.Config{Version: "1.6.45"}},
	{nil, memcachetest.Config{Version: "1.6.18"}},
	{[]string{"-C"}, memcachetest.Config{Version: "1.6.45", DisableCAS: true}},
	{[]string{"-C"}, memcachetest.Config{Version: "1.6.18", DisableCAS: true}},
}

func seed(t *testing.T) uint64 {
	s := rand.Uint64()
	if text := os.Getenv(diffSeed); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		s = n
	}
	t.Logf("%s=%d", diffSeed, s)
	return s
}

// budget tells when enough has been compared.
func budget(t *testing.T) func(done int) bool {
	if text := os.Getenv(diffCommands); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return func(done int) bool { return done >= n }
	}
	end := time.Now().Add(diffTime)
	return func(int) bool { return time.Now().After(end) }
}

// command is a request that can be sent again under other key names and against
// another CAS counter.
type command interface {
	wire(prefix string, cas uint64) []byte
	String() string
}

// differ compares a real server with the embedded one.
type differ struct {
	real, embedded server
	// replies sends a script on a fresh connection and returns all that came back.
	replies func(t *testing.T, s server, prefix string, script []command) []byte
	equal   func(a, b []byte) bool

	runs int // scripts sent so far, each with key names of its own
}

func TestDifferentialText(t *testing.T) {
	compare(t, pipelined, equalReplies, func(seed uint64) func() []command {
		g := newGenerator(seed)
		return func() []command { return g.script(scriptLength) }
	})
}

// TestDifferentialOneByOne waits for each reply, so that nothing depends on what is
// unsent, and large values can be among the commands.
func TestDifferentialOneByOne(t *testing.T) {
	compare(t, oneByOne, equalReplies, func(seed uint64) func() []command {
		g := newGenerator(seed)
		g.withLarge = true
		return func() []command { return g.script(4 * scriptLength) }
	})
}

func TestDifferentialBinary(t *testing.T) {
	compare(t, packets, bytes.Equal, func(seed uint64) func() []command {
		g := newPacketGenerator(seed)
		return func() []command { return g.script(scriptLength) }
	})
}

func compare(t *testing.T, replies func(*testing.T, server, string, []command) []byte,
	equal func(a, b []byte) bool, generate func(seed uint64) func() []command) {
	for _, options := range differentialOptions {
		version := options.embedded.Version
		t.Run(strings.Join(append([]string{version}, options.real...), " "), func(t *testing.T) {
			d := differ{
				real:     realserver.Start(t, realserver.Config{Version: version, Args: append([]string{"-t", "1"}, options.real...)}),
				embedded: memcachetest.NewServer(t, options.embedded),
				replies:  replies, equal: equal,
			}
			script := generate(seed(t))
			done, found, enough := 0, 0, budget(t)
			for !enough(done) && found < maxReports {
				s := script()
				if d.differs(t, s) {
					d.report(t, d.shrink(t, s))
					found++
				}
				done += len(s)
			}
			t.Logf("%s: %d commands compared", version, done)
		})
	}
}

type server interface {
	Network() string
	Addr() string
}

const patience = 20 * time.Second

// dialServer connects; nothing on the connection takes longer than patience.
func dialServer(t *testing.T, s server) net.Conn {
	t.Helper()
	nc, err := net.Dial(s.Network(), s.Addr())
	require.NoError(t, err)
	require.NoError(t, nc.SetDeadline(time.Now().Add(patience)))
	return nc
}

// counter asks for the server's CAS counter, by taking a value from it.
func counter(t *testing.T, nc net.Conn) uint64 {
	t.Helper()
	_, err := io.WriteString(nc, "ms differential 0 c\r\n\r\n")
	require.NoError(t, err)
	head := make([]byte, 64)
	n, err := nc.Read(head)
	require.NoError(t, err)
	var cas uint64
	_, err = fmt.Sscanf(string(head[:n]), "HD c%d\r\n", &cas)
	require.NoError(t, err)
	return cas
}

// sendAll writes all of wire, ends its side, and reads to the end.
func sendAll(nc net.Conn, wire []byte) []byte {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		nc.Write(wire)
		nc.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, _ := io.ReadAll(nc) // a reset is an end like any other
	nc.Close()
	<-sent
	return got
}

// pipelined sends a text script in one piece.
func pipelined(t *testing.T, s server, prefix string, script []command) []byte {
	nc := dialServer(t, s)
	cas := counter(t, nc)
	var wire []byte
	for _, c := range script {
		wire = append(wire, c.wire(prefix, cas)...)
	}
	// A value that is announced longer than it is takes some of these, and not the end.
	wire = append(wire, strings.Repeat("mn\r\n", 8)+"quit\r\n"...)
	return normal(sendAll(nc, wire), prefix, cas)
}

func normal(reply []byte, prefix string, cas uint64) []byte {
	return relative(bytes.ReplaceAll(reply, []byte(prefix), []byte("PREFIX")), cas)
}

// oneByOne sends a text script command by command. Behind each go three questions,
// the last of which arrives even when a value took the first ones.
func oneByOne(t *testing.T, s server, prefix string, script []command) []byte {
	nc := dialServer(t, s)
	defer nc.Close()
	cas := counter(t, nc)
	var all []byte
	buf := make([]byte, 64<<10)
	for i, c := range script {
		wire := c.wire(prefix, cas)
		for q := range 3 {
			wire = fmt.Appendf(wire, "mg question.%d.%d k\r\n", i, q)
		}
		end := fmt.Appendf(nil, "EN kquestion.%d.2\r\n", i)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			nc.Write(wire)
		}()
		var got []byte
		for !bytes.HasSuffix(got, end) {
			n, err := nc.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil {
				nc.Close()
				<-sent
				return normal(append(all, got...), prefix, cas)
			}
		}
		<-sent
		all = append(all, got...)
	}
	return normal(all, prefix, cas)
}

// packets sends a binary script in one piece.
func packets(t *testing.T, s server, prefix string, script []command) []byte {
	text := dialServer(t, s)
	cas := counter(t, text)
	text.Close()
	var wire []byte
	for _, c := range script {
		wire = append(wire, c.wire(prefix, cas)...)
	}
	const quit = 0x07
	wire = append(wire, packet{op: quit}.wire("", 0)...)
	got := sendAll(dialServer(t, s), wire)
	return bytes.ReplaceAll(relativePackets(got, cas), []byte(prefix), []byte("PREFIX"))
}

// relative rewrites the CAS values that the server's counter gave out.
func relative(reply []byte, cas uint64) []byte {
	lines := bytes.SplitAfter(reply, []byte("\n"))
	for i, line := range lines {
		fields := strings.Split(strings.TrimRight(string(line), "\r\n"), " ")
		changed := false
		for j, f := range fields {
			digits, isCAS := f, false
			switch {
			case strings.HasPrefix(f, "cas="):
				digits, isCAS = f[4:], true
			case strings.HasPrefix(f, "c") && len(f) > 1:
				digits, isCAS = f[1:], true
			case fields[0] == "VALUE" && j == 4:
				isCAS = true
			}
			n, err := strconv.ParseUint(digits, 10, 64)
			if isCAS && err == nil && n >= cas && n-cas < 1e6 {
				fields[j] = fmt.Sprintf("%s+%d", strings.TrimSuffix(f, digits), n-cas)
				changed = true
			}
		}
		if changed {
			lines[i] = []byte(strings.Join(fields, " ") + "\r\n")
		}
	}
	return bytes.Join(lines, nil)
}

// differs runs a script on both servers.
func (d *differ) differs(t *testing.T, script []command) bool {
	a, b := d.both(t, script)
	return !d.equal(a, b)
}

func (d *differ) both(t *testing.T, script []command) (real, embedded []byte) {
	d.runs++
	prefix := fmt.Sprintf("%08d.", d.runs)
	return d.replies(t, d.real, prefix, script), d.replies(t, d.embedded, prefix, script)
}

// shrink drops commands as long as the servers still differ.
func (d *differ) shrink(t *testing.T, script []command) []command {
	for size := len(script) / 2; size >= 1; size /= 2 {
		for at := 0; at+size <= len(script); {
			shorter := slices.Delete(slices.Clone(script), at, at+size)
			if d.differs(t, shorter) {
				script = shorter
			} else {
				at += size
			}
		}
	}
	return script
}

// report fails the test with a script that makes the servers differ. A difference
// that is gone came from the clock, or from how the kernel cut the script, and is
// only logged.
func (d *differ) report(t *testing.T, script []command) {
	real, embedded := d.both(t, script)
	if d.equal(real, embedded) {
		t.Logf("a difference did not come again")
		return
	}
	var text strings.Builder
	for _, c := range script {
		fmt.Fprintf(&text, "  %s\n", c)
	}
	t.Errorf("replies differ (CAS shown as if the counter began at 1000)\nscript:\n%sreal:     %.600q\nembedded: %.600q",
		text.String(), real, embedded)
}

// equalReplies compares word by word; seconds may be two apart.
func equalReplies(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := bytes.Fields(a), bytes.Fields(b)
	if len(x) != len(y) || len(bytes.Split(a, []byte(" "))) != len(bytes.Split(b, []byte(" "))) {
		return false
	}
	for i := range x {
		if !equalWords(string(x[i]), string(y[i])) {
			return false
		}
	}
	return true
}

func equalWords(x, y string) bool {
	if x == y {
		return true
	}
	for _, name := range []string{"t", "l", "exp=", "la="} {
		xs, okX := strings.CutPrefix(x, name)
		ys, okY := strings.CutPrefix(y, name)
		if !okX || !okY {
			continue
		}
		m, err1 := strconv.ParseInt(xs, 10, 64)
		n, err2 := strconv.ParseInt(ys, 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		// What is over is printed as an unsigned number that wraps, by the server's age.
		wrapped := m > 1<<31 && n > 1<<31
		return wrapped || max(m, n)-min(m, n) <= 2
	}
	return false
}
