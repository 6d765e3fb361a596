package memcachetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGetSetKeysDump(t *testing.T) {
	s := NewServer(t)
	value := []byte("hello")
	s.Set(Item{Key: "b", Value: value, Flags: 7, TTL: time.Minute, CAS: 42})
	value[0] = 'J'
	s.Set(Item{Key: "a", Stale: true})
	s.Set(Item{Key: "over", TTL: -1})

	b, ok := s.Get("b")
	require.True(t, ok)
	assert.Equal(t, "hello", string(b.Value))
	b.Value[0] = 'J'
	assert.InDelta(t, time.Minute, b.TTL, float64(time.Second))
	_, ok = s.Get("over")
	assert.False(t, ok)
	assert.Equal(t, []string{"a", "b"}, s.Keys())
	assert.Equal(t, "\"a\" = \"\" flags=0 cas=1 stale\n\"b\" = \"hello\" flags=7 cas=42 ttl=1m0s\n", s.Dump())

	c := dial(t, s)
	c.send("mg b v f c h\r\nmg a v\r\n")
	c.want("VA 5 f7 c42 h0\r\nhello\r\nVA 0 X W\r\n\r\n")

	s.FastForward(61 * time.Second)
	assert.Equal(t, []string{"a"}, s.Keys())
	s.Flush()
	assert.Empty(t, s.Keys())
	assert.Empty(t, s.Dump())
}

func TestRequestLog(t *testing.T) {
	s := NewServer(t, Config{LogSize: 4})
	c := dial(t, s)
	c.send("get a b\r\nms k 3 q\r\nget\r\nmg k v\r\ngat 0 x y\r\nmn\r\n")
	c.want("END\r\nVA 3\r\nget\r\nEND\r\nMN\r\n")
	d := dial(t, s)
	d.send("\x80\x0d\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01" + string(make([]byte, 12)) + "k")
	d.send("\x80\x0a" + string(make([]byte, 22)))
	d.want("\x81\x0d\x00\x01\x04")

	require.Eventually(t, func() bool { return s.Count() == 7 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, map[string]int{"get": 1, "ms": 1, "mg": 1, "gat": 1, "mn": 1, "getkq": 1, "noop": 1}, s.Counts())
	assert.Equal(t, 2, s.Count("get", "mg"))
	assert.Equal(t, []Request{
		{1, "gat", "gat 0 x y"}, {1, "mn", "mn"}, {2, "getkq", "getkq k"}, {2, "noop", "noop "},
	}, s.Requests(), "the latest four")

	open := s.Connections()
	require.Len(t, open, 2)
	assert.Equal(t, Connection{Conn: 1, RemoteAddr: c.nc.LocalAddr().String(), Requests: 5}, open[0])
	c.nc.Close()
	require.Eventually(t, func() bool { return len(s.Connections()) == 1 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, 2, s.Accepted())

	s.ResetRequests()
	assert.Zero(t, s.Count())
	assert.Empty(t, s.Requests())
}

func TestRequestKeys(t *testing.T) {
	for line, keys := range map[string][]string{
		"get a b":       {"a", "b"},
		"gats 100 a b":  {"a", "b"},
		"mg a v k":      {"a"},
		"set a 0 0 1":   {"a"},
		"delete a":      {"a"},
		"getkq a":       {"a"},
		"mn":            nil,
		"stats items":   nil,
		"flush_all 100": nil,
		"gat":           nil,
		"":              nil,
	} {
		assert.Equal(t, keys, Request{Line: line}.Keys(), line)
	}
}

func TestLogOff(t *testing.T) {
	s := NewServer(t, Config{LogSize: -1})
	c := dial(t, s)
	c.send("mn\r\n")
	c.want("MN\r\n")
	assert.Empty(t, s.Requests())
	assert.Equal(t, 1, s.Count("mn"))
}
