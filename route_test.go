package memcache_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file tests what other servers do in the place of one that is down, in
// virtual time.

// Reads and sets go to the next server from the very call that finds the first
// one down; what was set there is gone after MaxTTL; the home server has neither
// its old value nor that one when it is back.
func TestTheNextServerTakesOver(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		key := s.key(t, 1)
		mustSet(t, s.Client, key, "old")
		s.servers[1].Stop()
		time.Sleep(time.Second)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key), "the next server answers")
		assert.Equal(t, memcache.ServerDown, s.state(1))
		mustSet(t, s.Client, key, "new")
		assert.Equal(t, "new", string(mustGet(t, s.Client, key).Value))
		require.NoError(t, s.Touch(key, 3600))
		_, err := s.GetAndTouch(key, 0)
		require.NoError(t, err)
		items, err := s.GetMulti([]string{key, s.key(t, 0)})
		require.NoError(t, err)
		assert.Len(t, items, 1)
		hits := 0
		require.NoError(t, s.GetMultiFunc(context.Background(), []string{key}, func(memcache.Hit) bool { hits++; return true }))
		assert.Equal(t, 1, hits)
		for name, do := range map[string]func() error{
			"Add":            func() error { return s.Add(&memcache.Item{Key: key}) },
			"Replace":        func() error { return s.Replace(&memcache.Item{Key: key}) },
			"Append":         func() error { return s.Append(&memcache.Item{Key: key}) },
			"Prepend":        func() error { return s.Prepend(&memcache.Item{Key: key}) },
			"CompareAndSwap": func() error { return s.CompareAndSwap(&memcache.Item{Key: key, CasID: 1}) },
			"Increment":      func() error { _, err := s.Increment(key, 1); return err },
			"Decrement":      func() error { _, err := s.Decrement(key, 1); return err },
		} {
			assert.ErrorIs(t, do(), memcache.ErrServerDown, name)
		}
		time.Sleep(29 * time.Second)
		assert.NoError(t, s.get(key))
		time.Sleep(3 * time.Second)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
		assert.Positive(t, s.Health()[1].Failovers)

		require.NoError(t, s.SetMulti([]*memcache.Item{{Key: key, Value: []byte("newer"), Expiration: 3600}}))
		assert.Equal(t, "newer", string(mustGet(t, s.Client, key).Value))
		s.back(t, 1)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
	})
}

