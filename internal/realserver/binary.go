package realserver

// Which memcached programs this machine has, and which of them a Config means.

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Versions that [Config] understands beside a plain number such as "1.6.18".
const (
	Oldest = "oldest" // the lowest version found
	Newest = "newest" // the highest version found
)

// modulePath names the go.mod that marks the root of the repository; nested
// modules have longer paths.
const modulePath = "github.com/vaquero-cache/memcache"

// Binary is one memcached program that runs on this machine.
type Binary struct {
	Version string // as `memcached -V` tells it, such as "1.6.18"
	Path    string
	Origin  string // where it was found: "MEMCACHED", "PATH" or the versions folder
}

const originEnv = "MEMCACHED" // the variable, and the Origin of what it names

// String says version and path.
func (b Binary) String() string { return b.Version + " (" + b.Path + ")" }

// Available lists the memcached programs of this machine from the oldest to the
// newest, each version once: the one that MEMCACHED names wins over the one in
// PATH, and that over those of the versions folder.
func Available() []Binary {
	found, _ := discover()
	slices.SortFunc(found, byVersion)
	return found
}

// find returns the program that cfg asks for, or an error that says what was
// looked for and what there is.
func find(cfg Config) (Binary, error) {
	found, problems := discover()
	fit := slices.DeleteFunc(slices.Clone(found), func(b Binary) bool {
		if cfg.MinVersion != "" && compareVersions(b.Version, cfg.MinVersion) < 0 {
			return true
		}
		switch cfg.Version {
		case "", Oldest, Newest:
			return false
		default:
			return b.Version != cfg.Version
		}
	})
	if len(fit) == 0 {
		return Binary{}, notFound(cfg, found, problems)
	}
	switch {
	case cfg.Version == Oldest:
		return slices.MinFunc(fit, byVersion), nil
	case cfg.Version == "" && fit[0].Origin == originEnv:
		return fit[0], nil
	default:
		return slices.MaxFunc(fit, byVersion), nil
	}
}

func notFound(cfg Config, found []Binary, problems []string) error {
	want := "memcached"
	if cfg.Version != "" {
		want += " " + cfg.Version
	}
	if cfg.MinVersion != "" {
		want += " of at least " + cfg.MinVersion
	}
	have := "none found"
	if len(found) > 0 {
		have = fmt.Sprintf("found %v", found)
	}
	return fmt.Errorf("realserver: no %s here: %s", want, strings.Join(append([]string{have}, problems...), "; "))
}

// discover looks in the three places in order of preference. Problems are
// sentences about programs that are there and do not run. A MEMCACHED that does
// not run hides all others: nobody shall test another server than the one named.
func discover() (found []Binary, problems []string) {
	add := func(path, origin string) {
		path, err := filepath.Abs(path) // a server runs in a folder of its own
		if err != nil {
			problems = append(problems, err.Error())
			return
		}
		version, err := versionOf(path)
		if err != nil {
			problems = append(problems, err.Error())
			return
		}
		if !slices.ContainsFunc(found, func(b Binary) bool { return b.Version == version }) {
			found = append(found, Binary{Version: version, Path: path, Origin: origin})
		}
	}
	if name := os.Getenv(originEnv); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, []string{fmt.Sprintf(originEnv+"=%s: %v", name, err)}
		}
		if add(path, originEnv); len(found) == 0 {
			return nil, problems
		}
	}
	if path, err := exec.LookPath("memcached"); err == nil {
		add(path, "PATH")
	}
	if dir := versionsDir(); dir != "" {
		launchers, _ := filepath.Glob(filepath.Join(dir, "memcached-*", "memcached")) // the pattern is constant, so it is never malformed
		for _, path := range launchers {
			add(path, dir)
		}
	}
	return found, problems
}

// versionsDir is where tools/memcached-versions.sh put its servers, or "".
func versionsDir() string {
	if dir := os.Getenv("MEMCACHED_VERSIONS_DIR"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.Contains(mod, []byte("module "+modulePath+"\n")) {
			return filepath.Join(dir, ".cache", "memcached")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

var (
	versionLine  = regexp.MustCompile(`(?m)^memcached (\d+(?:\.\d+)*)`)
	knownVersion sync.Map // path → version: asking costs a process
)

func versionOf(path string) (string, error) {
	if v, ok := knownVersion.Load(path); ok {
		return v.(string), nil
	}
	out, err := exec.Command(path, "-V").CombinedOutput()
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s -V: no version in %q (%v)", path, bytes.TrimSpace(out), err)
	}
	knownVersion.Store(path, string(m[1]))
	return string(m[1]), nil
}

func byVersion(a, b Binary) int { return compareVersions(a.Version, b.Version) }

// compareVersions orders dotted numbers: 1.6.9 before 1.6.18.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}
