package memcache

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file holds what is asked of servers and not of keys, all of them at once.
//
// Their common contract: each server is asked once, also if it is listed several
// times. Results are by its address, as net.Addr.String gives it. When servers
// fail, the results of the others are returned with a *MultiError that names the
// failed ones, without keys. An error of the selector is returned as it is.

// ErrMalformedArgument refuses an argument of Stats. Nothing was sent.
var ErrMalformedArgument = errors.New("memcache: malformed argument of stats")

// Stats returns the statistics of each server by their names. Without an
// argument they are the general ones; others are "settings", "items", "slabs",
// "sizes", "conns", and "detail", "dump". "reset" and "detail", "on" change
// something and bring no statistics. Classic command stats.
//
// An argument must be a word of printable ASCII. "cachedump", "sizes_enable" and
// "sizes_disable" are refused, since servers do not answer them by statistics.
// What a server does not know it answers with a *ServerError.
func (c *Client) Stats(ctx context.Context, argument ...string) (map[string]map[string]string, error) {
	if !statsArgument(argument) {
		return nil, ErrMalformedArgument
	}
	b, err := c.onServers(ctx, link.Request{Op: link.Stats, Key: strings.Join(argument, " ")})
	if err != nil {
		return nil, err
	}
	stats := make(map[string]map[string]string, len(b.parts))
	for s, reply := range b.answers {
		stats[s.addr.String()] = reply.Detail.Stats
	}
	return stats, multiError(b.failed(nil, true))
}

// statsArgument reports whether words may be sent behind stats.
func statsArgument(words []string) bool {
	for _, word := range words {
		unprintable := func(r rune) bool { return r <= ' ' || r >= 0x7f }
		if len(word) == 0 || len(word) > maxWord || strings.ContainsFunc(word, unprintable) {
			return false
		}
		switch word {
		case "cachedump", "sizes_enable", "sizes_disable", "noreply":
			return false
		}
	}
	return len(words) <= maxWords
}

// maxWords and maxWord, in bytes, are more than any argument of stats has.
const (
	maxWords = 8
	maxWord  = 100
)

// Versions returns the version of each server. Classic command version.
func (c *Client) Versions(ctx context.Context) (map[string]string, error) {
	b, err := c.onServers(ctx, link.Request{Op: link.Version})
	if err != nil {
		return nil, err
	}
	versions := make(map[string]string, len(b.parts))
	for s, reply := range b.answers {
		versions[s.addr.String()] = string(reply.Value)
	}
	return versions, multiError(b.failed(nil, true))
}

// FlushServers deletes all items on the servers with the given addresses, as
// net.Addr.String gives them, or on all servers without any. An address that the
// selector does not have fails with ErrNoServers. Unlike FlushAll it does not
// stop at a failure. Classic command flush_all.
func (c *Client) FlushServers(ctx context.Context, address ...string) error {
	b, err := c.onServers(ctx, link.Request{Op: link.FlushAll}, address...)
	if err != nil {
		return err
	}
	var list []Failure
	for _, a := range address {
		if !slices.ContainsFunc(b.parts, func(p part) bool { return p.server.addr.String() == a }) {
			list = append(list, Failure{Server: a, Err: ErrNoServers})
		}
	}
	return multiError(b.failed(list, true))
}

// onServers performs req on each server, or on those with the given addresses.
func (c *Client) onServers(ctx context.Context, req link.Request, address ...string) (*batch, error) {
	b := &batch{client: c, ops: operations{reqs: []link.Request{req}}}
	err := c.selector.Each(func(addr net.Addr) error {
		if len(address) == 0 || slices.Contains(address, addr.String()) {
			b.partOf(c.server(addr))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.shares = make([]link.Share, len(b.parts))
	for i := range b.parts {
		b.parts[i].size, b.parts[i].ops = 1, []int32{0}
		b.shares[i] = link.Share{Link: b.parts[i].server.link, Reqs: b.ops.reqs}
	}
	b.perform(ctx)
	return b, nil
}

// answers yields the servers that have done what they were asked.
func (b *batch) answers(yield func(*server, *link.Reply) bool) {
	for i := range b.shares {
		for j := range b.shares[i].Replies {
			if reply := &b.shares[i].Replies[j]; reply.Status == link.OK && !yield(b.parts[i].server, reply) {
				return
			}
		}
	}
}
