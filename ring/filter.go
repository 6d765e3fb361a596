package ring

// Which part of a key is hashed: tags, stops, prefixes, routing keys.

import (
	"fmt"
	"strings"
)

// filter cuts the part to hash out of a key: first the prefix goes, then the
// rule applies. The zero value leaves keys whole.
type filter struct {
	prefix string
	rule   filterRule
	conf   string // the tag's two characters, or the stop
}

type filterRule uint8

const (
	filterNone filterRule = iota
	filterHashTag
	filterTags
	filterStop
	filterRoutingKey
)

// HashTag makes the placement hash only what stands between the two characters
// of tag, as the option "hash_tag" of twemproxy does: the part of the key
// between the first tag[0] and the first tag[1] after it, or all of the key
// when there is none or nothing is between. Keys with the same tag are on the
// same server. [New] refuses a tag that is not two bytes long.
func (p Placement) HashTag(tag string) Placement {
	p.filter.rule, p.filter.conf = filterHashTag, tag
	return p
}

// FilterTags is the filter "tags" of memcached's proxy: [Placement.HashTag],
// except that an empty tag is hashed as such.
func (p Placement) FilterTags(tag string) Placement {
	p.filter.rule, p.filter.conf = filterTags, tag
	return p
}

// FilterStop is the filter "stop" of memcached's proxy: only what stands before
// the first stop is hashed. [New] refuses a stop that is not 2 to 5 bytes long,
// as the proxy does.
func (p Placement) FilterStop(stop string) Placement {
	p.filter.rule, p.filter.conf = filterStop, stop
	return p
}

// IgnorePrefix makes the placement skip prefix where a key begins with it. It
// is for clients that send a prefix (or namespace) without hashing it, while
// the keys given to Pick carry it: libmemcached and pylibmc (unless
// HASH_WITH_PREFIX_KEY is set), PHP's OPT_PREFIX_KEY, pymemcache's key_prefix.
// Dalli and the others hash what they send.
func (p Placement) IgnorePrefix(prefix string) Placement {
	p.filter.prefix = prefix
	return p
}

func (f filter) check() error {
	n := len(f.conf)
	switch {
	case (f.rule == filterHashTag || f.rule == filterTags) && n != 2:
		return fmt.Errorf("%w: tag %q is not two bytes", ErrOption, f.conf)
	case f.rule == filterStop && (n < 2 || n > 5):
		return fmt.Errorf("%w: stop %q is not 2 to 5 bytes", ErrOption, f.conf)
	}
	return nil
}

// apply returns the part of key to hash.
func (f *filter) apply(key string) string {
	key = strings.TrimPrefix(key, f.prefix)
	switch f.rule {
	case filterHashTag:
		if tag, ok := f.tag(key); ok && tag != "" {
			return tag
		}
	case filterTags:
		if tag, ok := f.tag(key); ok {
			return tag
		}
	case filterStop:
		before, _, _ := strings.Cut(key, f.conf)
		return before
	case filterRoutingKey:
		return routingKey(key)
	}
	return key
}

// tag returns what is between the tag's characters in key.
func (f *filter) tag(key string) (tag string, ok bool) {
	open := strings.IndexByte(key, f.conf[0])
	if open < 0 {
		return "", false
	}
	tag = key[open+1:]
	end := strings.IndexByte(tag, f.conf[1])
	if end < 0 {
		return "", false
	}
	return tag[:end], true
}

func (f filter) String() string {
	s := ""
	switch f.rule {
	case filterHashTag:
		s = fmt.Sprintf(".HashTag(%q)", f.conf)
	case filterTags:
		s = fmt.Sprintf(".FilterTags(%q)", f.conf)
	case filterStop:
		s = fmt.Sprintf(".FilterStop(%q)", f.conf)
	}
	if f.prefix != "" {
		s += fmt.Sprintf(".IgnorePrefix(%q)", f.prefix)
	}
	return s
}
