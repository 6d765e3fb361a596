// Package delay puts a round trip between clients and servers: a process with a
// proxy in front of each server.
package delay

import (
	"errors"
	"strings"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/child"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// Role is the part of the process; its line is the addresses of the proxies.
var Role = child.Role{Name: "delay", Play: play}

// play takes a round trip and the addresses of servers.
func play(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("it takes a time and addresses")
	}
	roundTrip, err := time.ParseDuration(args[0])
	if err != nil {
		return "", err
	}
	var addrs []string
	for _, target := range args[1:] {
		p, err := memcachetest.StartProxy(target, memcachetest.ProxyConfig{Latency: roundTrip / 2, Raw: true})
		if err != nil {
			return "", err
		}
		addrs = append(addrs, p.Addr())
	}
	return strings.Join(addrs, " "), nil
}

// Line is a running process with proxies.
type Line struct {
	Addrs   []string // of the proxies, in the order of the servers
	process *child.Process
}

// Start starts proxies before addrs, which add roundTrip to each exchange.
func Start(roundTrip time.Duration, addrs []string) (*Line, error) {
	p, err := child.Start(Role.Name, append([]string{roundTrip.String()}, addrs...)...)
	if err != nil {
		return nil, err
	}
	return &Line{strings.Fields(p.Line), p}, nil
}

// Stop ends the process.
func (l *Line) Stop() { l.process.Stop() }