// The batch that finds a server down goes on to the others as a single operation
// does, with what may, in each of its forms.
func TestABatchThatFindsAServerDown(t *testing.T) {
	type result = map[string]string // values by key
	read := func(items map[string]*memcache.Item, err error) (result, error) {
		got := result{}
		for key, item := range items {
			got[key] = string(item.Value)
		}
		return got, err
	}
	for name, tt := range map[string]struct {
		do    func(t *testing.T, c *memcache.Client, lost, kept string) (result, error)
		stays bool // for the key of the lost server
	}{
		"GetMulti": {do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			return read(c.GetMulti([]string{lost, kept, lost, "absent"}))
		}},
		"GetMultiFunc": {do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			got := result{}
			err := c.GetMultiFunc(context.Background(), []string{lost, kept, lost, "absent"}, func(h memcache.Hit) bool {
				got[h.Key] = string(h.Value)
				return true
			})
			return got, err
		}},
		"GetMultiSeq": {do: func(t *testing.T, c *memcache.Client, lost, kept string) (got result, failed error) {
			got = result{}
			for item, err := range c.GetMultiSeq(context.Background(), []string{lost, kept, lost, "absent"}) {
				if failed = err; err == nil {
					got[item.Key] = string(item.Value)
				}
			}
			return got, failed
		}},
		"SetMulti": {do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			if err := c.SetMulti([]*memcache.Item{{Key: lost, Value: []byte(lost)}, {Key: kept, Value: []byte(kept)}}); err != nil {
				return nil, err
			}
			return read(c.GetMulti([]string{lost, kept}))
		}},
		"TouchMulti": {do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			if err := c.TouchMulti([]string{lost, kept}, 3600); err != nil {
				return nil, err
			}
			return read(c.GetMulti([]string{lost, kept}))
		}},
		"Pipeline": {do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			p := c.Pipeline()
			get, set, other := p.Get(lost), p.Set(&memcache.Item{Key: lost, Value: []byte("set")}), p.Get(kept)
			again, add := p.Get(lost), p.Add(&memcache.Item{Key: lost})
			err := p.Do(context.Background())
			var failed *memcache.MultiError
			if assert.ErrorAs(t, err, &failed) {
				assert.Equal(t, [][]string{{lost}}, [][]string{failed.Failures[0].Keys})
			}
			assert.ErrorIs(t, add.Err(), syscall.ECONNREFUSED)
			assert.NoError(t, set.Err())
			item, err := again.Item()
			if assert.NoError(t, err) {
				assert.Equal(t, "set", string(item.Value), "in order")
			}
			got := result{}
			for key, r := range map[string]memcache.ItemResult{lost: get, kept: other} {
				item, err := r.Item()
				if assert.NoError(t, err) {
					got[key] = string(item.Value)
				}
			}
			return got, nil
		}},
		"AddMulti": {stays: true, do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			return nil, c.AddMulti([]*memcache.Item{{Key: lost}, {Key: kept}})
		}},
		"IncrementMulti": {stays: true, do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			_, err := c.IncrementMulti([]string{lost, kept}, 1)
			return nil, err
		}},
		"DeleteMulti": {stays: true, do: func(t *testing.T, c *memcache.Client, lost, kept string) (result, error) {
			return nil, c.DeleteMulti([]string{lost, kept})
		}},
	} {
		for _, namespace := range []string{"", "app:"} { // with it other keys are sent than given
			t.Run(name+" "+namespace, func(t *testing.T) {
				onStage(t, 4, func(t *testing.T, s *stage) {
					s.Failover.Mode = memcache.NextServer
					s.Keys.Namespace, s.Keys.PlaceWithoutNamespace = namespace, true
					lost, kept := s.key(t, 1), s.key(t, 2)
					for _, server := range s.servers {
						c := memcache.New(server.Addr())
						c.DialContext, c.Protocol = s.DialContext, memcache.Meta
						mustSet(t, c, namespace+lost, lost)
						mustSet(t, c, namespace+kept, kept)
						require.NoError(t, c.Close())
					}
					s.servers[1].Stop()
					time.Sleep(time.Second)

					got, err := tt.do(t, s.Client, lost, kept)
					assert.Equal(t, memcache.ServerDown, s.state(1))
					if tt.stays {
						var failed *memcache.MultiError
						require.ErrorAs(t, err, &failed)
						assert.ErrorIs(t, failed.ByKey()[lost], syscall.ECONNREFUSED)
						assert.NotErrorIs(t, failed.ByKey()[kept], syscall.ECONNREFUSED)
						return
					}
					require.NoError(t, err)
					assert.Equal(t, result{lost: lost, kept: kept}, got)
					assert.Positive(t, s.Health()[1].Failovers)
				})
			})
		}
	}
}

// What such a batch stores elsewhere is gone after MaxTTL, too.
func TestABatchThatGoesOnBoundsWhatItStores(t *testing.T) {
	for name, do := range map[string]func(c *memcache.Client, key string) error{
		"SetMulti": func(c *memcache.Client, key string) error {
			return c.SetMulti([]*memcache.Item{{Key: key, Expiration: 3600}})
		},
		"TouchMulti": func(c *memcache.Client, key string) error { return c.TouchMulti([]string{key}, 3600) },
		"Pipeline": func(c *memcache.Client, key string) error {
			p := c.Pipeline()
			p.Set(&memcache.Item{Key: key})
			p.GetAndTouch(key, 0)
			return p.Do(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				s.Failover.Mode = memcache.NextServer
				key := s.key(t, 1)
				for _, server := range s.servers {
					server.Set(memcachetest.Item{Key: key})
				}
				s.servers[1].Stop()
				time.Sleep(time.Second)
				require.NoError(t, do(s.Client, key))
				require.Equal(t, memcache.ServerDown, s.state(1))
				time.Sleep(29 * time.Second)
				assert.NoError(t, s.get(key))
				time.Sleep(2 * time.Second)
				assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
			})
		})
	}
}

