// Package counts counts what a request makes the client, the standard library and the
// runtime do: clock reads, locks, channel operations, wake-ups, hashes, system calls.
//
// Nothing of that can be seen from outside, and a counter in the client would count
// only what its author thought of. So a small program is built with a standard library
// in which the functions in question count their calls: the go command's -overlay
// puts altered copies in the place of a few source files. The program's server runs
// in another process.
package counts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Counts is how often something was done for one operation.
type Counts map[string]float64

// What is counted.
const (
	Clock      = "clock reads"   // time.Now, time.Since, time.Until
	Deadlines  = "deadlines set" // each reads the clock once in package time and once in the runtime
	Timers     = "timers"
	Channels   = "channel operations"
	Goroutines = "goroutines started"
	Parks      = "waits" // of a goroutine, for its connection or another one
	Polls      = "waits for the poller"
	Wakes      = "wake-ups" // of a goroutine by another; the poller's are not among them
	Yields     = "yields"
	Locks      = "locks" // of sync.Mutex and sync.RWMutex
	Env        = "environment reads"
	Hashes     = "hashes of a key"
	Reads      = "read calls"
	Writes     = "write calls"
)

// Names are all of them, in the order of runtime.VbenchCounts.
var Names = []string{Clock, Deadlines, Timers, Channels, Goroutines, Parks, Polls, Wakes, Yields, Locks, Env, Hashes, Reads, Writes}

// places are the functions that count, by package: "Func" or "Type.Method".
var places = map[string]map[string]string{
	"time": {"Now": Clock, "Since": Clock, "Until": Clock, "NewTimer": Timers, "AfterFunc": Timers, "Timer.Reset": Timers},
	"runtime": {
		"chansend": Channels, "chanrecv": Channels, "closechan": Channels, "selectgo": Channels,
		"newproc": Goroutines, "gopark": Parks, "ready": Wakes, "Gosched": Yields,
	},
	"sync": {"Mutex.Lock": Locks, "Mutex.TryLock": Locks, "RWMutex.Lock": Locks, "RWMutex.RLock": Locks},
	"syscall": {
		"Getenv": Env, "read": Reads, "recvfrom": Reads, "write": Writes, "sendto": Writes,
	},
	"internal/poll": {"setDeadlineImpl": Deadlines, "pollDesc.wait": Polls, "writev": Writes},
	ring:            {"crc32IEEE": Hashes},
	xxhash:          {"Sum64String": Hashes},
}

// ring hashes by CRC-32 itself.
const ring = "github.com/vaquero-cache/memcache/ring"

// xxhash is a module and no part of the standard library. The go command refuses to
// replace a file in its module cache, so the program is built with a copy.
const xxhash = "github.com/cespare/xxhash/v2"

// counter is the file that each of these packages gets beside its own.
const counter = `package %s

import _ "unsafe" // for linkname

//go:linkname vbenchCount runtime.vbenchCount
func vbenchCount(i int)
`

// runtimeCounter is that of the runtime.
const runtimeCounter = `package runtime

import (
	"internal/runtime/atomic"
	_ "unsafe" // for linkname
)

// VbenchCounts is how often each thing was done since the start.
var VbenchCounts [64]uint64

//go:linkname vbenchCount
//go:nosplit
func vbenchCount(i int) { atomic.Xadd64(&VbenchCounts[i], 1) }
`

// ErrUnsupported means that nothing can be counted on this system.
var ErrUnsupported = errors.New("only linux/amd64 is known well enough to count there")

// Measure builds the program, lets it work on a server, and returns its counts by what
// it did.
func Measure(ctx context.Context, addrs ...string) (map[string]Counts, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, ErrUnsupported
	}
	dir, err := os.MkdirTemp("", "vbench-counts-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, modfile, err := write(ctx, dir)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "counted")
	if _, err := goTool(ctx, "build", "-overlay", overlay, "-modfile", modfile, "-tags", "vbenchcounts", "-o", program,
		"github.com/vaquero-cache/memcache/bench/internal/counts/counted"); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, addrs...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("counted: %w", err)
	}
	var raw map[string][]float64
	if err := json.Unmarshal(out, &raw); err != nil {
		return nil, err
	}
	counts := map[string]Counts{}
	for what, numbers := range raw {
		counts[what] = Counts{}
		for i, name := range Names {
			counts[what][name] = numbers[i]
		}
	}
	return counts, nil
}

