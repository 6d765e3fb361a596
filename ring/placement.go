package ring

// A placement as plain data: which rule, and the rule's settings.

// Placement says how keys map to servers. It is a small value that can be
// compared, copied and printed; the zero value is [Default].
type Placement struct {
	rule rule
}

type rule uint8

const (
	ruleArcs rule = iota
	ruleGomemcache
)

// build gives r the tables that p looks keys up in.
func (p Placement) build(r *Ring) error {
	if p.rule != ruleArcs {
		return nil
	}
	var err error
	r.arcs, err = newArcs(r.servers)
	return err
}

// String returns the name of the placement in this package.
func (p Placement) String() string {
	if p.rule == ruleGomemcache {
		return "Gomemcache"
	}
	return "Default"
}
