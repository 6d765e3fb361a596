package memcachetest

// The commands of an operator: statistics, dumps, limits, and knobs that turn
// nothing here but are accepted as memcached accepts them.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	errStatsDetail = "CLIENT_ERROR usage: stats detail on|off|dump"
	errCommandLine = "CLIENT_ERROR bad command line"
	errSlabID      = "CLIENT_ERROR Illegal slab id"
	errMemoryLimit = "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m"
	errWatch       = "CLIENT_ERROR watch commands not allowed"
)

// admin answers the line when it is an operator's command.
func (c *conn) admin() bool {
	args := make([]string, 0, len(c.tokens)-1)
	for _, token := range c.tokens[1:] {
		args = append(args, string(token))
	}
	switch string(c.tokens[0]) {
	case "stats":
		c.stats(args)
	case "cache_memlimit":
		c.memoryLimit(args)
	case "shutdown":
		if c.old {
			c.reply("ERROR: shutdown not enabled")
		} else {
			c.reply("SERVER_ERROR: shutdown not enabled")
		}
	case "lru_crawler":
		c.crawler(args)
	case "lru":
		c.knob(args, map[string]int{"tune": 4, "mode": 1, "temp_ttl": 1})
	case "slabs":
		c.knob(args, map[string]int{"automove": 1})
	case "watch":
		c.watch(args)
	case "refresh_certs":
		c.reply("Error TLS not enabled")
	default:
		return false
	}
	return true
}

func (c *conn) stats(args []string) {
	group := ""
	if len(args) > 0 {
		group = args[0]
	}
	switch group {
	case "detail":
		c.statsDetail(args[1:])
		return
	case "cachedump":
		c.cacheDump(args[1:])
		return
	}
	list, outcome := c.statGroup(group)
	switch outcome {
	case statsUnknown:
		c.reply(errUnknown)
	case statsReset:
		c.reply("RESET")
	default:
		for _, s := range list {
			c.out = fmt.Appendf(c.out, "STAT %s %s\r\n", s.name, s.value)
		}
		c.reply("END")
	}
}

