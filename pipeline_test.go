package memcache_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
)

func TestPipelineOfEveryOperation(t *testing.T) {
	eachFleet(t, 3, func(t *testing.T, addresses []string) {
		c := newClient(t, addresses...)
		mustSet(t, c, "present", "one")
		mustSet(t, c, "n", "10")
		mustSet(t, c, "doomed", "v")
		present := mustGet(t, c, "present")

		p := c.Pipeline()
		get := p.Get("present")
		miss := p.Get("absent")
		touched := p.GetAndTouch("present", 100)
		stored := p.Set(&memcache.Item{Key: "new", Value: []byte("v"), Flags: 7})
		notAdded := p.Add(&memcache.Item{Key: "present", Value: []byte("x")})
		notReplaced := p.Replace(&memcache.Item{Key: "absent", Value: []byte("x")})
		swapped := p.CompareAndSwap(&memcache.Item{Key: "present", Value: []byte("two"), CasID: present.CasID})
		conflict := p.CompareAndSwap(&memcache.Item{Key: "present", Value: []byte("no"), CasID: present.CasID})
		appended := p.Append(&memcache.Item{Key: "present", Value: []byte(">")})
		prepended := p.Prepend(&memcache.Item{Key: "present", Value: []byte("<")})
		after := p.Get("present")
		up := p.Increment("n", 5)
		down := p.Decrement("n", 1)
		noNumber := p.Increment("absent", 1)
		deleted := p.Delete("doomed")
		notDeleted := p.Delete("absent")
		touch := p.Touch("new", 100)
		notTouched := p.Touch("absent", 100)
		assert.Equal(t, 18, p.Len())

		_, err := get.Item()
		assert.True(t, err == memcache.ErrNotDone)
		assert.True(t, stored.Err() == memcache.ErrNotDone)
		require.NoError(t, p.Do(context.Background()))
		assert.Zero(t, p.Len())

		wantItem(t, "one", get)
		wantItem(t, "one", touched)
		wantItem(t, "<two>", after)
		item, err := miss.Item()
		assert.Nil(t, item)
		assert.True(t, err == memcache.ErrCacheMiss)
		for name, r := range map[string]memcache.Result{
			"set": stored, "cas": swapped, "append": appended, "prepend": prepended, "delete": deleted, "touch": touch,
		} {
			assert.NoError(t, r.Err(), name)
		}
		assert.True(t, notAdded.Err() == memcache.ErrNotStored)
		assert.True(t, notReplaced.Err() == memcache.ErrNotStored)
		assert.True(t, conflict.Err() == memcache.ErrCASConflict)
		assert.True(t, notDeleted.Err() == memcache.ErrCacheMiss)
		assert.True(t, notTouched.Err() == memcache.ErrCacheMiss)
		n, err := up.Number()
		assert.NoError(t, err)
		assert.EqualValues(t, 15, n)
		n, err = down.Number()
		assert.NoError(t, err)
		assert.EqualValues(t, 14, n)
		_, err = noNumber.Number()
		assert.True(t, err == memcache.ErrCacheMiss)
		assert.EqualValues(t, 7, mustGet(t, c, "new").Flags)
	})
}

func wantItem(t testing.TB, value string, r memcache.ItemResult) {
	t.Helper()
	item, err := r.Item()
	require.NoError(t, err)
	assert.Equal(t, value, string(item.Value))
	assert.NotZero(t, item.CasID)
	assert.NotEmpty(t, item.Key)
}

// What a pipeline does is what its operations do one after the other.
func TestPipelinesAndSingleOperationsAgree(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		c := newClient(t, address)
		describe := func(err error) string { return strings.ReplaceAll(fmt.Sprint(err), "pipe", "solo") }
		for range 20 {
			p := c.Pipeline()
			var got []func() string
			var want []string
			for range 1 + rng.IntN(60) {
				key := fmt.Sprint(".", rng.IntN(5))
				value := fmt.Append(nil, rng.IntN(100))
				inPipe := &memcache.Item{Key: "pipe" + key, Value: value}
				alone := &memcache.Item{Key: "solo" + key, Value: value}
				result := func(r memcache.Result) { got = append(got, func() string { return describe(r.Err()) }) }
				switch rng.IntN(7) {
				case 0:
					result(p.Set(inPipe))
					want = append(want, describe(c.Set(alone)))
				case 1:
					result(p.Add(inPipe))
					want = append(want, describe(c.Add(alone)))
				case 2:
					result(p.Replace(inPipe))
					want = append(want, describe(c.Replace(alone)))
				case 3:
					result(p.Delete(inPipe.Key))
					want = append(want, describe(c.Delete(alone.Key)))
				case 4:
					r := p.Get(inPipe.Key)
					got = append(got, func() string {
						item, err := r.Item()
						if err != nil {
							return describe(err)
						}
						return string(bytes.TrimRight(item.Value, " "))
					})
					item, err := c.Get(alone.Key)
					if err != nil {
						want = append(want, describe(err))
					} else {
						want = append(want, string(bytes.TrimRight(item.Value, " ")))
					}
				case 5:
					r := p.Increment(inPipe.Key, 3)
					got = append(got, func() string { n, err := r.Number(); return fmt.Sprint(n, describe(err)) })
					n, err := c.Increment(alone.Key, 3)
					want = append(want, fmt.Sprint(n, describe(err)))
				case 6:
					result(p.Touch(inPipe.Key, 100))
					want = append(want, describe(c.Touch(alone.Key, 100)))
				}
			}
			require.NoError(t, p.Do(context.Background()))
			for i := range want {
				require.Equal(t, want[i], got[i](), "operation %d", i)
			}
		}
	})
}

