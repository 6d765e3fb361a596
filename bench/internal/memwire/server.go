// Package memwire is a wire without system calls: connections in memory that
// answer get, gets and mg for the keys of a workload.Set. It shows what a client's
// own code costs.
//
// It answers as memcached does, in as little time as possible: keys are numbers,
// so nothing is looked up, and headers and values are prepared.
package memwire

// What is answered.

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// version is what the server says it is: one that speaks meta.
const version = "1.6.38"

// Server holds the keys of a set. Any number of connections may use it.
type Server struct {
	set        *workload.Set
	classic    [][]byte // the answer to get, without END
	classicCAS [][]byte // the answer to gets, without END
	hit        []byte   // "VA 100", the beginning of an answer to mg
	cas        [][]byte // " c123"
	tail       [][]byte // CRLF, value, CRLF
}

// NewServer returns a server with all keys of set.
func NewServer(set *workload.Set) *Server {
	s := &Server{set: set}
	for i, key := range set.Keys {
		value := set.Values[i]
		s.classic = append(s.classic, fmt.Appendf(nil, "VALUE %s 0 %d\r\n%s\r\n", key, len(value), value))
		s.classicCAS = append(s.classicCAS, fmt.Appendf(nil, "VALUE %s 0 %d %d\r\n%s\r\n", key, len(value), i+1, value))
		s.hit = fmt.Appendf(nil, "VA %d", len(value))
		s.cas = append(s.cas, fmt.Appendf(nil, " c%d", i+1))
		s.tail = append(s.tail, fmt.Appendf(nil, "\r\n%s\r\n", value))
	}
	return s
}

// Dial connects; it has the form of a client's DialContext.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) { return newConn(s), nil }

// answer appends the reply to one line, given without its line end, to dst.
func (s *Server) answer(dst, line []byte) []byte {
	if len(line) > 3 && line[0] == 'm' && line[1] == 'g' && line[2] == ' ' {
		return s.metaGet(dst, line[3:])
	}
	command, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(command) {
	case "get":
		return s.get(dst, rest, s.classic)
	case "gets":
		return s.get(dst, rest, s.classicCAS)
	case "mn":
		return append(dst, "MN\r\n"...)
	case "version":
		return append(dst, "VERSION "+version+"\r\n"...)
	default:
		return append(dst, "ERROR\r\n"...)
	}
}

func (s *Server) get(dst, keys []byte, replies [][]byte) []byte {
	for len(keys) > 0 {
		var key []byte
		key, keys = word(keys)
		if i, ok := s.index(key); ok {
			dst = append(dst, replies[i]...)
		}
	}
	return append(dst, "END\r\n"...)
}

// metaGet answers mg. It knows the flags that read; others are refused, so that
// nobody takes a wrong answer for a fast one.
func (s *Server) metaGet(dst, line []byte) []byte {
	key, flags := word(line)
	place, ok := s.index(key)
	if !ok {
		return miss(dst, key, flags)
	}
	start := len(dst)
	dst = append(dst, s.hit...)
	value := false
	for i := 0; i < len(flags); i++ {
		end := i + 1
		for end < len(flags) && flags[end] != ' ' {
			end++
		}
		switch flags[i] {
		case 'v':
			value = true
		case 'f':
			dst = append(dst, " f0"...)
		case 'c':
			dst = append(dst, s.cas[place]...)
		case 's':
			dst = append(append(dst, " s"...), s.hit[len("VA "):]...)
		case 't':
			dst = append(dst, " t-1"...)
		case 'k':
			dst = append(append(dst, " k"...), key...)
		case 'O':
			dst = append(dst, ' ')
			//lint:ignore S1011 for so few bytes a loop beats a call
			for _, c := range flags[i:end] {
				dst = append(dst, c)
			}
		case 'q':
		default:
			return append(dst[:start], "CLIENT_ERROR invalid flag\r\n"...)
		}
		i = end
	}
	if value {
		return append(dst, s.tail[place]...)
	}
	rest := dst[start+len(s.hit):] // what was written for a value is not one
	return append(append(append(dst[:start], "HD"...), rest...), "\r\n"...)
}

// miss answers mg for a key that is not there: only what the client sent comes back.
func miss(dst, key, flags []byte) []byte {
	dst = append(dst, "EN"...)
	for len(flags) > 0 {
		var flag []byte
		flag, flags = word(flags)
		switch {
		case len(flag) == 0:
		case flag[0] == 'O':
			dst = append(append(dst, ' '), flag...)
		case flag[0] == 'k':
			dst = append(append(dst, " k"...), key...)
		}
	}
	return append(dst, "\r\n"...)
}

// index returns the place of a key, which is its number.
func (s *Server) index(key []byte) (int, bool) {
	if len(key) <= len("key:") || string(key[:len("key:")]) != "key:" {
		return 0, false
	}
	n := 0
	for _, c := range key[len("key:"):] {
		n = 10*n + int(c-'0')
	}
	return n, n >= 0 && n < len(s.set.Keys)
}

// word cuts the first word off line.
func word(line []byte) (first, rest []byte) {
	for i, c := range line {
		if c == ' ' {
			return line[:i], line[i+1:]
		}
	}
	return line, nil
}