func (c *conn) statsDetail(args []string) {
	what := ""
	if len(args) > 0 {
		what = args[0]
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	switch what {
	case "on", "off":
		c.st.detail.on = what == "on"
		c.reply("OK")
	case "dump":
		c.out = append(c.out, c.st.detail.dump()...)
		c.reply("END")
	default:
		c.reply(errStatsDetail)
	}
}

// cacheDump lists keys of one slab class, which is how memcdump finds keys.
func (c *conn) cacheDump(args []string) {
	if len(args) < 2 {
		c.reply(errCommandLine)
		return
	}
	class, err1 := strconv.ParseUint(args[0], 10, 32)
	limit, err2 := strconv.ParseUint(args[1], 10, 32)
	if err1 != nil || err2 != nil {
		c.reply(errFormat)
		return
	}
	const classes = 64
	if class >= classes {
		c.reply(errSlabID)
		return
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	_, byClass := c.st.classes()
	base := c.st.clock.base.Unix()
	for i, it := range byClass[int(class)] {
		if limit > 0 && i == int(limit) {
			break
		}
		expires := int64(0)
		if it.expires != 0 {
			expires = base + it.expires/second
		}
		c.out = fmt.Appendf(c.out, "ITEM %s [%d b; %d s]\r\n", it.key, len(it.value), expires)
	}
	c.reply("END")
}

func (c *conn) memoryLimit(args []string) {
	if len(args) > 0 && args[len(args)-1] == "noreply" {
		c.quiet = true
		args = args[:len(args)-1]
	}
	if len(args) == 0 {
		c.reply(errUnknown)
		return
	}
	const least = 8 // MiB
	megabytes, err := strconv.ParseUint(args[0], 10, 32)
	switch {
	case err != nil:
		c.reply(errUnknown)
	case megabytes < least:
		c.reply(errMemoryLimit)
	default:
		c.st.mu.Lock()
		c.st.limit = int64(megabytes) << 20
		c.st.evict(nil)
		c.st.mu.Unlock()
		c.reply("OK")
	}
}

// crawler answers lru_crawler: the dumps, and the knobs of a crawler that is not
// there.
func (c *conn) crawler(args []string) {
	switch {
	case len(args) == 2 && args[0] == "metadump":
		c.dump(args[1], c.appendMetadump, "END")
	case len(args) == 2 && args[0] == "mgdump":
		c.dump(args[1], appendMgdump, "EN")
	default:
		c.knob(args, map[string]int{"enable": 0, "disable": 0, "crawl": 1, "sleep": 1, "tocrawl": 1})
	}
}

// dump lists every item, or those of the classes in a comma list.
func (c *conn) dump(which string, format func([]byte, *item) []byte, end string) {
	var only []int
	if which != "all" && which != "hash" {
		for class := range strings.SplitSeq(which, ",") {
			n, err := strconv.Atoi(class)
			if err != nil || n < 1 || n > len(slabChunks()) {
				c.reply("BADCLASS invalid class id")
				return
			}
			only = append(only, n)
		}
	}
	if !c.old {
		c.reply("OK")
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	now := c.st.clock.now()
	for it := c.st.oldest; it != nil; it = it.newer {
		expired := it.expires != 0 && it.expires <= now
		if expired || only != nil && !slices.Contains(only, slabClass(c.st.size(it))) {
			continue
		}
		c.out = format(c.out, it)
	}
	c.reply(end)
}

// appendMetadump adds a line of metadump, in which the key is URI encoded.
func (c *conn) appendMetadump(out []byte, it *item) []byte {
	base := c.st.clock.base.Unix()
	expires := int64(-1)
	if it.expires != 0 {
		expires = base + it.expires/second
	}
	out = append(out, "key="...)
	for _, b := range []byte(it.key) {
		if uriPlain(b) {
			out = append(out, b)
		} else {
			out = fmt.Appendf(out, "%%%02X", b)
		}
	}
	fetched := yesNo(it.fetched)
	out = fmt.Appendf(out, " exp=%d la=%d cas=%d fetch=%s cls=%d size=%d",
		expires, base+it.used/second, it.cas, fetched, slabClass(c.st.size(it)), c.st.size(it))
	if !c.old {
		out = fmt.Appendf(out, " flags=%d ", it.flags)
	}
	return append(out, '\n')
}

// uriPlain tells which bytes stand for themselves in a URI.
func uriPlain(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
		strings.IndexByte("-._~", b) >= 0
}

// appendMgdump adds a line of mgdump: a meta command that fetches the item.
func appendMgdump(out []byte, it *item) []byte {
	out = append(append(out, "mg "...), storedKey(it)...)
	if it.binaryKey {
		out = append(out, " b"...)
	}
	return append(out, "\r\n"...)
}

// knob accepts a setting that has no meaning here. names says how many arguments
// each takes.
func (c *conn) knob(args []string, names map[string]int) {
	if len(args) > 0 && args[len(args)-1] == "noreply" {
		c.quiet = true
		args = args[:len(args)-1]
	}
	if len(args) == 0 {
		c.reply(errUnknown)
		return
	}
	want, known := names[args[0]]
	switch {
	case !known || len(args)-1 < want:
		c.reply(errUnknown)
	case args[0] == "mode" && args[1] != "flat" && args[1] != "segmented":
		c.reply(errUnknown)
	case args[0] == "automove" && !isNumber(args[1]):
		c.reply(errFormat)
	default:
		c.reply("OK")
	}
}

func isNumber(s string) bool {
	_, ok := digits([]byte(s))
	return ok
}

// watch refuses to stream a log, as memcached -W does: there is none.
func (c *conn) watch(args []string) {
	kinds := []string{
		"fetchers", "mutations", "evictions", "connevents",
		"proxyreqs", "proxyevents", "proxyuser", "deletions",
	}
	for _, kind := range args {
		if !slices.Contains(kinds, kind) {
			c.reply(errUnknown)
			return
		}
	}
	c.reply(errWatch)
}
