package codectest

// What the builders append, the embedded server's own parser reads back
// unchanged: one request, whatever the key, the value and the tag hold.

import (
	"net"
	"testing"
	"time"

	"github.com/vaquero-cache/memcache/binary"
	"github.com/vaquero-cache/memcache/classic"
	"github.com/vaquero-cache/memcache/memcachetest"
	"github.com/vaquero-cache/memcache/meta"
)

func FuzzBuildersAgainstTheServer(f *testing.F) {
	f.Add("key", []byte("value"), []byte("tag"), uint32(7), false)
	f.Add("a\r\nflush_all", []byte("\r\nset x 0 0 1\r\ny\r\n"), []byte("O\r\n"), uint32(0), true)
	f.Add("k q", []byte{}, []byte{}, ^uint32(0), true)
	s, err := memcachetest.Start(memcachetest.Config{Network: memcachetest.NetworkPipe, LogSize: 16})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); s.ServeConn(server) }()
	f.Cleanup(func() { client.Close(); <-done })
	in := make([]byte, 64<<10)
	// answer sends a request and returns the first bytes of its reply.
	answer := func(t *testing.T, request []byte) []byte {
		client.SetDeadline(time.Now().Add(10 * time.Second))
		sent := make(chan error, 1)
		go func() { _, err := client.Write(request); sent <- err }()
		n, err := client.Read(in)
		if err == nil {
			err = <-sent
		}
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		return in[:n]
	}

	f.Fuzz(func(t *testing.T, key string, value, tag []byte, flags uint32, encode bool) {
		if len(value) > 1000 {
			return
		}
		for name, build := range map[string]func() ([]byte, error){
			"meta": func() ([]byte, error) {
				return meta.AppendSet(nil, &meta.SetRequest{
					Common: meta.Common{Key: key, Base64: encode, Opaque: tag}, Value: value, ClientFlags: flags,
				})
			},
			"classic": func() ([]byte, error) {
				return classic.AppendStore(nil, &classic.StoreRequest{Key: key, Value: value, ClientFlags: flags})
			},
		} {
			request, err := build()
			if err != nil {
				if request != nil {
					t.Fatalf("%s: refused, and appended %q", name, request)
				}
				continue
			}
			s.Flush()
			s.ResetRequests()
			answer(t, request)
			check(t, s, name, key, value, flags)
		}
		_, err := binary.AppendStore(nil, &binary.StoreRequest{Key: key, Value: value, ClientFlags: flags})
		if (err == nil) != (len(key) > 0 && len(key) <= binary.MaxKey) {
			t.Fatalf("binary: key of %d bytes: %v", len(key), err)
		}
	})
}

// check tests that the server holds just that item, and got just one request.
func check(t *testing.T, s *memcachetest.Server, name, key string, value []byte, flags uint32) {
	t.Helper()
	item, ok := s.Get(key)
	if !ok || string(item.Value) != string(value) || item.Flags != flags || len(s.Keys()) != 1 {
		t.Fatalf("%s: set %q to %q, flags %d; the server holds %s", name, key, value, flags, s.Dump())
	}
	if requests := s.Requests(); len(requests) != 1 {
		t.Fatalf("%s: %q became %v", name, key, requests)
	}
}
