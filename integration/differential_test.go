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
	diffTime     = 5 * time.Second
	diffSeed     = "MEMCACHE_DIFF_SEED"
	maxReports   = 10
)

// recordedVersions are those whose answers the embedded server gives.
var recordedVersions = []string{"1.6.45", "1.6.18"}

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

func TestDifferentialText(t *testing.T) {
	for _, version := range recordedVersions {
		t.Run(version, func(t *testing.T) {
			real := realserver.Start(t, realserver.Config{Version: version, Args: []string{"-t", "1"}})
			embedded := memcachetest.NewServer(t, memcachetest.Config{Version: version})
			g := newGenerator(seed(t))
			done, found, enough := 0, 0, budget(t)
			for run := 0; !enough(done) && found < maxReports; run++ {
				script := g.script(scriptLength)
				d := differ{run: run, real: real, embedded: embedded}
				if d.differs(t, script) {
					d.report(t, d.shrink(t, script))
					found++
				}
				done += len(script)
			}
			t.Logf("%s: %d commands compared", version, done)
		})
	}
}

type server interface {
	Network() string
	Addr() string
}

type differ struct {
	run            int
	tries          int
	real, embedded server
}

// replies sends a script on a fresh connection and returns all that came back, with
// CAS values relative to the server's counter at the start.
func (d *differ) replies(t *testing.T, s server, prefix string, script []string) []byte {
	nc, err := net.Dial(s.Network(), s.Addr())
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.SetDeadline(time.Now().Add(20*time.Second)))

	_, err = io.WriteString(nc, "ms differential 0 c\r\n\r\n")
	require.NoError(t, err)
	head := make([]byte, 64)
	n, err := nc.Read(head)
	require.NoError(t, err)
	var cas uint64
	_, err = fmt.Sscanf(string(head[:n]), "HD c%d\r\n", &cas)
	require.NoError(t, err)

	var wire []byte
	for _, template := range script {
		wire = append(wire, expand(template, prefix, cas)...)
	}
	// A value that is announced longer than it is takes some of these, and not the end.
	wire = append(wire, strings.Repeat("mn\r\n", 8)+"quit\r\n"...)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		nc.Write(wire)
		nc.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, _ := io.ReadAll(nc) // a reset is an end like any other
	nc.Close()
	<-sent
	return relative(bytes.ReplaceAll(got, []byte(prefix), []byte("PREFIX")), cas)
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
func (d *differ) differs(t *testing.T, script []string) bool {
	a, b := d.both(t, script)
	return !equalReplies(a, b)
}

func (d *differ) both(t *testing.T, script []string) (real, embedded []byte) {
	d.tries++
	prefix := fmt.Sprintf("%05d.%05d.", d.run, d.tries)
	return d.replies(t, d.real, prefix, script), d.replies(t, d.embedded, prefix, script)
}

// shrink drops commands as long as the servers still differ.
func (d *differ) shrink(t *testing.T, script []string) []string {
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

func (d *differ) report(t *testing.T, script []string) {
	real, embedded := d.both(t, script)
	if equalReplies(real, embedded) {
		return
	}
	var text strings.Builder
	for _, template := range script {
		fmt.Fprintf(&text, "  %.700q\n", expand(template, "PREFIX", 1000))
	}
	t.Errorf("replies differ (CAS shown as if the counter began at 1000)\nscript:\n%sreal:     %.600q\nembedded: %.600q", text.String(), real, embedded)
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
