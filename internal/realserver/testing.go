package realserver

// The form for tests: no server is a skip that says why, or a failure where
// servers are required.

import (
	"os"
	"testing"
)

// Start runs a server until the end of the test. Where the machine has none that
// fits cfg, the test is skipped, or fails under REQUIRE_MEMCACHED=1. A server
// that is there but does not start is always a failure.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	binary, err := find(cfg)
	if err != nil {
		skip(t, err.Error())
	}
	s, err := launch(t.Context(), cfg, binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	t.Logf("memcached %s, pid %d, on %s", s.Version(), s.Pid(), s.Addr())
	return s
}

// Each runs f as one subtest for each server version of the machine, named by it
// and from the oldest on. Where there is none it skips or fails as Start does.
func Each(t *testing.T, f func(t *testing.T, b Binary)) {
	t.Helper()
	binaries := Available()
	if len(binaries) == 0 {
		_, err := find(Config{})
		skip(t, err.Error())
	}
	for _, b := range binaries {
		t.Run(b.Version, func(t *testing.T) { f(t, b) })
	}
}

func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("REQUIRE_MEMCACHED") == "1" {
		t.Fatal(why + " (REQUIRE_MEMCACHED=1)")
	}
	t.Skip(why)
}
