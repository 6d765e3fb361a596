package ring

// A placement as plain data: whose rules, and the settings of those rules.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Placement says how keys map to servers. It is a small value that can be
// copied, compared and printed. The zero value is [Default]; the others are
// the variables and functions of this package that return one, named after the
// client that places keys so. Methods return a changed copy, and those that the
// client has no counterpart of make [New] fail with [ErrOption].
type Placement struct {
	peer    *peer // nil: Default
	hash    Hash  // of keys
	buckets int   // points a server where the peer lets one choose; 0: its default
	seed    string
	salt    string
	filter  filter
}

// ErrOption is wrapped by the error of [New] for a placement with a hash or an
// option that its client does not have.
var ErrOption = errors.New("ring: no such option")

// peer is a client, or one of its ways, with the rules that are not settings.
// A field left out means the peer does nothing special.
type peer struct {
	name     string  // of the variable or function in this package
	hashes   []Hash  // those to choose from; nil: the hash is fixed
	label    labeler // the text of a server without a name
	weights  weightRule
	sort     func(a, b member) int // its own order of the list
	failover failover
	python   python
	buckets  bool // whether Buckets applies
	seed     bool // whether Seed applies
	salt     bool // whether Salt applies
	build    func(r *Ring, members []member) error
}

// member is a server as a peer works with it.
type member struct {
	index  int // in the list given to New
	label  string
	weight float64
}

func totalWeight(members []member) float64 {
	total := 0.0
	for _, m := range members {
		total += m.weight
	}
	return total
}

// weightRule says what weights mean to a peer.
type weightRule uint8

const (
	weightsNone    weightRule = iota // it has none: they must be equal
	weightsIgnored                   // it takes them and ignores them
	weightsWhole                     // whole numbers
	weightsAny
	weightsUnit // above 0, at most 1
)

func (w weightRule) check(servers []Server) error {
	for i, s := range servers {
		why := ""
		switch {
		case w == weightsNone && s.Weight != servers[0].Weight:
			why = "the placement has no weights, and this one differs from the first"
		case w == weightsWhole && s.Weight != math.Trunc(s.Weight):
			why = "the placement takes whole numbers only"
		case w == weightsUnit && s.Weight > 1:
			why = "the placement takes 1 at most"
		default:
			continue
		}
		return &ServerError{Index: i, Server: s, Err: fmt.Errorf("%w: %v: %s", ErrWeight, s.Weight, why)}
	}
	return nil
}

// rules returns the peer, which is never nil.
func (p Placement) rules() *peer {
	if p.peer == nil {
		return defaultPeer
	}
	return p.peer
}

// check reports settings that the peer does not have.
func (p Placement) check() error {
	rules := p.rules()
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s has no %s", ErrOption, rules.name, fmt.Sprintf(format, args...))
	}
	switch {
	case rules.hashes != nil && !slices.Contains(rules.hashes, p.hash):
		return refuse("hash %v", p.hash)
	case p.buckets < 0, p.buckets != 0 && !rules.buckets:
		return refuse("buckets setting of %d", p.buckets)
	case p.seed != "" && !rules.seed:
		return refuse("seed")
	case p.salt != "" && !rules.salt:
		return refuse("salt")
	}
	return p.filter.check()
}

// build gives r the tables that its placement looks keys up in.
func (p Placement) build(r *Ring) error {
	if err := p.check(); err != nil {
		return err
	}
	rules := p.rules()
	if err := rules.weights.check(r.servers); err != nil {
		return err
	}
	members := make([]member, len(r.servers))
	for i, s := range r.servers {
		members[i] = member{index: i, label: s.Name, weight: s.Weight}
		if s.Name == "" {
			var err error
			if members[i].label, err = rules.label(s.Addr); err != nil {
				return &ServerError{Index: i, Server: s, Err: err}
			}
		}
	}
	if rules.sort != nil {
		slices.SortStableFunc(members, rules.sort)
	}
	return rules.build(r, members)
}

// Seed sets the option "seed" of a pool of memcached's proxy. It has no effect
// on MD5 key hashes.
func (p Placement) Seed(seed string) Placement {
	p.seed = seed
	return p
}

// Buckets sets the option "obuckets" of memcached's proxy: points per server;
// 0 means 160. Modes that hash by MD5 round it down to a multiple of 4.
func (p Placement) Buckets(n int) Placement {
	p.buckets = n
	return p
}

// Salt sets the option "salt" of a hash in mcrouter's configuration: a text
// hashed after each key.
func (p Placement) Salt(salt string) Placement {
	p.salt = salt
	return p
}

// String returns how the placement is written in this package, such as
// `TwemproxyKetama(md5).HashTag("{}")`.
func (p Placement) String() string {
	var b strings.Builder
	b.WriteString(p.rules().name)
	if p.rules().hashes != nil {
		fmt.Fprintf(&b, "(%v)", p.hash)
	}
	if p.buckets != 0 {
		fmt.Fprintf(&b, ".Buckets(%d)", p.buckets)
	}
	if p.seed != "" {
		fmt.Fprintf(&b, ".Seed(%q)", p.seed)
	}
	if p.salt != "" {
		fmt.Fprintf(&b, ".Salt(%q)", p.salt)
	}
	b.WriteString(p.filter.String())
	return b.String()
}
