package integration

// gomemcache, as it is published, against the embedded server.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/memcachetest"
)

// TestGomemcacheOnTheEmbeddedServer runs gomemcache's test of a server on localhost,
// which is here the embedded one, with each set of answers it can give.
func TestGomemcacheOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	source := fetch(t, gomemcache, gomemcacheVersion)
	for _, version := range recordedVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := memcachetest.NewServer(t, memcachetest.Config{Version: version})
			dir := t.TempDir()
			files, err := filepath.Glob(filepath.Join(source, "memcache", "*.go"))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			found := 0
			for _, file := range files {
				src, err := os.ReadFile(file)
				require.NoError(t, err)
				const line = `const localhostTCPAddr = "localhost:11211"`
				found += strings.Count(string(src), line)
				write(t, dir, filepath.Base(file),
					strings.ReplaceAll(string(src), line, fmt.Sprintf("const localhostTCPAddr = %q", s.Addr())))
			}
			require.Equal(t, 1, found)
			write(t, dir, "go.mod", "module "+gomemcache+"/memcache\n\ngo 1.21\n")

			test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", "^TestLocalhost$", ".")
			test.Dir = dir
			out, err := test.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "--- PASS: TestLocalhost", "%s", out)
			assert.Positive(t, s.Count("gets"))
			assert.Positive(t, s.Count("set"))
		})
	}
}
