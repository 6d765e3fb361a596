package report

// Under which conditions this process measures.

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine lists what is known of the machine and the programs on it.
func Machine() []Condition {
	list := []Condition{
		{"machine", fmt.Sprintf("%s/%s, %d processors%s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model())},
		{"Go", fmt.Sprintf("%s, GOMAXPROCS %d", runtime.Version(), runtime.GOMAXPROCS(0))},
	}
	if env := os.Getenv("GOGC"); env != "" {
		list = append(list, Condition{"GOGC", env})
	}
	return list
}

// model is the name of the processor where Linux tells it.
func model() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return ", " + strings.TrimSpace(value)
		}
	}
	return ""
}

// Load is the load average where Linux tells it, else "".
func Load() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(content))[:3], " ")
}

// Modules names the modules in this program whose path contains "memcache", with
// their versions.
func Modules() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var list []string
	for _, m := range info.Deps {
		if strings.Contains(m.Path, "memcache") && m.Replace == nil {
			list = append(list, m.Path+" "+m.Version)
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			list = append(list, "this repository "+s.Value[:min(12, len(s.Value))])
		}
	}
	return strings.Join(list, ", ")
}