// write writes the altered sources into dir and returns the names of the overlay and
// of a go.mod.
func write(ctx context.Context, dir string) (overlay, modfile string, err error) {
	replace := map[string]string{}
	put := func(original, content string) error {
		name := filepath.Join(dir, fmt.Sprint(len(replace))+".go")
		replace[original] = name
		return os.WriteFile(name, []byte(content), 0o600)
	}
	hashing := filepath.Join(dir, "xxhash")
	if modfile, err = copied(ctx, dir, hashing); err != nil {
		return "", "", err
	}
	for path, functions := range places {
		out, err := goTool(ctx, "list", "-f", "{{.Dir}}", path)
		if err != nil {
			return "", "", err
		}
		src := strings.TrimSpace(string(out))
		if path == xxhash {
			src = hashing
		}
		pkg, err := build.ImportDir(src, 0)
		if err != nil {
			return "", "", err
		}
		missing := map[string]bool{}
		for f := range functions {
			missing[f] = true
		}
		for _, file := range pkg.GoFiles {
			name := filepath.Join(src, file)
			content, err := os.ReadFile(name)
			if err != nil {
				return "", "", err
			}
			altered, found, err := count(content, functions)
			if err != nil {
				return "", "", err
			}
			if len(found) == 0 {
				continue
			}
			for _, f := range found {
				delete(missing, f)
			}
			if err := put(name, altered); err != nil {
				return "", "", err
			}
		}
		if len(missing) > 0 { // this Go is another than the one this was written for
			return "", "", fmt.Errorf("%s: no function %v", path, missing)
		}
		own := fmt.Sprintf(counter, pkg.Name)
		if path == "runtime" {
			own = runtimeCounter
		}
		if err := put(filepath.Join(src, "vbench_counts.go"), own); err != nil {
			return "", "", err
		}
		if path == ring { // a package without assembly must have a body for each function
			if err := put(filepath.Join(src, "vbench_counts.s"), ""); err != nil {
				return "", "", err
			}
		}
	}
	table, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, modfile, os.WriteFile(overlay, table, 0o600)
}

// copied copies xxhash to hashing and writes a go.mod that uses it.
func copied(ctx context.Context, dir, hashing string) (string, error) {
	out, err := goTool(ctx, "list", "-m", "-f", "{{.Dir}}", xxhash)
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(hashing, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		return "", err
	}
	gomod, err := goTool(ctx, "env", "GOMOD")
	if err != nil {
		return "", err
	}
	module := filepath.Dir(strings.TrimSpace(string(gomod)))
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return "", err
		}
	}
	modfile := filepath.Join(dir, "go.mod")
	_, err = goTool(ctx, "mod", "edit", "-replace", "github.com/vaquero-cache/memcache="+filepath.Dir(module),
		"-replace", xxhash+"="+hashing, modfile)
	return modfile, err
}

// count puts a counter at the beginning of those of functions that are in a file. No
// line moves.
func count(content []byte, functions map[string]string) (altered string, found []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", content, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	from := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		what, ok := functions[name(f)]
		if !ok {
			continue
		}
		at := fset.Position(f.Body.Lbrace).Offset + 1
		out.Write(content[from:at])
		fmt.Fprintf(&out, " vbenchCount(%d);", slices.Index(Names, what))
		from = at
		found = append(found, name(f))
	}
	out.Write(content[from:])
	return out.String(), found, nil
}

// name is "Func" or "Type.Method".
func name(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return ""
}

// goTool runs the go command in the module of this program.
func goTool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(problem.Bytes()))
	}
	return out, nil
}