// A delete reaches those that may have taken the key over, and is pending at
// home.
func TestADeleteGoesWhereverTheKeyMayBe(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		s.Failover.Mode = memcache.NextServer
		key := s.key(t, 1)
		mustSet(t, s.Client, key, "old")
		s.stop1(t)
		for name, do := range map[string]func() error{
			"Delete":      func() error { return s.Delete(key) },
			"DeleteMulti": func() error { return s.DeleteMulti([]string{key}) },
		} {
			mustSet(t, s.Client, key, "new")
			err := do()
			assert.ErrorIs(t, err, memcache.ErrInvalidationPending, name)
			assert.ErrorIs(t, err, memcache.ErrServerDown, name)
			assert.Equal(t, memcache.ErrCacheMiss, s.get(key), name)
		}
		s.back(t, 1)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
	})
}

// stop1 stops server 1 and lets a client that fails over notice.
func (s *stage) stop1(t testing.TB) {
	s.servers[1].Stop()
	time.Sleep(time.Second)
	s.get(s.key(t, 1))
	require.Equal(t, memcache.ServerDown, s.state(1))
}

// What others were given in one outage is not read in the next.
func TestTheNextOutageDoesNotReadTheLast(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		key := s.takenOver(t, "of the first outage")
		s.back(t, 1)
		returned := time.Now()
		mustSet(t, s.Client, key, "newer")
		require.NoError(t, s.Delete(key))
		s.stop1(t)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
		items, err := s.GetMulti([]string{key, key, "other"})
		assert.NoError(t, err)
		assert.Empty(t, items)
		requireMissInPipeline(t, s, key)
		mustSet(t, s.Client, key, "of the second")
		assert.Equal(t, memcache.ErrCacheMiss, s.get(key), "a while longer")
		time.Sleep(time.Until(returned.Add(31 * time.Second)))
		require.Equal(t, memcache.ServerDown, s.state(1))
		mustSet(t, s.Client, key, "later in the second")
		assert.Equal(t, "later in the second", string(mustGet(t, s.Client, key).Value))
	})
}

func requireMissInPipeline(t testing.TB, s *stage, key string) {
	p := s.Pipeline()
	r := p.Get(key)
	require.NoError(t, p.Do(context.Background()))
	_, err := r.Item()
	require.Equal(t, memcache.ErrCacheMiss, err)
}

// Nor does the batch read it that finds out.
func TestABatchThatFindsTheNextOutage(t *testing.T) {
	for name, find := range map[string]func(t testing.TB, s *stage, key string){
		"Pipeline": requireMissInPipeline,
		"GetMulti": func(t testing.TB, s *stage, key string) {
			items, err := s.GetMulti([]string{key})
			assert.NoError(t, err)
			assert.Empty(t, items)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				key := s.takenOver(t, "of the first outage")
				s.back(t, 1)
				require.Equal(t, memcache.ErrCacheMiss, s.Delete(key))
				s.servers[1].Stop()
				time.Sleep(time.Second)
				find(t, s, key)
				assert.Equal(t, memcache.ServerDown, s.state(1))
			})
		})
	}
}

// takenOver stops server 1 and returns a key of it, for which another one has taken
// value in its place.
func (s *stage) takenOver(t testing.TB, value string) (key string) {
	s.Failover.Mode = memcache.NextServer
	key = s.key(t, 1)
	s.stop1(t)
	mustSet(t, s.Client, key, value)
	return key
}

// holder is the server that was given key in the place of server 1.
func (s *stage) holder(t testing.TB, key string) int {
	for i, server := range s.servers {
		if _, ok := server.Get(key); ok && i != 1 {
			return i
		}
	}
	require.FailNow(t, "nobody has it")
	return -1
}

// A server that was passed over does not serve what it was given before.
func TestAServerThatWasPassedOver(t *testing.T) {
	onStage(t, 4, func(t *testing.T, s *stage) {
		key := s.takenOver(t, "first")
		holder := s.holder(t, key)
		s.servers[holder].Stop()
		time.Sleep(time.Second)
		s.get(s.key(t, holder))
		mustSet(t, s.Client, key, "second")
		assert.Equal(t, "second", string(mustGet(t, s.Client, key).Value))
		s.back(t, holder)
		_, err := s.Get(key)
		assert.Equal(t, memcache.ErrCacheMiss, err, "it was owed that")
		mustSet(t, s.Client, key, "third")
		s.servers[holder].Stop()
		time.Sleep(time.Second)
		s.get(s.key(t, holder))
		item, err := s.Get(key)
		assert.Equal(t, memcache.ErrCacheMiss, err, "%v: the one behind it knows only what is older", item)
	})
}

