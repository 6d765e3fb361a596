package ring

// pymemcache, the pure Python client.

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// HashClient of pymemcache with its default hasher: MurmurHash3 rendezvous
// over texts "host:port-key". It hashes the characters of a key as Python
// prints it, so a str and the bytes that encode it are different keys: take
// PymemcacheBytes only if the Python side passes keys as bytes. Its option
// key_prefix is not hashed: see [Placement.IgnorePrefix].
var (
	PymemcacheStr   = newPymemcache("PymemcacheStr", pythonStr)
	PymemcacheBytes = newPymemcache("PymemcacheBytes", pythonBytes)
)

// python says how a key becomes the text that is hashed.
type python uint8

const (
	pythonNone  python = iota
	pythonStr          // characters
	pythonBytes        // characters of the bytes literal
)

func newPymemcache(name string, text python) Placement {
	return Placement{hash: HashMurmur3, peer: &peer{
		name: name, label: hostPortLabel, python: text, build: buildPymemcache,
		// Of equal scores the greater text wins.
		sort: func(a, b member) int { return cmp.Compare(a.label, b.label) },
	}}
}

func buildPymemcache(r *Ring, members []member) error {
	r.table = tableRendezvous
	for _, m := range members {
		text := appendChars(nil, m.label+"-")
		r.rendezvous = append(r.rendezvous, candidate{
			index: m.index, state: murmur3State{}.add(stringView(text)),
		})
	}
	return nil
}

// appendChars appends the low 8 bits of each character of s: pymemcache hashes
// characters as if they were bytes. A byte that is not UTF-8 stands for itself;
// Python has no such text.
func appendChars(b []byte, s string) []byte {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				r = rune(s[i])
			}
		}
		b = append(b, byte(r))
	}
	return b
}

// appendRepr appends s as Python writes it as a bytes literal.
func appendRepr(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b = append(b, 'b', quote)
	for i := range len(s) {
		switch c := s[i]; {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c < ' ' || c > '~':
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}
