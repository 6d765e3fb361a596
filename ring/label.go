package ring

// How the peers write a server's address in their rings.

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const defaultPort = "11211"

// splitAddr cuts addr into host and port. An IPv6 address loses its brackets,
// a missing port is the default one, and a socket path has no port.
func splitAddr(addr string) (host, port string, unix bool) {
	if strings.Contains(addr, "/") {
		return addr, "", true
	}
	if rest, ok := strings.CutPrefix(addr, "["); ok {
		host, port, _ = strings.Cut(rest, "]")
		port = strings.TrimPrefix(port, ":")
	} else if i := strings.LastIndexByte(addr, ':'); i >= 0 && strings.IndexByte(addr, ':') == i {
		host, port = addr[:i], addr[i+1:]
	} else {
		host = addr
	}
	if port == "" {
		port = defaultPort
	}
	return host, port, false
}

// labeler makes the text of a server from an address that is not overridden by
// a name.
type labeler func(addr string) (string, error)

// plainLabel is the address as given.
func plainLabel(addr string) (string, error) { return addr, nil }

// hostPortLabel is host:port, IPv6 without brackets, or the path.
func hostPortLabel(addr string) (string, error) {
	host, port, unix := splitAddr(addr)
	if unix {
		return host, nil
	}
	return host + ":" + port, nil
}

// shortLabel is the host alone when it listens on the default port, else
// host:port; a path is followed by socketEnd.
func shortLabel(socketEnd string) labeler {
	return func(addr string) (string, error) {
		host, port, unix := splitAddr(addr)
		switch {
		case unix:
			return host + socketEnd, nil
		case port == defaultPort:
			return host, nil
		}
		return host + ":" + port, nil
	}
}

// slashLabel is /host:port whatever the port; a socket has port 0.
func slashLabel(addr string) (string, error) {
	host, port, unix := splitAddr(addr)
	if unix {
		port = "0"
	}
	return "/" + host + ":" + port, nil
}

// evcacheLabel is host/host:port.
func evcacheLabel(addr string) (string, error) {
	host, port, unix := splitAddr(addr)
	if unix {
		return host + "/" + host, nil
	}
	return host + "/" + host + ":" + port, nil
}

// resolvedLabel is the address as Go prints a resolved one, or the path. A host
// name would have to be resolved, so such a server needs a name.
func resolvedLabel(addr string) (string, error) {
	host, port, unix := splitAddr(addr)
	ip, err := netip.ParseAddr(host)
	switch {
	case unix:
		return host, nil
	case err != nil:
		return "", ErrNoName
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// javaLabel is what Java (14 or later) prints for a socket address made of an
// IP address: IPv6 in brackets, its eight groups written out. For a host name
// Java prints what it resolved to, so such a server needs a name.
func javaLabel(addr string) (string, error) {
	host, port, unix := splitAddr(addr)
	ip, err := netip.ParseAddr(host)
	switch {
	case unix || err != nil:
		return "", ErrNoName
	case ip.Is4():
		return host + ":" + port, nil
	}
	var b strings.Builder
	groups := ip.As16()
	for i := 0; i < len(groups); i += 2 {
		b.WriteByte("[:"[min(i, 1)])
		b.WriteString(strconv.FormatUint(uint64(groups[i])<<8|uint64(groups[i+1]), 16))
	}
	return b.String() + "]:" + port, nil
}
