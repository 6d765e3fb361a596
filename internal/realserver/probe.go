package realserver

// Does it answer? One question, in the language that the command line asks for.

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// answerTimeout bounds one try; a server that starts may accept before it serves.
const answerTimeout = time.Second

// probe connects, asks for the version and returns it. The version is empty where
// the server answers but does not tell, as before authentication.
type probe func(ctx context.Context, network, addr string) (version string, err error)

// probeFor picks the probe that a server with these arguments understands.
func probeFor(args []string) probe {
	dial := (&net.Dialer{}).DialContext
	if slices.Contains(args, "-Z") {
		// Only life is asked for here; the tests check certificates themselves.
		dial = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext
	}
	ask := askText
	if slices.Contains(args, "-S") || strings.Contains(strings.Join(args, " "), "-B binary") {
		ask = askBinary
	}
	return func(ctx context.Context, network, addr string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		deadline, _ := ctx.Deadline()
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
		version, err := ask(conn)
		if alert := (*net.OpError)(nil); errors.As(err, &alert) && alert.Op == "remote error" {
			return "", nil // of crypto/tls: the server wants a certificate, which is an answer too
		}
		return version, err
	}
}

func askText(conn net.Conn) (string, error) {
	if _, err := io.WriteString(conn, "version\r\n"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", err
	}
	version, _ := strings.CutPrefix(strings.TrimSpace(line), "VERSION ")
	if strings.Contains(version, " ") {
		return "", nil // "CLIENT_ERROR unauthenticated" is an answer too
	}
	return version, nil
}

func askBinary(conn net.Conn) (string, error) {
	const (
		requestMagic, replyMagic = 0x80, 0x81
		opVersion                = 0x0b
	)
	header := make([]byte, 24)
	header[0], header[1] = requestMagic, opVersion
	if _, err := conn.Write(header); err != nil {
		return "", err
	}
	if _, err := io.ReadFull(conn, header); err != nil {
		return "", err
	}
	if header[0] != replyMagic {
		return "", errors.New("the answer is not of the binary protocol")
	}
	body, err := io.ReadAll(io.LimitReader(conn, int64(min(binary.BigEndian.Uint32(header[8:]), 64))))
	return string(body), err
}
