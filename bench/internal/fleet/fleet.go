// Package fleet starts the memcached servers that are measured against, fills
// them and reads their counters.
package fleet

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

// BaseArgs is how each server is started: one thread, since the servers share a
// machine with the client, and room for the pools of all contenders.
var BaseArgs = []string{"-t", "1", "-m", "128", "-c", "16384"}

// ioTimeout bounds one exchange with a server.
const ioTimeout = 10 * time.Second

// Fleet is a set of running servers, one process each.
type Fleet struct {
	servers []*realserver.Server
	control []*control
	tls     *tls.Config
	dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: plain TCP
	dir     string                                                               // ours; may be empty
}

// Start starts n servers with BaseArgs and args.
func Start(ctx context.Context, n int, args ...string) (*Fleet, error) {
	f := new(Fleet)
	return f, f.start(ctx, n, args)
}

// start starts all, or none when it fails.
func (f *Fleet) start(ctx context.Context, n int, args []string) error {
	for range n {
		s, err := realserver.Launch(ctx, realserver.Config{Args: append(BaseArgs[:len(BaseArgs):len(BaseArgs)], args...)})
		if err != nil {
			f.Stop()
			return err
		}
		f.servers = append(f.servers, s)
		c, err := f.connect(ctx, s.Addr())
		if err != nil {
			f.Stop()
			return err
		}
		f.control = append(f.control, c)
	}
	return nil
}

// Stop ends the servers.
func (f *Fleet) Stop() {
	for _, c := range f.control {
		c.Close()
	}
	for _, s := range f.servers {
		s.Close()
	}
	if f.dir != "" {
		os.RemoveAll(f.dir)
	}
}

// Addrs returns the addresses of the first n servers.
func (f *Fleet) Addrs(n int) []string {
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = f.servers[i].Addr()
	}
	return addrs
}

// Version is what the servers say of themselves.
func (f *Fleet) Version() string { return f.servers[0].Version() }

// Fill stores every key on every server, so that each contender finds each key
// wherever it looks for it.
func (f *Fleet) Fill(set *workload.Set) error {
	for _, c := range f.control {
		if err := c.fill(set); err != nil {
			return err
		}
	}
	return nil
}

// Traffic returns a function that reads the counters of the first n servers, less
// what its own readings cost.
func (f *Fleet) Traffic(n int) func() (run.Traffic, error) {
	var asked, told int64 // bytes of all readings so far
	return func() (run.Traffic, error) {
		var sum run.Traffic
		var replies int64
		for _, c := range f.control[:n] {
			t, size, err := c.traffic()
			if err != nil {
				return run.Traffic{}, err
			}
			asked += int64(len(statsRequest))
			replies += size
			sum = sum.Add(t)
		}
		// A server has counted the request that it answers, and not yet the answer.
		sum.Received -= asked
		sum.Sent -= told
		told += replies
		return sum, nil
	}
}

// control is a connection of our own to one server.
type control struct {
	net.Conn
	r *bufio.Reader
}

func (f *Fleet) connect(ctx context.Context, addr string) (*control, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	dial := f.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &control{c, bufio.NewReader(c)}, nil
}

func (c *control) ask(request []byte) error {
	if err := c.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		return err
	}
	_, err := c.Write(request)
	return err
}

func (c *control) fill(set *workload.Set) error {
	for i, key := range set.Keys {
		var request []byte
		request = fmt.Appendf(request, "set %s 0 0 %d noreply\r\n%s\r\n", key, len(set.Values[i]), set.Values[i])
		if i == len(set.Keys)-1 {
			request = append(request, "mn\r\n"...)
		}
		if err := c.ask(request); err != nil {
			return err
		}
	}
	line, err := c.r.ReadString('\n')
	if err == nil && line != "MN\r\n" {
		err = fmt.Errorf("filling: %q", line)
	}
	return err
}

const statsRequest = "stats\r\n"

// traffic reads the counters of the server, and says how long the reply was.
func (c *control) traffic() (t run.Traffic, size int64, err error) {
	if err := c.ask([]byte(statsRequest)); err != nil {
		return t, 0, err
	}
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return t, 0, err
		}
		size += int64(len(line))
		line = strings.TrimSpace(line)
		if line == "END" {
			return t, size, nil
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "STAT "), " ")
		n, _ := strconv.ParseInt(value, 10, 64) // most are numbers; ours are
		switch name {
		case "bytes_read":
			t.Received = n
		case "bytes_written":
			t.Sent = n
		case "conn_yields":
			t.Yields = n
		}
	}
}