func TestPipelineIsUsedAgain(t *testing.T) {
	c := newClient(t, embedded(t, 2)...)
	p := c.Pipeline()
	require.NoError(t, p.Do(context.Background()), "nothing to do")
	var results []memcache.NumberResult
	mustSet(t, c, "n", "0")
	for range 3 {
		results = append(results, p.Increment("n", 1))
		require.NoError(t, p.Do(context.Background()))
	}
	for i, r := range results {
		n, err := r.Number()
		assert.NoError(t, err)
		assert.EqualValues(t, i+1, n)
	}
}

func TestPipelineWithAMistakeSendsNothing(t *testing.T) {
	c := newClient(t, embedded(t, 2)...)
	dials := countDials(c)
	for want, add := range map[error]func(p *memcache.Pipeline) memcache.Result{
		memcache.ErrMalformedKey: func(p *memcache.Pipeline) memcache.Result { return p.Delete("a b") },
		memcache.ErrNilItem:      func(p *memcache.Pipeline) memcache.Result { return p.Set(nil) },
		memcache.ErrValueTooLarge: func(p *memcache.Pipeline) memcache.Result {
			return p.Set(&memcache.Item{Key: "a", Value: make([]byte, memcache.MaxValueSize+1)})
		},
	} {
		p := c.Pipeline()
		get := p.Get("good")
		bad := add(p)
		n := p.Increment("good", 1)
		assert.Equal(t, 3, p.Len())
		assert.True(t, p.Do(context.Background()) == want, want)
		_, err := get.Item()
		assert.True(t, err == want)
		assert.True(t, bad.Err() == want)
		_, err = n.Number()
		assert.True(t, err == want)
		assert.NoError(t, p.Do(context.Background()), "the mistake is forgotten")
	}
	assert.Zero(t, dials.Load())
}

// What a server's protocol cannot say fails alone, in a pipeline and in batches.
func TestUnsupportedOperationsFailAlone(t *testing.T) {
	c := newClient(t, embedded(t, 2)...)
	c.Protocol = memcache.Classic
	c.Keys.AnyBytes = true
	keys := strings.Split("abcdefghijkl", "")
	p := c.Pipeline()
	var stored, refused []memcache.Result
	for _, item := range itemsOf(keys, 10) {
		stored = append(stored, p.Set(item))
		refused = append(refused, p.AppendOrCreate(item), p.Delete("no text "+item.Key))
	}
	errs := byKey(t, p.Do(context.Background()))
	assert.Len(t, errs, 2*len(keys))
	for _, r := range stored {
		assert.NoError(t, r.Err())
	}
	for _, r := range refused {
		assert.ErrorIs(t, r.Err(), memcache.ErrNotSupported)
		var failed *memcache.OpError
		require.ErrorAs(t, r.Err(), &failed)
		assert.False(t, failed.OutcomeUnknown)
	}

	items, err := c.GetMulti(append(keys, "no text"))
	assert.Len(t, items, len(keys))
	errs = byKey(t, err)
	assert.Len(t, errs, 1)
	assert.ErrorIs(t, errs["no text"], memcache.ErrNotSupported)
}

func TestPipelineWithADeadServer(t *testing.T) {
	addresses := append(embedded(t, 2), deadAddress(t))
	keys := strings.Split("abcdefghijkl", "")
	lost := byServer(t, addresses, keys)[addresses[2]]
	c := newClient(t, addresses...)
	p := c.Pipeline()
	results := map[string]memcache.Result{}
	for _, item := range itemsOf(keys, 10) {
		results[item.Key] = p.Set(item)
	}
	errs := byKey(t, p.Do(context.Background()))
	assert.Len(t, errs, len(lost))
	for _, key := range lost {
		assert.ErrorIs(t, errs[key], syscall.ECONNREFUSED)
	}
	for _, key := range keys {
		err := results[key].Err()
		assert.Equal(t, errs[key] == nil, err == nil, key)
		if err != nil {
			assert.Equal(t, "set", err.(*memcache.OpError).Op)
		}
	}
}

func TestPipelineThatLosesItsServerHalfWay(t *testing.T) {
	address := fakeServer(t, func(c *fakeConn) {
		io.WriteString(c, "HD "+opaque(c.next())+"\r\n")
		io.WriteString(c, "VA 1 f0 c1 "+opaque(c.next())+"\r\nv\r\n")
		c.next()
		c.next()
	})
	c := metaClient(t, address)
	p := c.Pipeline()
	stored, get := p.Set(&memcache.Item{Key: "a"}), p.Get("b")
	n, lost := p.Increment("c", 1), p.Get("d")
	errs := byKey(t, p.Do(context.Background()))
	assert.Len(t, errs, 2)
	assert.NoError(t, stored.Err())
	wantItem(t, "v", get)
	_, err := n.Number()
	var failed *memcache.OpError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "incr", failed.Op)
	assert.True(t, failed.OutcomeUnknown)
	_, err = lost.Item()
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "get", failed.Op)
}

func TestPipelineWithAnEndedContext(t *testing.T) {
	silent := fakeServer(t, func(c *fakeConn) { io.Copy(io.Discard, c) })
	c := newClient(t, silent)
	c.Protocol = memcache.Meta
	ctx, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	<-ctx.Done()
	p := c.Pipeline()
	r := p.Get("key")
	requireGaveUp(t, p.Do(ctx), context.DeadlineExceeded, "")
	_, err := r.Item()
	failed := requireGaveUp(t, err, context.DeadlineExceeded, "")
	assert.False(t, failed.OutcomeUnknown)
}
