package link

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file looks for deadlocks. The servers are the strictest there are: they
// read no request while a reply of theirs is unread, over unbuffered pipes and
// over sockets that hold 4 KiB. A write that nobody reads beside would never
// end, and fail its batch at the bound.

const batchKeys = 10_000

// everywhere runs f on each transport, in the text protocols, and with a context
// that may end and one that does not: the two write differently where a write
// cannot be interrupted.
func everywhere(t *testing.T, f func(t *testing.T, ctx context.Context, on onStage)) {
	for _, protocol := range []Protocol{Meta, Classic} {
		t.Run(map[Protocol]string{Meta: "meta", Classic: "classic"}[protocol], func(t *testing.T) {
			transports(t, func(t *testing.T, on onStage) {
				for _, cancellable := range []bool{false, true} {
					ctx, cancel := context.Background(), func() {}
					if cancellable {
						ctx, cancel = context.WithCancel(ctx)
					}
					f(t, ctx, func(t *testing.T, timeout time.Duration, scripts ...func(*peer)) *stage {
						s := on(t, timeout, scripts...)
						s.cfg.Protocol = protocol
						return s
					})
					cancel()
				}
			})
		})
	}
}

// gather performs a batch of gets over stages and checks every value.
func gather(t *testing.T, ctx context.Context, keys []string, stages ...*stage) {
	shares := make([]*Share, len(stages))
	for i, s := range stages {
		shares[i] = &Share{Link: s.Link}
	}
	for i, key := range keys {
		s := shares[i%len(shares)]
		s.Keys = append(s.Keys, key)
	}
	Gather(ctx, shares)
	for _, s := range shares {
		if !assert.NoError(t, s.Err) || !assert.Len(t, s.Replies, len(s.Keys)) {
			return
		}
		for i, reply := range s.Replies {
			if valueOf(s.Keys[i]) != string(reply.Value) {
				assert.Equal(t, valueOf(s.Keys[i]), string(reply.Value))
			}
		}
	}
}

func TestHugeBatch(t *testing.T) {
	everywhere(t, func(t *testing.T, ctx context.Context, on onStage) {
		gather(t, ctx, numbered(batchKeys), on(t, patient, healthy))
	})
}

func TestHugeBatchOverFourServers(t *testing.T) {
	everywhere(t, func(t *testing.T, ctx context.Context, on onStage) {
		var stages []*stage
		for range 4 {
			stages = append(stages, on(t, patient, healthy))
		}
		gather(t, ctx, numbered(batchKeys), stages...)
	})
}

// Two batches that go round the servers in opposite order must not wait for
// each other.
func TestBatchesInOppositeOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, ctx context.Context, on onStage) {
		a, b := on(t, patient, healthy), on(t, time.Second, healthy)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { gather(t, ctx, numbered(batchKeys/4), a, b) })
			wg.Go(func() { gather(t, ctx, numbered(batchKeys/4), b, a) })
		}
		wg.Wait()
		assert.EqualValues(t, 1, a.dials.Load())
		assert.EqualValues(t, 1, b.dials.Load())
	})
}

func TestBatchesBesideSingles(t *testing.T) {
	everywhere(t, func(t *testing.T, ctx context.Context, on onStage) {
		a, b := on(t, patient, healthy), on(t, time.Second, healthy)
		var batches, singles sync.WaitGroup
		stop := make(chan struct{})
		for _, s := range []*stage{a, b} {
			for g := range 4 {
				singles.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						key := fmt.Sprintf("single:%d.%d", g, i)
						value, err := s.getCtx(ctx, key)
						assert.NoError(t, err)
						assert.Equal(t, valueOf(key), value)
						_, err = s.Do(ctx, &Request{Op: Set, Key: key, Value: large[:g*3000]})
						assert.NoError(t, err)
					}
				})
			}
		}
		for range 2 {
			batches.Go(func() { gather(t, ctx, numbered(batchKeys/2), a, b) })
			batches.Go(func() { gather(t, ctx, numbered(batchKeys/2), b, a) })
		}
		batches.Wait()
		close(stop)
		singles.Wait()
	})
}

// Storing and deleting in batches is many requests with values of any size.
func TestHugeBatchOfMutations(t *testing.T) {
	everywhere(t, func(t *testing.T, ctx context.Context, on onStage) {
		s := on(t, patient, healthy)
		var reqs []Request
		for i := range batchKeys {
			key := fmt.Sprintf("key:%d", i)
			switch i % 3 {
			case 0:
				reqs = append(reqs, Request{Op: Set, Key: key, Value: large[:i%5000]})
			case 1:
				reqs = append(reqs, Request{Op: Delete, Key: key})
			default:
				reqs = append(reqs, Request{Op: Increment, Key: key, Delta: 1})
			}
		}
		reqs = append(reqs, Request{Op: Set, Key: "large", Value: large})
		share := &Share{Link: s.Link, Reqs: reqs}
		Gather(ctx, []*Share{share})
		require.NoError(t, share.Err)
		require.Len(t, share.Replies, len(reqs))
		for i, reply := range share.Replies {
			require.Equal(t, OK, reply.Status, i)
		}
	})
}