// A delete in a batch is the last word over what stands before it, whether the
// server was down before or is found to be by that batch.
func TestADeleteBehindASetThatGoesElsewhere(t *testing.T) {
	for name, before := range map[string]func(t testing.TB, s *stage){
		"known to be down": func(t testing.TB, s *stage) { s.stop1(t) },
		"found to be down": func(t testing.TB, s *stage) {
			s.servers[1].Stop()
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				s.Failover.Mode = memcache.NextServer
				key := s.key(t, 1)
				before(t, s)
				p := s.Pipeline()
				set, deleted := p.Set(&memcache.Item{Key: key}), p.Delete(key)
				p.Do(context.Background())
				assert.NoError(t, set.Err())
				requirePending(t, deleted.Err())
				assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
			})
		})
	}
}

// Others are owed the deletes that a batch has no time for, since it says that they
// are pending.
func TestDeletesElsewhereThatTheContextCutsShort(t *testing.T) {
	for name, do := range map[string]func(ctx context.Context, c *memcache.Client, lost, slow string) error{
		"DeleteMulti": func(ctx context.Context, c *memcache.Client, lost, slow string) error {
			return c.DeleteMultiContext(ctx, []string{lost, slow})
		},
		"Pipeline": func(ctx context.Context, c *memcache.Client, lost, slow string) error {
			p := c.Pipeline()
			p.Delete(lost)
			p.Get(slow)
			return p.Do(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				lost := s.takenOver(t, "old")
				slow := 0
				if s.holder(t, lost) == slow {
					slow = 2
				}
				s.servers[slow].Pause()
				ctx, cancel := context.WithTimeout(context.Background(), timeout/2)
				defer cancel()
				var failed *memcache.MultiError
				require.ErrorAs(t, do(ctx, s.Client, lost, s.key(t, slow)), &failed)
				requirePending(t, failed.ByKey()[lost])
				s.servers[slow].Resume()
				time.Sleep(timeout)
				assert.Equal(t, memcache.ErrCacheMiss, s.get(lost))
			})
		})
	}
}

// A server that refuses to delete what it took over is owed it, since the caller is
// told that it is pending.
func TestADeleteThatIsRefusedElsewhere(t *testing.T) {
	for name, do := range map[string]func(c *memcache.Client, key string) error{
		"Delete": (*memcache.Client).Delete,
		"DeleteMulti": func(c *memcache.Client, key string) error {
			return c.DeleteMulti([]string{key, "other"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				key := s.takenOver(t, "old")
				holder := s.holder(t, key)
				s.servers[holder].Inject(memcachetest.Fault{Command: "md", Do: memcachetest.OutOfMemory()})
				requirePending(t, do(s.Client, key))
				assert.Equal(t, 1, s.owed(holder))
				s.servers[holder].Heal()
				s.paid(t, holder)
				assert.Equal(t, memcache.ErrCacheMiss, s.get(key))
			})
		})
	}
}

// owed is how many keys server i is owed.
func (s *stage) owed(i int) int {
	for _, h := range s.Health() {
		if h.Server == s.servers[i].Addr() {
			return h.Owed
		}
	}
	return -1
}

// paid calls server i until it is owed nothing.
func (s *stage) paid(t testing.TB, i int) {
	deadline := time.Now().Add(time.Minute)
	for s.owed(i) != 0 {
		require.True(t, time.Now().Before(deadline))
		s.get(s.key(t, i))
		time.Sleep(50 * time.Millisecond)
	}
}

// With too many servers down, or too few hops, calls fail at once.
func TestTheLimitsOfFailover(t *testing.T) {
	down := func(t *testing.T, s *stage, n int) string {
		for i := range n {
			s.servers[i].Stop()
		}
		time.Sleep(time.Second)
		for i := range n {
			s.get(s.key(t, i))
		}
		return s.key(t, 0)
	}
	for _, tt := range []struct {
		name  string
		set   memcache.FailoverSettings
		down  int
		fails bool
	}{
		{"half of them", memcache.FailoverSettings{}, 2, false},
		{"more than half", memcache.FailoverSettings{}, 3, true},
		{"more are allowed", memcache.FailoverSettings{MaxDownShare: 1, MaxHops: 3}, 3, false},
		{"all", memcache.FailoverSettings{MaxDownShare: 1, MaxHops: 3}, 4, true},
		{"fewer are allowed", memcache.FailoverSettings{MaxDownShare: 0.2}, 1, true},
		{"a journey too short", memcache.FailoverSettings{MaxDownShare: 1, MaxHops: 2}, 3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onStage(t, 4, func(t *testing.T, s *stage) {
				s.Failover = tt.set
				s.Failover.Mode = memcache.NextServer
				failed := 0
				down(t, s, tt.down)
				for i := range tt.down {
					if err := s.get(s.key(t, i)); err != memcache.ErrCacheMiss {
						requireDown(t, err)
						failed++
					}
				}
				assert.Equal(t, tt.fails, failed > 0)
			})
		})
	}
}

