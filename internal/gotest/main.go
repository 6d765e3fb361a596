// Command gotest runs `go test` with the arguments given and prints what a
// person wants to know: the result line of each package, the output of failed
// tests, and, just above its package's line, each test that was skipped with its
// reason. Plain `go test` hides skips, so a run without a single server would
// look like a full one. The exit code is that of go test.
//
//	go run ./internal/gotest -race ./...
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	readErr := report(out, os.Stdout)
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err = errors.Join(readErr, err); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
}

// report turns the events in r into lines on w.
func report(r io.Reader, w io.Writer) error {
	output := map[string]*strings.Builder{} // package and test → what it printed, until it ends
	events := json.NewDecoder(bufio.NewReader(r))
	for {
		var e event
		if err := events.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the events of go test: %w", err)
		}
		id := e.Package + "\x00" + e.Test
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				if !isChatter(e.Output) {
					fmt.Fprint(w, e.Output)
				}
				continue
			}
			if output[id] == nil {
				output[id] = &strings.Builder{}
			}
			output[id].WriteString(e.Output)
		case "pass", "skip", "fail":
			if e.Test == "" {
				continue
			}
			printed := ""
			if b := output[id]; b != nil {
				printed = b.String()
				delete(output, id)
			}
			switch e.Action {
			case "skip":
				fmt.Fprintf(w, "skipped: %s: %s\n", e.Test, reason(printed))
			case "fail":
				fmt.Fprint(w, printed)
			}
		}
	}
}

// isChatter tells the lines of a package that repeat its result line.
func isChatter(line string) bool {
	switch line {
	case "PASS\n", "FAIL\n":
		return true
	}
	return strings.HasPrefix(line, "goos: ") || strings.HasPrefix(line, "goarch: ") || strings.HasPrefix(line, "cpu: ")
}

var (
	frame    = regexp.MustCompile(`^\s*(===|---) `)    // "=== RUN   TestX", "--- SKIP: TestX (0.00s)"
	position = regexp.MustCompile(`^\s*\S+\.go:\d+: `) // "    x_test.go:12: "
)

// reason is what a skipped test printed, without the frame of go test, on one line.
func reason(output string) string {
	var words []string
	for line := range strings.Lines(output) {
		if !frame.MatchString(line) {
			words = append(words, strings.Fields(position.ReplaceAllString(line, ""))...)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}
