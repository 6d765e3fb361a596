package memcache

import (
	"context"
	"slices"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file takes to other servers what a server has left undone that is found
// to be down. route.go says which.

// movesOn reports whether an operation that failed with err, and by which its
// server was found to be down, may be tried elsewhere.
func movesOn(ctx context.Context, op link.Op, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	switch err := err.(type) {
	case *ConnectTimeoutError:
		return true
	case *OpError:
		return !err.OutcomeUnknown || op == link.Set
	}
	return false
}

// failOver is the end of an operation on home that failed with err, while home is
// down: it is tried elsewhere, if it may be.
func (c *Client) failOver(ctx context.Context, home *server, key string, req *link.Request, err error) (link.Reply, error) {
	v, _ := c.current()
	if req.Op == link.Delete {
		c.deleteElsewhere(ctx, v, home, []string{req.Key})
		return link.Reply{}, err
	}
	if !movesOn(ctx, req.Op, err) {
		return link.Reply{}, err
	}
	s, blind := c.instead(v, home, key, req)
	switch {
	case blind && c.Failover.policyOf(req.Op) == reads:
		return link.Reply{}, ErrCacheMiss
	case s == home:
		return link.Reply{}, err
	}
	c.Failover.bound(req)
	return s.ask(ctx, req)
}

// goOn is failOver for a batch: what has no reply because its server is found to
// be down is taken out of its share and, where it may be tried elsewhere, done
// again in the next round. Deletes come behind that, so that none is undone by what
// was stored before it. done is how many operations of a share have a reply.
func (b *batch) goOn(done func(share int) int) {
	c := b.client
	if c.Failover.Mode == FailFast || len(b.places) == 0 { // or what is asked of servers
		return
	}
	for i := range b.shares {
		if share, s := &b.shares[i], b.parts[i].server; share.Err != nil && s.client == c && s.health.refuses() {
			b.moveOn(i, done(i))
		}
	}
	if len(b.again) > 0 {
		return
	}
	for i := range b.parts {
		if p := &b.parts[i]; len(p.undone) > 0 {
			c.deleteElsewhere(b.ctx, b.view, p.server, p.undone)
			p.undone = nil
		}
	}
}

// moveOn takes out of share i what goes on, of the operations from number done
// on. What stays has memory of its own: whoever reads from the lost connection
// may still look at the old.
func (b *batch) moveOn(i, done int) {
	p, share, why := &b.parts[i], &b.shares[i], b.why(i)
	keys, reqs, sent := share.Keys, share.Reqs, share.Sent
	share.Sent = min(sent, done)
	share.Keys, share.Reqs = slices.Clone(keys[:min(done, len(keys))]), slices.Clone(reqs[:min(done, len(reqs))])
	ops := p.ops[:done]
	for j, op := range p.ops[done:] {
		switch {
		case b.goesOn(op, p.server, why(done+j)):
			continue
		case keys != nil:
			share.Keys = append(share.Keys, keys[done+j])
		default:
			share.Reqs = append(share.Reqs, reqs[done+j])
		}
		ops = append(ops, op)
		if done+j < sent {
			share.Sent++
		}
	}
	b.parts[i].ops = ops
}

// goesOn reports whether operation i, which its server home failed with err, is
// left to another one, or is a miss.
func (b *batch) goesOn(i int32, home *server, err error) bool {
	c, req := b.client, b.request(i)
	owner, unplaced := c.pickFrom(b.view, c.Keys.placed(req.Key))
	if unplaced != nil || owner != home || !movesOn(b.ctx, req.Op, home.failure(b.ctx, req.Op, err)) {
		return false
	}
	place := b.instead(i)
	if place == b.places[i] {
		return false
	}
	b.places[i] = place
	if place != nowhere {
		b.again = append(b.again, i)
	}
	return true
}

// deleteElsewhere deletes keys on the servers that may have taken them over from
// home. What these miss or refuse they are owed.
func (c *Client) deleteElsewhere(ctx context.Context, v *view, home *server, keys []string) {
	var servers []*server
	var reqs [][]link.Request
	for _, key := range keys {
		for s := range c.others(v, home, c.Keys.placed(key)) {
			i := slices.Index(servers, s)
			if i < 0 {
				i = len(servers)
				servers, reqs = append(servers, s), append(reqs, nil)
			}
			reqs[i] = append(reqs[i], link.Request{Op: link.Delete, Key: key})
		}
	}
	var shares []*link.Share
	var asked []*server
	var tickets []ticket
	for i, s := range servers {
		if s.health.word.Load() == 0 || s.health.admit(ctx, link.Delete, reqs[i]) == nil {
			shares, asked = append(shares, &link.Share{Link: s.link, Reqs: reqs[i]}), append(asked, s)
			tickets = append(tickets, s.ticket(reqs[i]))
		}
	}
	link.Gather(ctx, shares)
	for i, s := range asked {
		share := shares[i]
		// Whatever the reason: the caller was told that they are pending.
		missed := slices.Clone(share.Reqs[len(share.Replies):])
		var deleted []string
		for j := range share.Replies {
			if refusal(&share.Replies[j]) != nil {
				missed = append(missed, share.Reqs[j])
			} else {
				deleted = append(deleted, share.Reqs[j].Key)
			}
		}
		for _, key := range s.health.pay(deleted, tickets[i]) { // older writes of these come behind
			missed = append(missed, link.Request{Op: link.Delete, Key: key})
		}
		s.health.owe(missed)
	}
}

// noteUndone notes what the server of p has missed of deletes, if others may have taken
// it over.
func (b *batch) noteUndone(p *part, missed []link.Request) {
	if b.client.Failover.Mode == FailFast || !p.server.health.refuses() || p.server.client != b.client {
		return
	}
	for i := range missed {
		if missed[i].Op == link.Delete {
			p.undone = append(p.undone, missed[i].Key)
		}
	}
}
