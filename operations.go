package memcache

import "github.com/vaquero-cache/memcache/internal/link"

// This file holds what a batch is given to do: a request of each operation is
// made when its round comes.

// operations are those of a batch, in the caller's order: either keys, items or
// reqs has one element for each. They are only read.
type operations struct {
	form  link.Request   // with keys: all of it but the key; with items: Op
	keys  []string       // as the caller gave them
	items []*Item        // to be stored
	reqs  []link.Request // different ones
}

// gets reports whether they do nothing but get keys.
func (o *operations) gets() bool { return o.form.Op == link.Get }

func (o *operations) len() int { return len(o.keys) + len(o.items) + len(o.reqs) }

// key returns the key of operation i, as the caller gave it.
func (o *operations) key(i int) string {
	switch {
	case o.items != nil:
		return o.items[i].Key
	case o.reqs != nil:
		return o.reqs[i].Key
	}
	return o.keys[i]
}

// request returns operation i, with the key that the caller gave.
func (o *operations) request(i int) link.Request {
	switch {
	case o.items != nil:
		return storing(o.form.Op, o.items[i])
	case o.reqs != nil:
		return o.reqs[i]
	}
	req := o.form
	req.Key = o.keys[i]
	return req
}
