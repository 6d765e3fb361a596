package outage

// A path to a server that holds back what is sent on some connections, and lets
// it go on later: what the buffers of a stopped server do by chance happens here
// each time.

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/fakeserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// path leads to a server.
type path struct {
	address string
	live    atomic.Int32 // connections that have not come to their end
	mu      sync.Mutex
	flows   []*flow // guarded by mu
}

// flow is one connection of a path.
type flow struct {
	requests, replies gate
	full              atomic.Bool // requests are held back
}

// gate lets nothing pass while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while it is open; guarded by mu
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

func newPath(t *testing.T, target string) *path {
	p := &path{}
	p.address = fakeserver.Start(t, func(client *net.TCPConn) {
		server, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer server.Close()
		p.live.Add(1)
		defer p.live.Add(-1)
		f := &flow{}
		p.mu.Lock()
		p.flows = append(p.flows, f)
		p.mu.Unlock()
		var replies sync.WaitGroup
		replies.Go(func() { relay(client, server.(*net.TCPConn), f.replies.pass) })
		relay(server.(*net.TCPConn), client, func() {
			f.full.Store(true)
			f.requests.pass()
			f.full.Store(false)
		})
		replies.Wait()
	})
	t.Cleanup(func() { // before the connections are waited for
		p.each(func(f *flow) {
			f.requests.open()
			f.replies.open()
		})
	})
	return p
}

// relay copies from one connection to the other, and calls pass before each piece
// and before the end.
func relay(to, from *net.TCPConn, pass func()) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		pass()
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			to.CloseWrite()
			return
		}
	}
}

// each calls do for the connections that there have been.
func (p *path) each(do func(*flow)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.flows {
		do(f)
	}
}

// hold holds back what is sent from now on, on the connections that there are,
// until release.
func (p *path) hold()    { p.each(func(f *flow) { f.requests.close() }) }
func (p *path) release() { p.each(func(f *flow) { f.requests.open() }) }

// Whatever stores a value late, it does not come after a deletion that succeeded,
// nor after what was stored behind that.
func TestHeldBack(t *testing.T) {
	late := func(key string) *memcache.Item { return &memcache.Item{Key: key, Value: []byte("late")} }
	for name, store := range map[string]func(c *memcache.Client, key string) error{
		"set":     func(c *memcache.Client, key string) error { return c.Set(late(key)) },
		"add":     func(c *memcache.Client, key string) error { return c.Add(late(key)) },
		"replace": func(c *memcache.Client, key string) error { return c.Replace(late(key)) },
		"compare and swap": func(c *memcache.Client, key string) error {
			item := late(key)
			item.CasID = 1
			return c.CompareAndSwap(item)
		},
		"append or create": func(c *memcache.Client, key string) error {
			return c.AppendOrCreate(context.Background(), late(key))
		},
		"increment or create": func(c *memcache.Client, key string) error {
			_, err := c.IncrementOrCreate(context.Background(), key, 1, 1, 0)
			return err
		},
		"set many": func(c *memcache.Client, key string) error {
			return c.SetMulti([]*memcache.Item{late("other"), late(key)})
		},
		"replace many": func(c *memcache.Client, key string) error { return c.ReplaceMulti([]*memcache.Item{late(key)}) },
		"pipeline": func(c *memcache.Client, key string) error {
			p := c.Pipeline()
			p.Set(late(key))
			return p.Do(context.Background())
		},
	} {
		for _, before := range []string{"", "before"} {
			for _, again := range []bool{false, true} {
				row := name
				if before != "" {
					row += " over a value"
				}
				if again {
					row += " and stored again"
				}
				t.Run(row, func(t *testing.T) {
					t.Parallel()
					server := memcachetest.NewServer(t)
					p := newPath(t, server.Addr())
					s := newSubject(t, p.address)
					s.mustSet("warm", "value")
					if before != "" {
						server.Set(memcachetest.Item{Key: "key", Value: []byte(before)})
					}
					p.hold()
					require.Error(t, store(s.Client, "key"))
					err := s.Delete("key")
					require.True(t, err == nil || err == memcache.ErrCacheMiss || isOwed(err), "%v", err)
					final := !isOwed(err)
					if again {
						final = s.Set(&memcache.Item{Key: "key", Value: []byte("new")}) == nil && final
					}
					p.release()
					s.settles("warm", p.address)
					require.NoError(t, s.Close())
					until(t, "all connections ended", func() bool { return p.live.Load() == 0 })
					item, ok := server.Get("key")
					if ok {
						assert.Equal(t, "new", string(item.Value), "final: %v", final)
						assert.True(t, again)
					}
				})
			}
		}
	}
}

// A deletion is the last word only if nothing older was under way when it was
// sent: when its reply comes, that may have come to its end, behind it.
func TestHeldBackUntilTheDeletionIsDone(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(c *memcache.Client) error{
		"delete": func(c *memcache.Client) error { return c.Delete("key") },
		"delete many": func(c *memcache.Client) error {
			return memcache.Ignore(c.DeleteMulti([]string{"key"}), memcache.ErrCacheMiss)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := memcachetest.NewServer(t)
			p := newPath(t, server.Addr())
			s := newSubject(t, p.address)
			// A server that is slow to say what it speaks would be spoken to in classic.
			s.Protocol, s.MaxConns, s.Timeout = memcache.Meta, 2, 4*patience
			until(t, "two connections", func() bool {
				_, err := s.Get("warm")
				return err == memcache.ErrCacheMiss && p.live.Load() == 2
			})
			s.mustSet("warm", "value")

			p.hold()
			require.Error(t, s.Add(&memcache.Item{Key: "key", Value: []byte("late")}))
			var late *flow
			p.each(func(f *flow) {
				if f.full.Load() {
					late = f
					return
				}
				f.requests.open()
				f.replies.close()
			})
			require.NotNil(t, late)
			deleted := make(chan error)
			go func() { deleted <- remove(s.Client) }()
			until(t, "deleted", func() bool {
				return server.Count("md") > 0
			})
			live := p.live.Load()
			late.requests.open()
			until(t, "the end of the connection", func() bool { return p.live.Load() < live })
			p.each(func(f *flow) { f.replies.open() })
			err := <-deleted
			require.True(t, err == nil || err == memcache.ErrCacheMiss || isOwed(err), "%v", err)
			if isOwed(err) {
				s.settles("warm", p.address)
			}
			item, ok := server.Get("key")
			assert.False(t, ok, "%s, after %v", item.Value, err)
		})
	}
}
