package memcache_test

// Which way knowledge may flow between the packages of this module: the arrows
// of ARCHITECTURE.md, as a table. A package that is not in the table fails too,
// so a new one states what it may know before it is used.

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/vaquero-cache/memcache"

// mayImport lists, for each package, what it may import beside the standard
// library: names within this module ("." is the root) and full paths of others.
var mayImport = map[string][]string{
	".":             {"ring", "internal/link"},
	"internal/link": {"meta", "classic", "binary"},

	// Anyone may take these alone: they know nothing of ours.
	"ring":         {"github.com/cespare/xxhash/v2", "github.com/zeebo/xxh3"},
	"meta":         {},
	"classic":      {},
	"binary":       {},
	"memcachetest": {},

	// Tests alone.
	"internal/codectest":  {"meta", "classic", "binary"},
	"internal/duplex":     {},
	"internal/fakeserver": {},
	"internal/outage":     {".", "ring"},

	// Not part of the library.
	"demo":                {".", "ring", "memcachetest", "internal/realserver"},
	"internal/realserver": {},
	"internal/transcript": {},
	"internal/gotest":     {},
}

// testsMayImport is what test files may import on top of that and of the package
// that they test.
var testsMayImport = []string{
	"memcachetest", "internal/realserver", "internal/transcript", "internal/duplex", "internal/fakeserver",
	"github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "go.uber.org/goleak",
}

// examplesMayImport is what the tests of one package may import on top of that.
var examplesMayImport = map[string][]string{
	"memcachetest": {"."}, // its examples show it at work with a client
}

// directDependencies are all that go.mod may require for itself.
var directDependencies = []string{
	"github.com/cespare/xxhash/v2", "github.com/zeebo/xxh3",
	"github.com/stretchr/testify", "go.uber.org/goleak",
}

func TestImportsFollowTheArrows(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipForeign(name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		files++
		pkg := path.Dir(filepath.ToSlash(name))
		allowed, known := mayImport[pkg]
		if !assert.True(t, known, "%s: package %s is not in the table", name, pkg) {
			return nil
		}
		if strings.HasSuffix(name, "_test.go") {
			allowed = slices.Concat(allowed, testsMayImport, examplesMayImport[pkg], []string{pkg})
		}
		// All build tags: a file for another system follows the same arrows.
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			assert.True(t, isStandard(imported) || slices.Contains(allowed, inModule(imported)),
				"%s imports %s, and %s may import only %v", name, imported, pkg, allowed)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files)
}

func TestRootModuleStaysSmall(t *testing.T) {
	content, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	inBlock := false
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "require (" {
			inBlock = true
			continue
		}
		if line == ")" {
			inBlock = false
		}
		required, single := strings.CutPrefix(line, "require ")
		if (inBlock || single) && !strings.HasSuffix(line, "// indirect") {
			dependency, _, _ := strings.Cut(required, " ")
			assert.Contains(t, directDependencies, dependency)
		}
		for _, directive := range []string{"tool", "toolchain", "replace", "exclude"} {
			assert.False(t, strings.HasPrefix(line, directive+" "), "%q binds every user of the module", line)
		}
	}
}

// skipForeign leaves out what is not code of this module: nested modules, fixed
// data and hidden folders.
func skipForeign(dir string) error {
	base := filepath.Base(dir)
	if dir == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// isStandard: only the standard library has no dot in its first element.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// inModule shortens a path of this module to its name in the table.
func inModule(importPath string) string {
	if importPath == modulePath {
		return "."
	}
	if name, ours := strings.CutPrefix(importPath, modulePath+"/"); ours {
		return name
	}
	return importPath
}
