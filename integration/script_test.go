package integration

// Random scripts of text commands: the input of the differential test. A script is
// a list of command templates, so that it can be sent again under other key names
// and against another server's CAS counter.

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A template holds these marks, which are no part of any command.
const (
	markPrefix = "\x02" // the key prefix of this run
	markBase64 = "\x03" // key text up to the next markEnd, as base64
	markCAS    = "\x04" // digits up to the next markEnd, added to the CAS at the start
	markEnd    = "\x05"
)

// expand makes wire bytes of a template.
func expand(template, prefix string, cas uint64) []byte {
	var out []byte
	for {
		i := strings.IndexAny(template, markPrefix+markBase64+markCAS)
		if i < 0 {
			return append(out, template...)
		}
		out = append(out, template[:i]...)
		mark := template[i : i+1]
		template = template[i+1:]
		if mark == markPrefix {
			out = append(out, prefix...)
			continue
		}
		arg, rest, _ := strings.Cut(template, markEnd)
		template = rest
		if mark == markBase64 {
			out = base64.StdEncoding.AppendEncode(out, []byte(prefix+arg))
			continue
		}
		n, _ := strconv.ParseUint(arg, 10, 64)
		out = strconv.AppendUint(out, cas+n, 10)
	}
}

// generator makes templates from a seed.
type generator struct {
	rng  *rand.Rand
	sent int // commands so far, which bounds the CAS values that exist

	withLarge bool // with values near the limits
}

func newGenerator(seed uint64) *generator {
	return &generator{rng: rand.New(rand.NewPCG(seed, 0))}
}

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func pick[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }

// textCommand is a template.
type textCommand string

func (c textCommand) wire(prefix string, cas uint64) []byte { return expand(string(c), prefix, cas) }
func (c textCommand) String() string                        { return fmt.Sprintf("%.700q", c.wire("PREFIX", 1000)) }

// script makes n commands.
func (g *generator) script(n int) []command {
	g.sent = 0
	script := make([]command, n)
	for i := range script {
		if g.withLarge && g.rng.IntN(50) == 0 {
			script[i] = textCommand(g.large())
		} else {
			script[i] = textCommand(g.command())
		}
		g.sent++
	}
	return script
}

func (g *generator) command() string {
	switch n := g.rng.IntN(100); {
	case n < 24:
		return g.line("mg", g.metaKey(), g.flags("vkqstfclhubOTNRCEPLIMDJFx", 5))
	case n < 44:
		return g.metaSet()
	case n < 52:
		return g.line("md", g.metaKey(), g.flags("qkObCITEx", 4))
	case n < 64:
		return g.line("ma", g.metaKey(), g.flags("vkqbOtcMDNJTCE", 5))
	case n < 67:
		return g.line("me", g.metaKey(), g.flags("bkOqv", 2))
	case n < 69:
		return pick(g, "mn\r\n", "mn x\r\n", "mn\n", "mnx\r\n")
	case n < 79:
		return g.get()
	case n < 89:
		return g.set()
	case n < 92:
		return g.line("delete", pick(g, g.key(), g.key(), g.key(), "noreply"), pick(g, "", "", "", " 0", " 5", " noreply", " 0 noreply", " x y z"))
	case n < 95:
		return g.line(pick(g, "incr", "decr"), g.key(), " "+g.unsigned()+g.noreply())
	case n < 97:
		return g.line("touch", g.key(), " "+g.exptime()+g.noreply())
	}
	return pick(g,
		"version\r\n", "verbosity 1\r\n", "verbosity\r\n", "verbosity x\r\n", "verbosity 1 2\r\n",
		"bogus\r\n", "bogus a b\r\n", "bogus noreply\r\n", "\r\n", "\n", " \r\n", "a\r\n", "ab\r\n", "abc\n",
		"get\r\n", "gets\r\n", "gat\r\n", "gat 100\r\n", "gats x k\r\n", "set\r\n", "set k\r\n", "set k 0 0\r\n",
		"cas k 0 0 2\r\nhi\r\n", "mg\r\n", "ms\r\n", "md\r\n", "ma\r\n", "me\r\n", "mg \r\n", "incr\r\n", "incr k\r\n",
		"delete\r\n", "touch\r\n", "touch k\r\n", "flush_all x\r\n", "flush_all x noreply\r\n", "flush_all 2592001\r\n", "MG k\r\n", "shutdown\r\n",
		" mg k\r\n", "mg  k  v\r\n", "mg k \r\n", "mg\tk\r\n", "stats nosuch\r\n", "stats detail\r\n", "stats reset\r\n",
		"stats sizes\r\n", "stats cachedump\r\n", "cache_memlimit\r\n", "cache_memlimit 1\r\n", "lru\r\n", "lru mode x\r\n",
		"lru_crawler\r\n", "slabs\r\n", "slabs automove x\r\n",
		"cas k\r\n", "cas k 0 0 2 x\r\nhi\r\n", "decr\r\n", "mx k\r\n", "gets \r\n", "version x y\r\n", "mn\r\nmn\r\n")
}

