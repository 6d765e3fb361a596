package outage

// Servers that do what a test says.

import (
	"bufio"
	"iter"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// listen serves each connection by serve and closes it when that returns, all of
// them at the end of the test.
func listen(t *testing.T, serve func(*net.TCPConn)) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		open []net.Conn
	)
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// requests are the words of the lines that c sends.
func requests(c net.Conn) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if words := strings.Fields(lines.Text()); len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}