// foreign is a selector without an order.
type foreign struct{ memcache.ServerSelector }

// One server alone, a selector without an order, and a gutter without servers fail
// fast, in the next outage, too.
func TestFailoverWithNobodyElse(t *testing.T) {
	for name, set := range map[string]func(s *stage){
		"one server":          func(s *stage) { s.Failover.MaxDownShare = 0.5 },
		"one that may be all": func(s *stage) { s.Failover.MaxDownShare = 1 },
		"a gutter without servers": func(s *stage) {
			s.Failover.Mode, s.Failover.Gutter, s.Failover.MaxDownShare = memcache.Gutter, new(memcache.ServerList), 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, 1, func(t *testing.T, s *stage) {
				s.Failover.Mode = memcache.NextServer
				set(s)
				s.requireFailFast(t)
			})
		})
	}
	t.Run("a selector without an order", func(t *testing.T) {
		onStage(t, 1, func(t *testing.T, s *stage) {
			c := memcache.NewFromSelector(foreign{s.list})
			c.Timeout, c.Protocol, c.DialContext, c.Failover.Mode = s.Timeout, s.Protocol, s.DialContext, memcache.NextServer
			s.Client = c
			s.requireFailFast(t)
		})
	})
}

// requireFailFast checks that nobody takes over the keys of server 0, twice.
func (s *stage) requireFailFast(t testing.TB) {
	for range 2 {
		s.servers[0].Stop()
		time.Sleep(time.Second)
		require.ErrorIs(t, s.get("k"), syscall.ECONNREFUSED)
		requireDown(t, s.get("k"))
		items, err := s.GetMulti([]string{"k"})
		assert.Empty(t, items)
		assert.ErrorIs(t, err, memcache.ErrServerDown)
		requirePending(t, s.Delete("k"))
		s.back(t, 0)
		assert.Equal(t, memcache.ErrCacheMiss, s.get("k"))
	}
}

// Operations that depend on what is there go elsewhere only if they may.
func TestConditionalFailover(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		s.Failover.Mode, s.Failover.Conditional = memcache.NextServer, true
		key := s.key(t, 1)
		mustSet(t, s.Client, key, "5")
		s.stop1(t)
		require.NoError(t, s.Add(&memcache.Item{Key: key, Value: []byte("7")}))
		n, err := s.Increment(key, 1)
		require.NoError(t, err)
		assert.EqualValues(t, 8, n)
		s.back(t, 1)
		_, err = s.Increment(key, 1)
		assert.Equal(t, memcache.ErrCacheMiss, err, "the home server does not count on from where it was")
	})
}

// From a server that is lost in mid-batch whatever was not even sent goes on, and of
// what was sent only what may be carried out twice.
func TestABatchThatWasSentInPart(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		s.Failover.Mode, s.Failover.Conditional, s.Failover.SoftFailures = memcache.NextServer, true, 1
		s.servers[1].Inject(memcachetest.Fault{Do: memcachetest.Reset()})
		p := s.Pipeline()
		var sets, adds []memcache.Result
		for i := 0; len(adds) < aWindow; i++ {
			key := fmt.Sprint("key:", i)
			addr, err := s.list.PickServer(key)
			require.NoError(t, err)
			switch {
			case addr.String() != s.servers[1].Addr():
			case len(sets) == len(adds):
				sets = append(sets, p.Set(&memcache.Item{Key: key}))
			default:
				adds = append(adds, p.Add(&memcache.Item{Key: key}))
			}
		}
		errs := byKey(t, p.Do(context.Background()))
		require.Equal(t, memcache.ServerDown, s.state(1))
		require.Len(t, errs, aWindow/2)
		for i := range adds {
			require.NoError(t, sets[i].Err(), i)
			err := adds[i].Err()
			if i >= aWindow/2 {
				require.NoError(t, err, i)
				continue
			}
			var lost *memcache.OpError
			require.ErrorAs(t, err, &lost, i)
			require.True(t, lost.OutcomeUnknown, i)
		}
		for key, err := range errs {
			require.ErrorContains(t, err, "outcome unknown", key)
		}
	})
}

