package memcachetest

// The frame shared by the classic and the meta commands: splitting a line into
// tokens, and finding who answers it.

import "bytes"

// Error lines that several commands use.
const (
	errUnknown    = "ERROR"
	errFormat     = "CLIENT_ERROR bad command line format"
	errDataChunk  = "CLIENT_ERROR bad data chunk"
	errExptime    = "CLIENT_ERROR invalid exptime argument"
	errDelta      = "CLIENT_ERROR invalid numeric delta argument"
	errNotNumeric = "CLIENT_ERROR cannot increment or decrement non-numeric value"
	errTooLarge   = "SERVER_ERROR object too large for cache"
	errNoMemory   = "SERVER_ERROR out of memory storing object"
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
	if !c.meta() && !c.classic() && !c.admin() {
		c.unknown()
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
