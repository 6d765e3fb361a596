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
	"strconv"
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
	"TestFakeServer":               "its server knows the classic protocol only, and this client speaks meta only so far",
}

// mustPass are the tests without which a run says nothing.
var mustPass = []string{"TestLocalhost", "TestUnixSocket"}

func TestGomemcachesOwnTests(t *testing.T) {
	source := fetch(t, gomemcache, gomemcacheVersion)
	for name, why := range leftOut {
		t.Logf("left out: %s: %s", name, why)
	}
	realserver.Each(t, func(t *testing.T, b realserver.Binary) {
		t.Parallel()
		server := realserver.Start(t, realserver.Config{Version: b.Version})
		dir := t.TempDir()
		files, err := filepath.Glob(filepath.Join(source, "memcache", "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			rewritten, err := pointAtUs(file, server.Addr())
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), rewritten, 0o600))
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

// pointAtUs rewrites a test file of gomemcache so that it tests this module from
// outside: our names come in by a dot import, the tests that reach for unexported
// names go, and the server is the one at addr.
func pointAtUs(file, addr string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && leftOut[fn.Name.Name] != ""
	})

	used := map[string]bool{} // package names that are still mentioned
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok {
				used[pkg.Name] = true
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == "localhostTCPAddr" {
				n.Values[0] = &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(addr)}
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