// Many callers with values larger than any buffer in between.
func TestLargeValuesBothWays(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		value := string(large[:300_000])
		s := on(t, patient, func(p *peer) {
			for a := p.next(); a != nil; a = p.next() {
				if a.words[0] == "mg" {
					p.say(a.hit(value))
				} else {
					p.say(a.answer())
				}
			}
		})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for range 10 {
					if g%2 == 0 {
						got, err := s.get("k")
						assert.NoError(t, err)
						assert.True(t, got == value)
					} else {
						_, err := s.Do(context.Background(), &Request{Op: Set, Key: "k", Value: large[:300_000]})
						assert.NoError(t, err)
					}
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// A store may be refused while its value is still being written, by a server
// that waits for the refusal to be read.
func TestRefusalWhileTheValueIsWritten(t *testing.T) {
	transports(t, func(t *testing.T, on onStage) {
		s := on(t, patient, func(p *peer) {
			line, _ := p.in.ReadString('\n')
			p.say("SERVER_ERROR object too large for cache\r\n")
			p.in.Discard(len(large) + len(crlf))
			assert.True(t, strings.HasPrefix(line, "ms big "))
			p.serve()
		})
		reply, err := s.Do(context.Background(), &Request{Op: Set, Key: "big", Value: large})
		require.NoError(t, err)
		assert.Equal(t, Refused, reply.Status)
		s.wantValue(t, "b")
		assert.EqualValues(t, 1, s.dials.Load())
	})
}

// No helper runs where a write does not block.
func TestNoHelperWhereWritesDoNotBlock(t *testing.T) {
	release := make(chan struct{})
	s := onTCP(t, patient, hold(release))
	gathered := later(func() error {
		share := &Share{Link: s.Link, Keys: numbered(50)}
		Gather(context.Background(), []*Share{share})
		return share.Err
	})
	reached(t, s.look(func(c *conn) bool { return c.turns.reader != nil }))
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	assert.NotContains(t, string(stacks), "created by github.com/vaquero-cache/memcache/internal/link.(*conn)")
	close(release)
	require.NoError(t, <-gathered)
}

// Each share of a batch has an end of its own.
func TestEndsOfShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(pause time.Duration) func(*peer) {
			return func(p *peer) {
				for a := p.next(); a != nil; a = p.next() {
					time.Sleep(pause)
					p.say(a.answer())
				}
			}
		}
		quick, slow := onPipe(t, time.Second, after(100*time.Millisecond)), onPipe(t, time.Second, after(300*time.Millisecond))
		unseen := onPipe(t, time.Second, after(100*time.Millisecond))
		stopped := onPipe(t, time.Second, silent)
		dead := newDialer(t, time.Second, func(context.Context) (net.Conn, error) { return nil, errRefusedDial })
		var shares []*Share
		for _, l := range []*Link{dead.Link, quick.Link, slow.Link, stopped.Link, unseen.Link} {
			shares = append(shares, &Share{Link: l, Keys: []string{"a"}, Timed: true})
		}
		start := time.Now()
		Gather(context.Background(), shares)
		for i, want := range []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, time.Second} {
			assert.InDelta(t, want, shares[i].Ended.Sub(start), 2*float64(grace), i)
		}

		var stream Stream
		streamed := []Share{{Link: quick.Link, Keys: numbered(2*windowRequests + 1), Timed: true}}
		quick.scripts[0] = healthy
		require.NoError(t, quick.Close())
		start = time.Now()
		stream.Run(context.Background(), streamed, func(_, from int, _ []Reply) bool {
			if from == 0 {
				time.Sleep(time.Minute)
			}
			return true
		})
		assert.InDelta(t, time.Minute, streamed[0].Ended.Sub(start), 2*float64(grace))
	})
}

// A share that is lost tells how much of it was sent.
func TestHowMuchOfALostShareWasSent(t *testing.T) {
	var reqs []Request
	for _, key := range numbered(3*windowRequests + 1) {
		reqs = append(reqs, Request{Op: Add, Key: key})
	}
	hangsUpAfter := func(n int) func(*peer) {
		return func(p *peer) {
			for range n {
				p.say(p.next().answer())
			}
			p.next()
		}
	}
	transports(t, func(t *testing.T, on onStage) {
		for answers, sent := range map[int]int{
			0: windowRequests, 5: windowRequests, windowRequests + 5: 2 * windowRequests, 3 * windowRequests: 3*windowRequests + 1,
		} {
			share := &Share{Link: on(t, patient, hangsUpAfter(answers)).Link, Reqs: reqs}
			Gather(context.Background(), []*Share{share})
			require.Error(t, share.Err, answers)
			assert.Equal(t, sent, share.Sent, answers)
			assert.LessOrEqual(t, len(share.Replies), answers)
		}
		whole := &Share{Link: on(t, patient, healthy).Link, Reqs: reqs}
		Gather(context.Background(), []*Share{whole})
		require.NoError(t, whole.Err)
		assert.Equal(t, len(reqs), whole.Sent)
	})
	dead := newDialer(t, time.Second, func(context.Context) (net.Conn, error) { return nil, errRefusedDial })
	share := &Share{Link: dead.Link, Reqs: reqs}
	Gather(context.Background(), []*Share{share})
	require.Error(t, share.Err)
	assert.Zero(t, share.Sent)
}

// A server that reads nothing keeps no other one from being asked.
func TestABlockedWriteKeepsNoOtherServerWaiting(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{})
	stuck := onTCP(t, time.Minute, func(p *peer) {
		<-release
		p.serve()
	})
	free := onTCP(t, time.Minute, func(p *peer) {
		a := p.next()
		close(asked)
		p.say(a.answer())
		p.serve()
	})
	large := []Request{{Op: Set, Key: "large", Value: make([]byte, 8<<20)}}
	shares := []*Share{{Link: stuck.Link, Reqs: large}, {Link: free.Link, Keys: numbered(10)}}
	done := later(func() error { Gather(context.Background(), shares); return nil })
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Error("the second server has not been asked while the first one does not read")
	}
	close(release)
	<-done
	assert.NoError(t, shares[0].Err)
	assert.NoError(t, shares[1].Err)
}
