package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/binary"
	"github.com/vaquero-cache/memcache/classic"
)

// This file gives a connection a name and a password, before anything else is
// said on it. Nothing that a server answers gets into an error: it may repeat
// what it was told.

// Credentials are a name and a password.
type Credentials struct{ Username, Password string }

var (
	// ErrAuth: the server refused the credentials, or asks for some.
	ErrAuth = errors.New("authentication refused")

	// ErrCredentials: the credentials cannot be sent. Nothing was.
	ErrCredentials = errors.New("username or password cannot be sent")

	errNoPlain       = fmt.Errorf("%w: the server does not offer SASL PLAIN", ErrAuth)
	errNoCredentials = fmt.Errorf("%w: the server wants a username and a password", ErrAuth)
	errAuthUndecided = errors.New("server failed to authenticate")
)

// plain is the only mechanism of SASL that memcached has by itself.
const plain = "PLAIN"

// token returns what shows the client's credentials on a connection: a whole
// request of the text protocols, or the data of PLAIN. nil if there are none.
func (l *Link) token(ctx context.Context) ([]byte, error) {
	if l.cfg.Credentials == nil {
		return nil, nil
	}
	c, err := l.cfg.Credentials(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	if l.cfg.Protocol == Binary {
		data, err := binary.PlainAuth(c.Username, c.Password)
		if err != nil {
			return nil, ErrCredentials
		}
		return []byte(data), nil
	}
	request, err := classic.AppendAuth(nil, c.Username, c.Password)
	if err != nil {
		return nil, ErrCredentials
	}
	return request, nil
}

// logIn shows token to the server and waits for its verdict. Nothing may follow
// a refusal: memcached answers several requests of a stranger with one line.
func logIn(nc net.Conn, p Protocol, token []byte) error {
	if p == Binary {
		return logInBinary(nc, string(token))
	}
	line, err := question(nc, token)
	if err != nil {
		return err
	}
	switch kind, _, _ := bytes.Cut(line, []byte(" ")); string(kind) {
	case "STORED":
		return nil
	case "CLIENT_ERROR":
		return ErrAuth
	case "SERVER_ERROR", "ERROR": // out of memory, or too many connections
		return errAuthUndecided
	}
	return notAnswer(errMispaired)
}

func logInBinary(nc net.Conn, data string) error {
	status, offered, err := binaryQuestion(nc, binary.AppendAuthList(nil, 0))
	if err != nil {
		return err
	}
	isPlain := func(name string) bool { return strings.EqualFold(name, plain) }
	if status != binary.StatusOK || !slices.ContainsFunc(strings.Fields(string(offered)), isPlain) {
		return errNoPlain
	}
	request, _ := binary.AppendAuthStart(nil, plain, data, 0) // whose parts have been looked at by token
	if status, _, err = binaryQuestion(nc, request); err != nil {
		return err
	}
	if status == binary.StatusAuthContinue { // a server that has not read the data yet
		request, _ = binary.AppendAuthStep(nil, plain, data, 0)
		if status, _, err = binaryQuestion(nc, request); err != nil {
			return err
		}
	}
	switch status {
	case binary.StatusOK:
		return nil
	case binary.StatusAuthFailure, binary.StatusAuthError:
		return ErrAuth
	case binary.StatusAuthContinue:
		return notAnswer(errMispaired)
	}
	return errAuthUndecided
}
