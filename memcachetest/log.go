package memcachetest

// The log of requests: how often each command came, and the latest lines.

import (
	"maps"
	"strings"
	"sync"
)

// DefaultLogSize is the number of requests that Requests returns at most.
const DefaultLogSize = 4096

// Request is one request that a server read.
type Request struct {
	// Conn is the number of its connection; the first one of a server has 1.
	Conn int
	// Command is the name: "mg", "get", and in the binary protocol "get", "getq",
	// "getkq", "set" and so on, or "0x30" for an opcode without a name.
	Command string
	// Line is the command line without its end. A request of the binary protocol is
	// shown as its command and key.
	Line string
}

// Keys returns the keys of the request as they were sent.
func (r Request) Keys() []string {
	words := strings.Fields(r.Line)
	if r.Line == r.Command || len(words) < 2 {
		return nil
	}
	switch words[0] {
	case "get", "gets":
		return words[1:]
	case "gat", "gats":
		return words[min(2, len(words)):]
	case "mn", "version", "stats", "flush_all", "verbosity", "quit":
		return nil
	}
	return words[1:2]
}

// requestLog is safe for concurrent use.
type requestLog struct {
	mu     sync.Mutex
	size   int // requests to keep; negative for none
	ring   []Request
	next   int // where the next one goes once the ring is full
	counts map[string]int
}

func (l *requestLog) add(conn int, command string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[command]++
	if l.size <= 0 {
		return
	}
	r := Request{Conn: conn, Command: command, Line: string(line)}
	if len(l.ring) < l.size {
		l.ring = append(l.ring, r)
		return
	}
	l.ring[l.next] = r
	l.next = (l.next + 1) % l.size
}

// Requests returns the latest requests in the order of their arrival, at most
// Config.LogSize.
func (s *Server) Requests() []Request {
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Request, 0, len(l.ring))
	all = append(all, l.ring[l.next:]...)
	return append(all, l.ring[:l.next]...)
}

// Count returns how often a command came since the start or ResetRequests; without
// an argument, how many requests. Unlike Requests it forgets nothing.
func (s *Server) Count(commands ...string) int {
	l := &s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	if len(commands) == 0 {
		for _, count := range l.counts {
			n += count
		}
	}
	for _, command := range commands {
		n += l.counts[command]
	}
	return n
}

// Counts returns how often each command came.
func (s *Server) Counts() map[string]int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return maps.Clone(s.log.counts)
}

// ResetRequests forgets the requests so far, in Requests and in the counts.
func (s *Server) ResetRequests() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.ring, s.log.next = nil, 0
	clear(s.log.counts)
}

// Connection is an open connection of a server.
type Connection struct {
	Conn       int    // its number, as in Request.Conn
	RemoteAddr string // the client's end
	Requests   int    // how many it has sent
}

// Connections returns the open connections by number.
func (s *Server) Connections() []Connection {
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	list := make([]Connection, 0, len(s.front.peers))
	for _, p := range s.front.sorted() {
		c := p.(*conn)
		list = append(list, Connection{
			Conn: c.id, RemoteAddr: c.nc.RemoteAddr().String(), Requests: int(c.requests.Load()),
		})
	}
	return list
}

// Accepted returns how many connections were accepted since the start.
func (s *Server) Accepted() int {
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	return s.front.last
}
