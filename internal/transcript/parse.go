// Package transcript reads recorded exchanges with memcached and replays them
// against any server. The format is described in testdata/transcripts/README.md
// of memcachetest.
//
// A file is a list of cases. A case is a list of steps on one fresh connection:
// bytes to send, bytes that must come back, and pauses. Bytes that differ from run
// to run (a CAS, a TTL, a version text) are written as patterns.
package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Case is one recorded exchange.
type Case struct {
	File     string   // base name of the file it came from
	Name     string   // group/name, unique in its file
	Server   string   // what kind of server it needs; empty for a plain one
	Versions []string // the servers it was recorded on
	steps    []step
}

// RecordedOn tells whether the case holds the answers of that version.
func (c *Case) RecordedOn(version string) bool { return slices.Contains(c.Versions, version) }

// step is a send, an expectation or a pause.
type step struct {
	line    int
	send    []part
	skipped []string // versions on which the send did not happen
	expect  []reply
	pause   time.Duration
}

// reply is one `<` line.
type reply struct {
	version string // the only version it is valid for; empty for all
	none    bool
	closed  bool
	parts   []part
}

type kind uint8

const (
	literal kind = iota
	casText
	casBinary
	number
	rest
	body
	stats
	binaryStats
)

// part is one piece of a line: fixed bytes or a pattern.
type part struct {
	kind   kind
	bytes  []byte // literal
	name   string // of a CAS
	lo, hi int64  // of a number
}

// Load reads every transcript in dir, sorted by file name.
func Load(dir string) ([]*Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("transcript: no *.txt in %s", dir)
	}
	slices.Sort(names)
	var all []*Case
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		cases, err := Parse(f, filepath.Base(name))
		f.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// Parse reads the cases of one file.
func Parse(r io.Reader, file string) ([]*Case, error) {
	p := parser{file: file}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.line++
			if e := p.add(strings.TrimSuffix(line, "\n")); e != nil {
				return nil, fmt.Errorf("transcript: %s:%d: %w", file, p.line, e)
			}
		}
		switch {
		case err == io.EOF && p.current != nil:
			return nil, fmt.Errorf("transcript: %s: case %s has no end", file, p.current.Name)
		case err == io.EOF:
			return p.cases, nil
		case err != nil:
			return nil, err
		}
	}
}

type parser struct {
	file    string
	line    int
	cases   []*Case
	current *Case
}

func (p *parser) add(line string) error {
	word, args, _ := strings.Cut(line, " ")
	if line == "" || strings.HasPrefix(word, "#") {
		return nil
	}
	if word == "case" {
		if p.current != nil {
			return fmt.Errorf("case %s has no end", p.current.Name)
		}
		p.current = &Case{File: p.file, Name: args}
		return nil
	}
	c := p.current
	if c == nil {
		return fmt.Errorf("%q stands outside a case", word)
	}
	switch {
	case word == "note":
	case word == "server":
		c.Server, _, _ = strings.Cut(args, " ")
	case word == "versions":
		c.Versions = strings.Fields(args)
	case word == "end":
		p.cases = append(p.cases, c)
		p.current = nil
	case word == "sleep":
		ms, err := strconv.Atoi(args)
		if err != nil {
			return err
		}
		c.steps = append(c.steps, step{line: p.line, pause: time.Duration(ms) * time.Millisecond})
	case word == ">":
		parts, err := parseParts(args)
		if err != nil {
			return err
		}
		if last := p.last(); last != nil && last.send != nil {
			last.send = append(last.send, parts...)
			return nil
		}
		c.steps = append(c.steps, step{line: p.line, send: parts})
	case word == "<" || strings.HasPrefix(word, "<@"):
		r, err := parseReply(strings.TrimPrefix(word[1:], "@"), args)
		if err != nil {
			return err
		}
		if last := p.last(); last != nil && last.expect != nil {
			last.expect = append(last.expect, r)
			return nil
		}
		c.steps = append(c.steps, step{line: p.line, expect: []reply{r}})
	case strings.HasPrefix(word, "!@"):
		last := p.last()
		if last == nil || last.send == nil {
			return errors.New("not-run without a send before it")
		}
		last.skipped = append(last.skipped, word[2:])
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return nil
}

func (p *parser) last() *step {
	if n := len(p.current.steps); n > 0 {
		return &p.current.steps[n-1]
	}
	return nil
}

func parseReply(version, args string) (reply, error) {
	r := reply{version: version}
	var err error
	switch args {
	case "none":
		r.none = true
	case "closed":
		r.closed = true
	default:
		r.parts, err = parseParts(args)
	}
	return r, err
}

// parseParts reads parts that are separated by one space.
func parseParts(s string) ([]part, error) {
	var parts []part
	for s != "" {
		var p part
		var err error
		if s[0] == '"' {
			var quoted, text string
			if quoted, err = strconv.QuotedPrefix(s); err != nil {
				return nil, fmt.Errorf("bad string in %q", s)
			}
			if text, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
			p, s = part{bytes: []byte(text)}, s[len(quoted):]
		} else {
			end := strings.IndexByte(s, ')')
			if end < 0 {
				return nil, fmt.Errorf("bad part %q", s)
			}
			if p, err = parsePattern(s[:end]); err != nil {
				return nil, err
			}
			s = s[end+1:]
		}
		parts = append(parts, p)
		s = strings.TrimPrefix(s, " ")
	}
	return parts, nil
}

// parsePattern reads one `name(args` .
func parsePattern(s string) (part, error) {
	name, args, ok := strings.Cut(s, "(")
	if !ok {
		return part{}, fmt.Errorf("bad part %q", s)
	}
	first, second, _ := strings.Cut(args, ",")
	switch name {
	case "fill":
		value, err := strconv.ParseUint(first, 0, 8)
		if err != nil {
			return part{}, err
		}
		count, err := strconv.Atoi(second)
		if err != nil {
			return part{}, err
		}
		return part{bytes: bytes.Repeat([]byte{byte(value)}, count)}, nil
	case "cas":
		return part{kind: casText, name: args}, nil
	case "cas8":
		return part{kind: casBinary, name: args}, nil
	case "num":
		lo, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return part{}, err
		}
		hi, err := strconv.ParseInt(second, 10, 64)
		return part{kind: number, lo: lo, hi: hi}, err
	case "rest":
		return part{kind: rest}, nil
	case "bytes":
		return part{kind: body}, nil
	case "stats":
		return part{kind: stats}, nil
	case "binstats":
		return part{kind: binaryStats}, nil
	}
	return part{}, fmt.Errorf("unknown part %q", s)
}

// Sent returns all fixed bytes that the case sends, in one piece.
func (c *Case) Sent() []byte {
	var all []byte
	for _, s := range c.steps {
		for _, p := range s.send {
			all = append(all, p.bytes...)
		}
	}
	return all
}
