package integration

// Public packages that are built on gomemcache, pointed at this module: what
// their own tests prove with gomemcache they must prove with us. The packages are
// fetched when the test runs, copied, and given another import path; nothing of
// them is kept.

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
)

// consumer is a module with packages that import gomemcache.
type consumer struct {
	name     string
	module   string
	version  string
	packages []string
	// server is the address at which its tests expect memcached. Empty: they run
	// against fakes of their own.
	server string
	// absent are modules that somebody in its graph names, none of its packages
	// need and the module proxy does not have.
	absent []string
	// env is what its tests want to find in the environment.
	env []string
	// through is a module, with its version, that hands gomemcache's types on to
	// this one and changes its import path with it. Empty: none.
	through, throughVersion string
}

var consumers = []consumer{
	{
		name:     "gin sessions",
		module:   "github.com/gin-contrib/sessions",
		version:  "v1.0.4",
		packages: []string{"./memcached"},
		server:   "localhost:11211",

		through:        "github.com/bradleypeabody/gorilla-sessions-memcache",
		throughVersion: "v0.0.0-20240916143655-c0e34fd2f304",
	},
	{
		name:     "httpcache",
		module:   "github.com/gregjones/httpcache",
		version:  "v0.0.0-20190611155906-901d90724c79",
		packages: []string{"./memcache"},
		server:   "localhost:11211",
	},
	{
		name:     "chi cache",
		module:   "gitea.com/go-chi/cache",
		version:  "v0.2.1",
		packages: []string{"./memcache"},
		server:   "127.0.0.1:9090",
	},
	{
		name:     "chi session",
		module:   "gitea.com/go-chi/session",
		version:  "v0.0.0-20260708011333-ebced8a7a2d6",
		packages: []string{"./memcache"},
		server:   "127.0.0.1:9090",
	},
	{
		name:     "Envoy rate limit",
		module:   "github.com/envoyproxy/ratelimit",
		version:  "v1.4.1-0.20260122083618-3fb702589d36",
		packages: []string{"./src/memcached", "./test/memcached"},
	},
	{
		name:     "Dapr state store",
		module:   "github.com/dapr/components-contrib",
		version:  "v1.18.0",
		packages: []string{"./state/memcached"},
	},
	{
		name:     "Datadog tracing",
		module:   "gopkg.in/DataDog/dd-trace-go.v1",
		version:  "v1.55.0", // the last ones hand on to modules of another name
		packages: []string{"./contrib/bradfitz/gomemcache/memcache"},
		server:   "localhost:11211",
		env:      []string{"INTEGRATION=1"},
		absent:   []string{"inet.af/netaddr"},
	},
}

func TestConsumersOfGomemcache(t *testing.T) {
	t.Parallel()
	if underRace {
		t.Skip("the packages are programs of their own, which the race detector does not see")
	}
	for _, c := range consumers {
		t.Run(c.name, func(t *testing.T) {
			with := c.test(t, false)
			if with.broken != "" {
				t.Skipf("skipped: no test of it runs with gomemcache here (no network?): %s", with.broken)
			}
			here := c.test(t, true)
			require.Empty(t, here.broken, "its tests run with gomemcache and not with this module")

			assert.Subset(t, here.passed, with.passed, "these pass with gomemcache:\n%s", here.output)
			t.Logf("compiles; %d of its %d tests pass, %d with gomemcache", len(here.passed), len(here.passed)+len(here.failed), len(with.passed))
			for _, test := range with.failed {
				t.Log("fails with gomemcache too: ", test)
			}
		})
	}
}

// verdict is what a run of a consumer's tests says.
type verdict struct {
	passed, failed []string // package and test
	output         string
	broken         string // why no test ran, for a build that failed; empty: some ran
}

// test runs the consumer's tests on a server of their own, with gomemcache or,
// moved, with this module.
func (c consumer) test(t *testing.T, moved bool) verdict {
	t.Helper()
	changes := map[string]string{}
	if c.server != "" {
		changes[c.server] = realserver.Start(t, realserver.Config{}).Addr()
	}
	if moved {
		changes[`"`+gomemcache+`/memcache"`] = `"` + ours + `"`
	}
	dir := copyModule(t, c.module, c.version, changes)
	if moved {
		requireOurs(t, dir)
		for _, module := range c.absent {
			empty := t.TempDir()
			write(t, empty, "go.mod", "module "+module+"\n\ngo 1.25.0\n")
			run(t, dir, "go", "mod", "edit", "-replace", module+"="+empty)
		}
		if c.through != "" {
			through := copyModule(t, c.through, c.throughVersion, changes)
			run(t, dir, "go", "mod", "edit", "-replace", c.through+"="+through)
		}
	}

	// What vet thinks of them is their affair.
	args := append([]string{"test", "-mod=mod", "-vet=off", "-count=1", "-timeout=60s", "-json"}, c.packages...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), c.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	v := parseEvents(t, &stdout)
	if len(v.passed)+len(v.failed) == 0 {
		require.Error(t, err, "no test ran, and the go command saw no fault in that")
		v.broken = v.output + stderr.String()
	}
	return v
}

// copyModule makes a writable copy of a module, its Go files changed: each key of
// changes, which must occur, becomes its value.
func copyModule(t *testing.T, module, version string, changes map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(fetch(t, module, version))))
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
		write(t, dir, "go.mod", "module "+module+"\n\ngo 1.25.0\n\nrequire "+gomemcache+" "+gomemcacheVersion+"\n")
	}
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after := before
		for old, by := range changes {
			found[old] = found[old] || bytes.Contains(after, []byte(old))
			after = bytes.ReplaceAll(after, []byte(old), []byte(by))
		}
		if bytes.Equal(before, after) {
			return nil
		}
		return os.WriteFile(path, after, 0o600)
	}))
	for old := range changes {
		require.True(t, found[old], "nothing in %s says %s", module, old)
	}
	return dir
}

// requireOurs makes the module in dir use this tree, with its checksums.
func requireOurs(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	run(t, dir, "go", "mod", "edit", "-require", ours+"@v0.0.0", "-replace", ours+"="+root)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	theirs, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	write(t, dir, "go.sum", string(theirs)+string(sums))
}

// parseEvents reads the output of go test -json; see go doc test2json.
func parseEvents(t *testing.T, from io.Reader) verdict {
	t.Helper()
	var v verdict
	events := json.NewDecoder(from)
	for events.More() {
		var e struct{ Action, Package, Test, Output string }
		require.NoError(t, events.Decode(&e))
		v.output += e.Output
		switch {
		case e.Test == "":
		case e.Action == "pass":
			v.passed = append(v.passed, e.Package+" "+e.Test)
		case e.Action == "fail":
			v.failed = append(v.failed, e.Package+" "+e.Test)
		}
	}
	slices.Sort(v.passed)
	slices.Sort(v.failed)
	return v
}
