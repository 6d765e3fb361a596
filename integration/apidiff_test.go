package integration

// The exported names of gomemcache against ours, as apidiff sees them: a program
// that compiles with the one must compile with the other.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// incompatible are the lines of apidiff that are accepted, each with the reason.
// There are none: every addition so far is of a kind that no caller can notice.
var incompatible = map[string]string{}

func TestAPIHoldsGomemcaches(t *testing.T) {
	source := fetch(t, gomemcache, gomemcacheVersion)
	program := apidiff(t)
	dir := t.TempDir()

	// apidiff takes the import path for a part of each type, so gomemcache's
	// package goes by the name of ours.
	files, err := filepath.Glob(filepath.Join(source, "memcache", "*.go"))
	require.NoError(t, err)
	copied := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		write(t, dir, filepath.Base(file), string(src))
		copied++
	}
	require.NotZero(t, copied)
	write(t, dir, "go.mod", "module "+ours+"\n\ngo 1.25.0\n")

	theirs, mine := filepath.Join(dir, "gomemcache.api"), filepath.Join(dir, "ours.api")
	run(t, dir, program, "-w", theirs, ours)
	run(t, "..", program, "-w", mine, ours)

	var found []string
	for line := range strings.Lines(run(t, dir, program, "-incompatible", theirs, mine)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "- ") {
			found = append(found, strings.TrimPrefix(line, "- "))
		}
	}
	for _, line := range found {
		why, accepted := incompatible[line]
		assert.True(t, accepted, "incompatible with gomemcache: %s", line)
		t.Logf("accepted: %s: %s", line, why)
	}
	for line := range incompatible {
		assert.Contains(t, found, line, "explained, and no longer there")
	}
	added := strings.Count(run(t, dir, program, theirs, mine), ": added\n")
	assert.NotZero(t, added, "the two cannot be equal: was one of them read at all?")
	t.Logf("%d incompatible, %d added", len(found), added)
}

// apidiff builds the program in the version that tools/go.mod pins.
func apidiff(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "apidiff")
	out, err := exec.Command("go", "build", "-C", "../tools", "-o", program, "golang.org/x/exp/cmd/apidiff").CombinedOutput()
	if err != nil {
		t.Skipf("skipped: apidiff cannot be built, which takes its source from the module proxy: %v\n%s", err, out)
	}
	return program
}

// run runs a program in dir, which must succeed, and returns what it printed.
func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q\n%s", program, args, out)
	return string(out)
}
