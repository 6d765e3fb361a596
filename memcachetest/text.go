package memcachetest

// The frame shared by the classic and the meta commands: splitting a line into
// tokens, and finding who answers it.

import "bytes"

// Error lines that several commands use.
const (
	errUnknown     = "ERROR"
	errFormat      = "CLIENT_ERROR bad command line format"
	errDataChunk   = "CLIENT_ERROR bad data chunk"
	errExptime     = "CLIENT_ERROR invalid exptime argument"
	errDelta       = "CLIENT_ERROR invalid numeric delta argument"
	errNotNumeric  = "CLIENT_ERROR cannot increment or decrement non-numeric value"
	errTooLarge    = "SERVER_ERROR object too large for cache"
	errOutOfMemory = "SERVER_ERROR out of memory"
	errNoMemory    = "SERVER_ERROR out of memory storing object"
)

// maxKey is the longest key, in bytes.
const maxKey = 250

// minLine is the shortest line, its end included, that 1.6.45 looks at.
const minLine = 4

// split cuts line at spaces. Only the space byte separates.
func split(tokens [][]byte, line []byte) [][]byte {
	for len(line) > 0 {
		end := bytes.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		if end > 0 {
			tokens = append(tokens, line[:end:end])
		}
		line = line[min(end+1, len(line)):]
	}
	return tokens
}

// textCommand reads a line and answers it. It reports false when the connection is
// over.
func (c *conn) textCommand() bool {
	if !c.readLine() {
		return false
	}
	c.command()
	return true
}

// command answers c.line.
func (c *conn) command() {
	if c.old {
		if nul := bytes.IndexByte(c.line, 0); nul >= 0 {
			c.line = c.line[:nul]
		}
	}
	c.tokens = split(c.tokens[:0], c.line)
	c.quiet = false
	if !c.begin(c.commandName(), c.line) {
		return
	}
	if known, reaction := c.srv.knows(c.name); !known {
		c.refuseText(reaction)
		return
	}
	switch {
	case c.srv.cfg.Users != nil && !c.trusted:
		c.authenticate()
		return
	case !c.old && c.lineLen < minLine:
		c.reply(errFormat)
		return
	case len(c.tokens) == 0:
		c.reply(errUnknown)
		return
	}
	if !c.old && c.line[0] == ' ' {
		c.unknown()
		return
	}
	if c.noMemory && !takesValue[c.name] {
		c.fail(errOutOfMemory)
		return
	}
	if !c.meta() && !c.classic() && !c.admin() {
		c.unknown()
	}
}

// takesValue holds the commands that a value follows, which must be read even if it
// is not stored.
var takesValue = map[string]bool{
	"ms": true, "set": true, "add": true, "replace": true, "append": true, "prepend": true, "cas": true,
}

// commandNames holds the names that the log need not copy.
var commandNames = map[string]string{
	"mg": "mg", "ms": "ms", "md": "md", "ma": "ma", "me": "me", "mn": "mn",
	"get": "get", "gets": "gets", "gat": "gat", "gats": "gats", "set": "set", "add": "add",
	"replace": "replace", "append": "append", "prepend": "prepend", "cas": "cas",
	"delete": "delete", "incr": "incr", "decr": "decr", "touch": "touch",
	"version": "version", "flush_all": "flush_all", "stats": "stats", "quit": "quit",
}

// commandName is the first token of the line, or "" without one.
func (c *conn) commandName() string {
	if len(c.tokens) == 0 {
		return ""
	}
	if name, ok := commandNames[string(c.tokens[0])]; ok {
		return name
	}
	return string(c.tokens[0])
}

// refuseText reacts to a command that the server's personality does not know.
func (c *conn) refuseText(reaction Reaction) {
	switch reaction {
	case ReactError:
		c.fail(errUnknown)
	case ReactClose:
		c.closing = true
	}
}

func (c *conn) unknown() {
	last := c.tokens[len(c.tokens)-1]
	switch {
	case bytes.HasPrefix(last, []byte("HTTP/")):
		c.closing = true
	case !c.old && len(c.tokens) > 1 && string(last) == "noreply":
	default:
		c.reply(errUnknown)
	}
}
