package memcachetest

// Who may talk: the text handshake of memcached -Y, and SASL PLAIN over the binary
// protocol.

import (
	"bytes"
	"strings"
)

const (
	minAuthLine  = 7     // bytes with the line end; 1.6.45 closes on a shorter one
	maxAuthToken = 16384 // bytes; a longer one is refused
)

const (
	errUnauthenticated = "CLIENT_ERROR unauthenticated"
	errAuthFailure     = "CLIENT_ERROR authentication failure"
	errAuthFormat      = "CLIENT_ERROR bad authentication token format"
	errAuthEnd         = "CLIENT_ERROR bad command line termination"
	errAuthLength      = "CLIENT_ERROR auth token too long"
)

// authenticate answers a line on a connection that has not shown a name and
// password yet. Only a set is understood, whose value is "user password".
// memcached has one reply in hand until the input is drained, so of several early
// replies only the last is sent.
func (c *conn) authenticate() {
	c.forgetReplies()
	if !c.old && c.lineLen < minAuthLine {
		c.closing = true
		return
	}
	length, ok := c.authLength()
	switch {
	case !ok:
		c.reply(errUnauthenticated)
		return
	case length <= maxAuthToken:
	case c.old:
		c.swallowAll() // 1.6.18 waits for what its buffer cannot hold
		return
	default:
		c.reply(errAuthLength)
		return
	}
	token, framed, whole := c.readBody(length)
	if !whole {
		c.abort()
		return
	}
	if !framed {
		c.reply(errAuthEnd)
		return
	}
	user, password, ok := c.splitToken(token)
	if !ok {
		c.reply(errAuthFormat)
		return
	}
	if !c.login(c.srv.cfg.Users, user, password) {
		c.reply(errAuthFailure)
		return
	}
	c.trusted = true
	c.reply("STORED")
}

// swallowAll drops whatever comes until the client ends the connection.
func (c *conn) swallowAll() {
	for c.fill() {
		c.rpos = c.wpos
	}
	c.abort()
}

// authLength reads the length of the value out of a set line, the rest of which
// does not matter.
func (c *conn) authLength() (int, bool) {
	if len(c.tokens) < 5 {
		return 0, false
	}
	if c.old {
		if string(c.tokens[0]) != "set" {
			return 0, false
		}
	} else if !bytes.HasPrefix(c.line, []byte("set")) {
		return 0, false
	}
	return c.num.length(c.tokens[4])
}

// splitToken cuts "user password": at the first space on 1.6.45, into words of
// which the first two count on 1.6.18.
func (c *conn) splitToken(token []byte) (user, password string, ok bool) {
	if !c.old {
		return strings.Cut(string(token), " ")
	}
	words := strings.Fields(string(token))
	if len(words) < 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

// login compares and counts.
func (c *conn) login(users map[string]string, user, password string) bool {
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	c.st.count.authCmds++
	want, known := users[user]
	if !known || want != password {
		c.st.count.authErrors++
		return false
	}
	return true
}

// saslMechanism is the only one there is.
const saslMechanism = "PLAIN"

// sasl answers the start and the step of a SASL exchange.
func (c *conn) sasl(h *binaryHeader, mechanism string, data []byte) {
	started := c.saslStarted
	c.saslStarted = false
	if !strings.EqualFold(mechanism, saslMechanism) || h.opcode == opSASLStep && !started {
		c.countAuthFailure()
		c.binaryError(h, statusAuth)
		return
	}
	if h.opcode == opSASLAuth && len(data) == 0 {
		c.saslStarted = true
		c.binaryReply(h, statusAuthContinue, 0, nil, nil, nil)
		return
	}
	// authorization id, NUL, user, NUL, password
	fields := strings.SplitN(string(data), "\x00", 3)
	if len(fields) < 3 || !c.login(c.srv.cfg.SASLUsers, fields[1], fields[2]) {
		c.binaryError(h, statusAuth)
		return
	}
	c.trusted = true
	c.binaryReply(h, statusOK, 0, nil, nil, []byte("Authenticated"))
}

func (c *conn) countAuthFailure() {
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	c.st.count.authCmds++
	c.st.count.authErrors++
}
