package integration

// gomemcache's own tests, pointed at this module. A program that changes its
// import path must not notice, and nobody knows better than that project what
// its callers rely on.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/realserver"
)

const (
	ours       = "github.com/vaquero-cache/memcache"
	gomemcache = "github.com/bradfitz/gomemcache"
	// The newest version when this was written; gomemcache has no tags.
	gomemcacheVersion = "v0.0.0-20260422231931-4d751bb6e37c"
)

// leftOut are the tests that do not run here, each with the reason.
var leftOut = map[string]string{
	"BenchmarkOnItem":              "it needs the unexported Client.getConn and Client.onItem",
	"BenchmarkScanGetResponseLine": "it needs the unexported scanGetResponseLine",
	"TestScanGetResponseLine":      "it needs the unexported scanGetResponseLine",
}

// mustPass are the tests without which a run says nothing.
var mustPass = []string{"TestLocalhost", "TestUnixSocket", "TestFakeServer"}

func TestGomemcachesOwnTests(t *testing.T) {
	t.Parallel()
	source := fetch(t, gomemcache, gomemcacheVersion)
	for name, why := range leftOut {
		t.Run(name, func(t *testing.T) { t.Skip("left out:", why) })
	}
	realserver.Each(t, func(t *testing.T, b realserver.Binary) {
		t.Parallel()
		server := realserver.Start(t, realserver.Config{Version: b.Version})
		dir := t.TempDir()
		files, err := filepath.Glob(filepath.Join(source, "memcache", "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		found := map[string]int{}
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			for line, by := range rewrites(server.Addr()) {
				found[line] += bytes.Count(src, []byte(line))
				src = bytes.ReplaceAll(src, []byte(line), []byte(by))
			}
			src, err = fromOutside(src)
			require.NoError(t, err)
			write(t, dir, filepath.Base(file), string(src))
		}
		for line, count := range found {
			require.Equal(t, 1, count, "lines %q", line)
		}
		// The one unexported name that is cheaper given than missed.
		write(t, dir, "crlf_test.go", "package memcache\n\nvar crlf = []byte(\"\\r\\n\")\n")
		makeModule(t, dir)

		test := exec.Command("go", "test", "-mod=mod", "-count=1", "-v", "-bench=.", "-benchtime=1x", ".")
		test.Dir = dir
		test.Env = append(os.Environ(), "PATH="+memcachedOnPath(t, b.Path)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		out, err := test.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, name := range mustPass {
			assert.Contains(t, string(out), "--- PASS: "+name, "%s", out)
		}
		passed := bytes.Count(out, []byte("--- PASS: "))
		t.Logf("%d of gomemcache's tests passed", passed)
		for _, skipped := range regexp.MustCompile(`--- SKIP: .*\n.*`).FindAllString(string(out), -1) {
			t.Log(skipped)
		}
	})
}

// rewrites are the lines that are changed, once each, by their text.
func rewrites(addr string) map[string]string {
	return map[string]string{
		`const localhostTCPAddr = "localhost:11211"`: fmt.Sprintf("const localhostTCPAddr = %q", addr),

		// An item lives for 2 s of a server clock that ticks once a second, and is
		// touched 1 s later: by any client, a touch that is some milliseconds late
		// comes too late now and then. More seconds leave room on both sides, also
		// where several such tests share a busy machine.
		`const secondsToExpiry = int32(2)`: `const secondsToExpiry = int32(8)`,
		`for s := 0; s < 3; s++ {`:         `for s := 0; s < 9; s++ {`,

		// Nobody waits for this flush, by a connection of its own. On a busy machine it
		// came after the items had been stored.
		`io.WriteString(c, "flush_all\r\n")`: `io.WriteString(c, "flush_all\r\n"); c.Read(make([]byte, len("OK\r\n")))`,
	}
}

// fetch returns the folder of a module's source in the module cache. Without
// network, and without the module in the cache, the test is skipped.
func fetch(t *testing.T, module, version string) string {
	t.Helper()
	download := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	download.Dir = t.TempDir() // outside of any module, so that no go.mod changes
	out, err := download.Output()
	var answer struct{ Dir, Error string }
	if err != nil {
		_ = json.Unmarshal(out, &answer) // a go command that never ran leaves no answer
		t.Skipf("skipped: %s cannot be fetched from the module proxy: %v %s", module, err, answer.Error)
	}
	require.NoError(t, json.Unmarshal(out, &answer))
	return answer.Dir
}

// fromOutside rewrites a test file of gomemcache's package so that it tests ours
// from outside: our names come in by a dot import, and the tests left out go.
func fromOutside(file []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", file, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && leftOut[fn.Name.Name] != ""
	})
	used := map[string]bool{} // package names that are still mentioned
	ast.Inspect(f, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok {
				used[pkg.Name] = true
			}
		}
		return true
	})

	var src bytes.Buffer
	fmt.Fprintf(&src, "package %s\n\nimport . %q\n", f.Name.Name, ours)
	for _, spec := range f.Imports {
		if name := strings.Trim(spec.Path.Value[strings.LastIndex(spec.Path.Value, "/")+1:], `"`); used[name] {
			fmt.Fprintf(&src, "import %s\n", spec.Path.Value)
		}
	}
	src.WriteString("\nvar _ *Client\n") // not every file uses the dot import
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		src.WriteString("\n")
		if err := format.Node(&src, fset, d); err != nil {
			return nil, err
		}
		src.WriteString("\n")
	}
	return src.Bytes(), nil
}

// makeModule makes dir a module that uses this tree, with the root's own
// requirements and checksums, so that nothing is resolved anew.
func makeModule(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	_, requirements, found := strings.Cut(string(mod), "module "+ours+"\n")
	require.True(t, found)
	write(t, dir, "go.mod", fmt.Sprintf("module gomemcachetests\n%s\nrequire %s v0.0.0\n\nreplace %s => %q\n",
		requirements, ours, ours, root))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	write(t, dir, "go.sum", string(sum))
}

// memcachedOnPath returns a folder with a `memcached` that runs path, as root too.
func memcachedOnPath(t *testing.T, path string) string {
	t.Helper()
	user := ""
	if os.Geteuid() == 0 {
		user = "-u root "
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "memcached")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec '"+path+"' "+user+"\"$@\"\n"), 0o700))
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}
