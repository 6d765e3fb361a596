//go:build unix

package outage

// A server whose process is stopped: it keeps its memory and its connections, and
// does nothing.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
)

// halt stops a server and returns when none of its threads runs any more, where
// the system tells.
func halt(t *testing.T, s *realserver.Server) {
	t.Helper()
	require.NoError(t, s.Signal(syscall.SIGSTOP))
	until(t, "stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.Pid()))
		return !slices.ContainsFunc(threads, func(thread string) bool {
			stat, _ := os.ReadFile(thread)
			_, state, _ := strings.Cut(string(stat), ") ")
			return !strings.HasPrefix(state, "T")
		})
	})
}

// proceed ends a halt.
func proceed(t *testing.T, s *realserver.Server) {
	t.Helper()
	require.NoError(t, s.Signal(syscall.SIGCONT))
}
