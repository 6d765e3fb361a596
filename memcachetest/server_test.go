package memcachetest

import (
	"bufio"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// exchange sends a script on a fresh connection and returns everything that comes
// back until the server has closed, which the script must bring about.
func exchange(t *testing.T, s *Server, script string) string {
	t.Helper()
	nc, err := net.Dial(s.Network(), s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	go io.WriteString(nc, script)
	got, err := io.ReadAll(nc)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestServerAnswersAPipelinedBatch(t *testing.T) {
	s := NewServer(t)
	got := exchange(t, s, "ms k 3 T90 F7\r\nbar\r\nmg k v t f k O1\r\nmg miss q\r\nmn\r\nget k\r\nquit\r\n")
	want := "HD\r\nVA 3 t90 f7 kk O1\r\nbar\r\nMN\r\nVALUE k 7 3\r\nbar\r\nEND\r\n"
	if got != want {
		t.Fatalf("got %q\nwant %q", got, want)
	}
}

func TestTTLInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(t, Config{Network: NetworkPipe})
		nc, err := s.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		r := bufio.NewReader(nc)
		ask := func(line string) string {
			io.WriteString(nc, line)
			got, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		ask("ms k 1 T10\r\nx\r\n")
		time.Sleep(10*time.Second - 1)
		if got := ask("mg k\r\n"); got != "HD\r\n" {
			t.Fatalf("just before its time: %q", got)
		}
		time.Sleep(time.Nanosecond)
		if got := ask("mg k\r\n"); got != "EN\r\n" {
			t.Fatalf("at its time: %q", got)
		}
	})
}
