package memcache

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A call that holds on to the server of an address that was left may start the
// keeper at any time, which goes to the new one: that is whole by then.
func TestAServerIsWholeWhenItsKeeperKnowsIt(t *testing.T) {
	c := New("127.0.0.1:1")
	c.Failover.ProbeDelay = 1
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	h := c.server(addr).health
	h.change(func(v *verdict) { v.down(0) })
	done := make(chan struct{})
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					h.wake()
				}
			}
		})
	}
	for range 400 {
		c.mu.Lock()
		name := serverName{addr.Network(), addr.String()}
		old := c.servers[name]
		delete(c.servers, name)
		c.serverLocked(name, addr, h.identity)
		c.mu.Unlock()
		old.link.Retire()
	}
	close(done)
	calls.Wait()
	assert.NoError(t, c.Close())
}
