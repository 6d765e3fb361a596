package link

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/vaquero-cache/memcache/binary"
)

// This file asks a question and waits for its answer, on a connection that
// nobody else uses yet. No answer is longer than a few lines.

// converse runs f, which speaks on nc, and makes its reads and writes fail at
// that time and at the end of ctx. With an error nc is of no further use.
func converse(ctx context.Context, nc net.Conn, until time.Time, f func() error) error {
	nc.SetDeadline(until)
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(longAgo) })
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	nc.SetDeadline(time.Time{})
	return err
}

// question sends q and returns the line that answers it, without its end. More
// than one line is an error.
func question(nc net.Conn, q []byte) ([]byte, error) {
	if err := tell(nc, q); err != nil {
		return nil, err
	}
	var buf [512]byte
	n := 0
	for n < len(buf) {
		m, err := nc.Read(buf[n:])
		n += m
		if end := bytes.IndexByte(buf[:n], '\n'); end >= 0 {
			if end+1 < n {
				break
			}
			return bytes.TrimSuffix(buf[:end], []byte("\r")), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errLong
}

// tell writes q. If that fails, the error is what the server said last, where
// it said something: a refusal under TLS may come with a closed connection.
func tell(nc net.Conn, q []byte) error {
	_, err := nc.Write(q)
	if err == nil {
		return nil
	}
	var said *net.OpError
	if _, why := nc.Read(make([]byte, 1)); errors.As(why, &said) && said.Op == tlsAlert {
		return why
	}
	return err
}

// maxShortBody is the longest body that binaryQuestion takes.
const maxShortBody = 1 << 10

// binaryQuestion sends a request without an opaque, and returns the status and
// the value of its reply.
func binaryQuestion(nc net.Conn, q []byte) (binary.Status, []byte, error) {
	if err := tell(nc, q); err != nil {
		return 0, nil, err
	}
	buf := make([]byte, binary.HeaderLen+maxShortBody)
	if _, err := io.ReadFull(nc, buf[:binary.HeaderLen]); err != nil {
		return 0, nil, err
	}
	var h binary.Header
	_, err := binary.ParseHeader(buf, &h)
	switch {
	case err != nil:
		return 0, nil, notAnswer(err)
	case h.Opcode != binary.Opcode(q[1]) || h.Opaque != 0:
		return 0, nil, notAnswer(errMispaired)
	case h.BodyLen > maxShortBody:
		return 0, nil, errLong
	}
	rest := buf[binary.HeaderLen : binary.HeaderLen+h.BodyLen]
	if _, err := io.ReadFull(nc, rest); err != nil {
		return 0, nil, err
	}
	var body binary.Body
	if _, _, err := binary.ParseBody(rest, &h, &body); err != nil {
		return 0, nil, notAnswer(err)
	}
	return h.Status, body.Value, nil
}

// tlsAlert is what crypto/tls has for an operation in the error of an alert that
// the other side sent.
const tlsAlert = "remote error"

// notAnswer is the error of a reply to a question that makes no sense. It does
// not show the reply, which may repeat a password.
func notAnswer(why error) error { return protocolError("a first question", nil, why) }

// errLong refuses what is longer than an answer can be.
var errLong = notAnswer(errLongReply)