// digGutter gives the client a gutter of one server, the last of s.servers.
func (s *stage) digGutter(t testing.TB) {
	gutter := memcachetest.NewServer(t, memcachetest.Config{Network: memcachetest.NetworkPipe})
	list := new(memcache.ServerList)
	require.NoError(t, list.SetServers(gutter.Addr()))
	s.Failover = memcache.FailoverSettings{Mode: memcache.Gutter, Gutter: list, MaxTTL: 10 * time.Second}
	s.servers = append(s.servers, gutter)
	s.others = memcachetest.Servers{gutter}
}

// The gutter takes over the keys of any server.
func TestGutter(t *testing.T) {
	onStage(t, 2, func(t *testing.T, s *stage) {
		s.digGutter(t)
		keys := []string{s.key(t, 0), s.key(t, 1)}
		for _, key := range keys {
			mustSet(t, s.Client, key, "old")
		}
		assert.Len(t, s.Health(), 2)
		s.stop1(t)
		mustSet(t, s.Client, keys[1], "new")
		items, err := s.GetMulti(keys)
		require.NoError(t, err)
		assert.Equal(t, "new", string(items[keys[1]].Value))
		assert.Equal(t, "old", string(items[keys[0]].Value))
		assert.Len(t, s.Health(), 3)
		require.NoError(t, s.list.SetServers(s.servers[0].Addr(), s.servers[1].Addr()))
		assert.Equal(t, "new", string(mustGet(t, s.Client, keys[1]).Value), "the gutter is no matter of the list")
		requirePending(t, s.Delete(keys[1]))
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[1]))
		mustSet(t, s.Client, keys[1], "newer")
		time.Sleep(12 * time.Second)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[1]))
		s.back(t, 1)
		assert.Equal(t, memcache.ErrCacheMiss, s.get(keys[1]))
		synctest.Wait()
	})
}

// A gutter that was down is found back by the calls that it is to take over,
// whatever they are: no other calls go there. Until then they fail as without it.
func TestAGutterThatWasDown(t *testing.T) {
	for name, do := range map[string]func(c *memcache.Client, key string) error{
		"Get": func(c *memcache.Client, key string) error { _, err := c.Get(key); return err },
		"Set": func(c *memcache.Client, key string) error { return c.Set(&memcache.Item{Key: key}) },
		"GetMulti": func(c *memcache.Client, key string) error {
			_, err := c.GetMulti([]string{key})
			return err
		},
		"SetMulti": func(c *memcache.Client, key string) error { return c.SetMulti([]*memcache.Item{{Key: key}}) },
	} {
		for _, calm := range []time.Duration{0, time.Hour} { // in which no call is made
			t.Run(fmt.Sprint(name, " after ", calm), func(t *testing.T) {
				onStage(t, 2, func(t *testing.T, s *stage) {
					s.digGutter(t)
					key, gutter := s.key(t, 1), s.servers[2]
					s.stop1(t)
					gutter.Stop()
					time.Sleep(time.Second)
					require.Error(t, s.get(key))
					require.Equal(t, memcache.ServerDown, s.state(2))
					require.NoError(t, gutter.RestartWarm())
					if calm > 0 {
						s.back(t, 1)
						time.Sleep(calm)
						s.servers[1].Stop()
						time.Sleep(time.Second)
					}
					start := time.Now()
					for s.state(2) != memcache.ServerUp {
						require.Less(t, time.Since(start), time.Second, "twice the mean pause before a probe")
						require.ErrorIs(t, do(s.Client, key), syscall.ECONNREFUSED, "why the home server fails its calls")
						time.Sleep(10 * time.Millisecond)
					}
					assert.NoError(t, memcache.Ignore(do(s.Client, key), memcache.ErrCacheMiss))
					if calm > 0 {
						assert.Less(t, time.Since(start), 50*time.Millisecond, "it has been due for long")
					}
				})
			})
		}
	}
}
