// Package micro has work of a few nanoseconds: codec and ring beside the plain
// ways to do the same.
package micro

// Rows and who competes in them.

// Ours is the name of this project's way in every row.
const Ours = "vaquero"

// HashAlone is the contender that hashes a key and finds no server for it.
const HashAlone = "hash alone"

// Row is one kind of work, done Items times in each call.
type Row struct {
	Name       string
	Items      int
	Contenders []*Contender
}

// Contender is one way to do it. It is a run.Caller.
type Contender struct {
	Name string

	work  func() error // does all items
	check func() error // looks at the results
}

// Call does all items once.
func (c *Contender) Call() error { return c.work() }

// Check looks at what the last Call left.
func (c *Contender) Check() error { return c.check() }

// Group is a set of rows that are measured together.
type Group struct {
	Name string
	Rows func() ([]Row, error)
}

// Groups are all there are.
var Groups = []Group{
	{"parse", parseRows},
	{"build", buildRows},
	{"pick", pickRows},
	{"lookup", lookupRows},
}
