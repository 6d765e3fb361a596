package memcachetest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vaquero-cache/memcache/internal/transcript"
)

// vectorExceptions names the cases that the server answers differently, and why.
var vectorExceptions = map[string]string{}

// loadVectors reads the recorded transcripts.
func loadVectors(t *testing.T) []*transcript.Case {
	t.Helper()
	dir := "testdata"
	if other := os.Getenv("MEMCACHE_VECTORS"); other != "" {
		dir = other
	}
	cases, err := transcript.Load(filepath.Join(dir, "transcripts"))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// vectorConfig is the server that a case was recorded on.
func vectorConfig(c *transcript.Case, version string) Config {
	cfg := Config{Version: version}
	switch c.Server {
	case "auth":
		cfg.Users = map[string]string{"alice": "secret", "bob": "pa ss"}
	case "sasl":
		cfg.SASLUsers = map[string]string{"alice": "secret"}
	}
	return cfg
}

// replayVectors runs every case recorded on version, each on a server of its own,
// and logs the counts.
func replayVectors(t *testing.T, version string, run func(t *testing.T, c *transcript.Case)) {
	var checked, failed, skipped atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for _, c := range loadVectors(t) {
			if !c.RecordedOn(version) {
				continue // the proxy's answers
			}
			if reason := vectorExceptions[c.Name]; reason != "" {
				t.Logf("skipped %s: %s", c.Name, reason)
				skipped.Add(1)
				continue
			}
			t.Run(strings.TrimSuffix(c.File, ".txt")+"/"+c.Name, func(t *testing.T) {
				checked.Add(1)
				run(t, c)
				if t.Failed() {
					failed.Add(1)
				}
			})
		}
	})
	t.Logf("%s: %d cases checked, %d skipped, %d failed", version, checked.Load(), skipped.Load(), failed.Load())
	if total := checked.Load() + skipped.Load(); skipped.Load()*50 > total {
		t.Errorf("%d exceptions are more than 2 %% of %d cases", skipped.Load(), total)
	}
}

// TestVectorsInMemory replays over in-memory connections in virtual time, where
// "nothing comes" is exact.
func TestVectorsInMemory(t *testing.T) {
	for _, version := range []string{"1.6.45", "1.6.18"} {
		t.Run(version, func(t *testing.T) {
			replayVectors(t, version, func(t *testing.T, c *transcript.Case) {
				synctest.Test(t, func(t *testing.T) {
					cfg := vectorConfig(c, version)
					cfg.Network = NetworkPipe
					s := NewServer(t, cfg)
					err := c.Replay(transcript.Target{
						Dial:     func() (net.Conn, error) { return s.Dial(t.Context(), "", "") },
						Versions: []string{version},
					})
					if err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// TestVectorsOverTCP replays over sockets, where the ends of packets are the
// kernel's choice.
func TestVectorsOverTCP(t *testing.T) {
	for _, version := range []string{"1.6.45", "1.6.18"} {
		t.Run(version, func(t *testing.T) {
			replayVectors(t, version, func(t *testing.T, c *transcript.Case) {
				s := NewServer(t, vectorConfig(c, version))
				err := c.Replay(transcript.Target{
					Dial:     func() (net.Conn, error) { return net.Dial(s.Network(), s.Addr()) },
					Versions: []string{version},
					Silence:  20 * time.Millisecond,
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}
