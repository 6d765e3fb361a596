//go:build !unix

package run

// processor reads nothing: there is no getrusage here.
func (u *usage) processor() { u.switches = -1 }
