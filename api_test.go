package memcache_test

// This file compiles only while the exported surface still contains that of
// gomemcache: its names, types, fields and signatures. What cannot be said to
// the compiler is a test below.

import (
	"context"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/vaquero-cache/memcache"
)

// gomemcacheClient has the methods of gomemcache's Client with its signatures:
// programs declare such interfaces over them.
type gomemcacheClient interface {
	Add(item *memcache.Item) error
	Append(item *memcache.Item) error
	Close() error
	CompareAndSwap(item *memcache.Item) error
	Decrement(key string, delta uint64) (newValue uint64, err error)
	Delete(key string) error
	DeleteAll() error
	FlushAll() error
	Get(key string) (item *memcache.Item, err error)
	GetAndTouch(key string, expiration int32) (item *memcache.Item, err error)
	GetMulti(keys []string) (map[string]*memcache.Item, error)
	Increment(key string, delta uint64) (newValue uint64, err error)
	Ping() error
	Prepend(item *memcache.Item) error
	Replace(item *memcache.Item) error
	Set(item *memcache.Item) error
	Touch(key string, seconds int32) (err error)
}

// gomemcacheItem is gomemcache's Item. Programs convert structs to it and write
// unkeyed literals, so the fields must be these, in this order, and no others.
type gomemcacheItem struct {
	Key        string
	Value      []byte
	Flags      uint32
	Expiration int32
	CasID      uint64
}

// foreignSelector has the two methods of gomemcache's ServerSelector and no
// others, as selectors of other packages do.
type foreignSelector struct {
	pick func(key string) (net.Addr, error)
	all  []net.Addr
}

func (s *foreignSelector) PickServer(key string) (net.Addr, error) { return s.pick(key) }

func (s *foreignSelector) Each(f func(net.Addr) error) error {
	for _, addr := range s.all {
		if err := f(addr); err != nil {
			return err
		}
	}
	return nil
}

var (
	_ func(server ...string) *memcache.Client           = memcache.New
	_ func(ss memcache.ServerSelector) *memcache.Client = memcache.NewFromSelector

	_ gomemcacheClient = (*memcache.Client)(nil)

	_ = memcache.Client{
		DialContext:  func(ctx context.Context, network, address string) (net.Conn, error) { return nil, nil },
		Timeout:      time.Second,
		MaxIdleConns: 2,
	}

	_ = memcache.Item(gomemcacheItem{})
	_ = gomemcacheItem(memcache.Item{})

	_ memcache.ServerSelector = (*foreignSelector)(nil)
	_ memcache.ServerSelector = (*memcache.ServerList)(nil)

	_ interface {
		PickServer(key string) (net.Addr, error)
		Each(func(net.Addr) error) error
	} = memcache.ServerSelector(nil)

	_ interface {
		SetServers(servers ...string) error
	} = new(memcache.ServerList)

	_ error = &memcache.ConnectTimeoutError{Addr: net.Addr(nil)}

	_ int8          = memcache.DefaultMaxIdleConns // an untyped constant goes everywhere
	_ float64       = memcache.DefaultMaxIdleConns
	_ time.Duration = memcache.DefaultTimeout
)

func TestConstantsHaveGomemcachesTypesAndValues(t *testing.T) {
	assert.Equal(t, 500*time.Millisecond, memcache.DefaultTimeout)
	assert.IsType(t, time.Duration(0), memcache.DefaultTimeout)
	assert.Equal(t, 2, memcache.DefaultMaxIdleConns)
}

func TestSentinelsHaveGomemcachesTexts(t *testing.T) {
	for err, text := range map[error]string{
		memcache.ErrCacheMiss:    "memcache: cache miss",
		memcache.ErrCASConflict:  "memcache: compare-and-swap conflict",
		memcache.ErrNotStored:    "memcache: item not stored",
		memcache.ErrServerError:  "memcache: server error",
		memcache.ErrNoStats:      "memcache: no statistics available",
		memcache.ErrMalformedKey: "malformed: key is too long or contains invalid characters",
		memcache.ErrNoServers:    "memcache: no servers configured or available",
	} {
		assert.EqualError(t, err, text)
	}
}

// The error is the pointer alone: a program that asks for the value with
// errors.As would not compile or match with gomemcache either.
func TestConnectTimeoutErrorIsAnErrorByItsPointer(t *testing.T) {
	_, isError := reflect.Zero(reflect.TypeFor[memcache.ConnectTimeoutError]()).Interface().(error)
	assert.False(t, isError)
	assert.Equal(t, 1, reflect.TypeFor[memcache.ConnectTimeoutError]().NumField())
}

// Tracing libraries embed the client and put methods of their own in front.
func TestClientCanBeEmbedded(t *testing.T) {
	type Client struct{ *memcache.Client }
	wrapped := Client{newClient(t, embedded(t, 1)...)}
	assert.NoError(t, wrapped.Ping())
	var _ gomemcacheClient = wrapped
}