func (g *generator) line(name, key, rest string) string {
	end := "\r\n"
	if g.chance(2) {
		end = "\n"
	}
	return name + " " + key + rest + end
}

func (g *generator) key() string {
	switch n := g.rng.IntN(100); {
	case n < 90:
		return markPrefix + pick(g, "a", "b", "c", "d")
	case n < 92:
		return strings.Repeat("y", pick(g, 251, 252, 300))
	case n < 94:
		return markPrefix + strings.Repeat("z", 200)
	case n < 96:
		return markPrefix + "\x01\x7f\xe2\x82\xac"
	}
	return g.base64Key()
}

func (g *generator) base64Key() string {
	return markBase64 + pick(g, "a", "b", "c", "e\x00f") + markEnd
}

func (g *generator) metaKey() string {
	if g.chance(80) {
		return g.key()
	}
	return g.base64Key()
}

// flags picks up to most flags, often from among the useful ones, with arguments
// that are sometimes wrong.
func (g *generator) flags(useful string, most int) string {
	var b strings.Builder
	n := g.rng.IntN(most + 1)
	if g.chance(1) {
		n = 14 + g.rng.IntN(8)
	}
	var used []byte
	for range n {
		letter := useful[g.rng.IntN(len(useful))]
		if g.chance(2) {
			letter = byte(g.rng.IntN(256))
		}
		if bytes.IndexByte([]byte(" \r\n\x00\x02\x03\x04\x05"), letter) >= 0 {
			continue
		}
		if bytes.IndexByte(used, letter) >= 0 && !g.chance(8) {
			continue
		}
		used = append(used, letter)
		b.WriteByte(' ')
		b.WriteByte(letter)
		b.WriteString(g.argument(letter))
	}
	return b.String()
}

func (g *generator) argument(letter byte) string {
	if g.chance(3) {
		return pick(g, "", "x", "-1", "+5", "0", "5x", "18446744073709551616", "4294967296")
	}
	switch letter {
	case 'O':
		return strings.Repeat("o", pick(g, 1, 2, 5, 5, 5, 31, 31, 32, 0))
	case 'T', 'N':
		return g.exptime()
	case 'R':
		return pick(g, "0", "30", "100", "1000", "-1", "3000000")
	case 'C':
		return g.cas()
	case 'E':
		return pick(g, "0", "1", "18446744073709551615", g.cas())
	case 'D', 'J':
		return g.unsigned()
	case 'F':
		return pick(g, "0", "1", "42", "4294967295", "4294967296", "-1", "x", "007")
	case 'M':
		return pick(g, "S", "E", "R", "A", "P", "I", "D", "+", "-", "i", "d", "e", "a", "X", "EX", "Incr", "")
	case 'P', 'L':
		return "hint"
	}
	if g.chance(5) {
		return "xyz"
	}
	return ""
}

// cas picks a value that some item may have.
func (g *generator) cas() string {
	if g.chance(10) {
		return pick(g, "0", "1", "18446744073709551615")
	}
	back := g.rng.IntN(6)
	return markCAS + strconv.Itoa(max(g.sent-back, 0)) + markEnd
}

// exptime avoids what would expire while the test runs.
func (g *generator) exptime() string {
	switch n := g.rng.IntN(100); {
	case n < 30:
		return "0"
	case n < 70:
		return pick(g, "20", "100", "1000", "2592000")
	case n < 80:
		return strconv.FormatInt(time.Now().Unix()/1000*1000+5000, 10)
	case n < 88:
		return pick(g, "-1", "-100", "2592001", "-2147483648")
	}
	return pick(g, "2147483647", "2147483648", "4294967295", "4294967396", "-2147483649", "x", "", "+5", "10x",
		"99999999999999999999", "-0", "00100", "9223372036854775807", "9223372036854775808")
}

func (g *generator) unsigned() string {
	return pick(g, "1", "1", "1", "5", "10", "0", "99", "18446744073709551615", "18446744073709551616", "-1", "+5", "x", "", "007", "1x")
}

func (g *generator) noreply() string {
	return pick(g, "", "", "", "", "", " noreply", " x", " noreply x")
}

func (g *generator) value() string {
	switch n := g.rng.IntN(100); {
	case n < 40:
		return pick(g, "0", "5", "10", "99", "100", "18446744073709551615", "9")
	case n < 50:
		// No minus: for a number above 2^63 memcached looks for one behind the value too.
		return pick(g, "", " 7", "7 ", "7  x", "7x", "+5", "111111111111111111111", "00000000000000000000000012", "0x10", "\t8", "8\t9", "1\x002")
	case n < 98:
		b := make([]byte, g.rng.IntN(60))
		for i := range b {
			b[i] = pick[byte](g, 'a', 'b', 0, '\r', '\n', ' ', 0xff, '1')
		}
		// For a number in white space alone, memcached looks behind the value.
		if len(bytes.TrimSpace(b)) == 0 {
			return "a"
		}
		return string(b)
	}
	return strings.Repeat("v", pick(g, 100, 500, 1000))
}

// body is a length and a value that mostly agree.
func (g *generator) body() (length, value string) {
	value = g.value()
	n := len(value)
	switch {
	case g.chance(2):
		n += pick(g, -2, -1, 1, 2, 10)
	case g.chance(2):
		return pick(g, "x", "-1", "2x", "+2", "4294967298", "2147483646", "007", "0"), value
	}
	return strconv.Itoa(n), value
}

// large stores a value near the limits, in a line without mistakes: where a server
// does not drop such a value it closes, and the rest of the script is lost.
func (g *generator) large() string {
	n := pick(g, 5000, 20000, 524200, 524300, 600000, 1048400, 1048600)
	value := strings.Repeat("L", n) + "\r\n"
	key := markPrefix + pick(g, "a", "b")
	if g.chance(50) {
		return fmt.Sprintf("ms %s %d%s\r\n", key, n, pick(g, "", " MA", " ME", " c", " q", " MP s")) + value
	}
	return fmt.Sprintf("%s %s 0 0 %d%s\r\n", pick(g, "set", "add", "append"), key, n, pick(g, "", "", " noreply")) + value
}

func (g *generator) metaSet() string {
	length, value := g.body()
	flags := g.flags("kOqbcsFTCIMMMNELx", 5)
	line := g.line("ms", g.metaKey(), " "+length+flags)
	return line + value + "\r\n"
}

func (g *generator) set() string {
	name := pick(g, "set", "set", "add", "replace", "append", "prepend", "cas")
	length, value := g.body()
	flags := pick(g, "0", "0", "0", "7", "4294967295", "4294967296", "-1", "x", "+1", "18446744073709551616", "1x")
	exptime := g.exptime()
	rest := fmt.Sprintf(" %s %s %s", flags, exptime, length)
	if name == "cas" {
		if exptime == "" {
			rest = " 0 0 " + length // or the CAS would be taken for the length
		}
		rest += " " + pick(g, g.cas(), g.cas(), "x", "-1", "")
	}
	return g.line(name, g.key(), rest+g.noreply()) + value + "\r\n"
}

func (g *generator) get() string {
	name := pick(g, "get", "gets", "gat", "gats")
	var b strings.Builder
	if name == "gat" || name == "gats" {
		b.WriteString(" " + g.exptime())
	}
	for range 1 + g.rng.IntN(4) {
		key := g.key()
		// A key that is too long also takes away unsent replies to earlier commands. How
		// many those are is up to the kernel, so nothing goes before it.
		if key[0] == 'y' && g.sent > 0 {
			key = markPrefix + "a"
		}
		b.WriteString(" " + key)
	}
	return name + b.String() + "\r\n"
}
