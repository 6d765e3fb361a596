package memcache_test

// No input adds a line or a token to what is sent.

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/memcachetest"
)

// nasty are inputs that would say something of their own if they could.
var nasty = []string{
	"", "key", "a key", "key\r\nflush_all", "key\nflush_all\n", "key 0 0 0\r\n\r\nflush_all\r\n", "\r\n", "\x00", "\x80\x08", "k\x7f", "noreply",
	"key noreply", "é", strings.Repeat("x", 250), strings.Repeat("x", 251), strings.Repeat("x", 300) + "\r\n", "O1", "key O1 q", "[0]\r\n", "b", "\t",
}

// input is what a caller gives.
type input struct {
	key, other string
	value      []byte
	flags      uint32
	exp        int32
	n          uint64
}

// calls are operations with their keys.
var calls = []struct {
	name string
	do   func(c *memcache.Client, in input) error
}{
	{"Get", func(c *memcache.Client, in input) error { _, err := c.Get(in.key); return err }},
	{"GetAndTouch", func(c *memcache.Client, in input) error { _, err := c.GetAndTouch(in.key, in.exp); return err }},
	{"GetMulti", func(c *memcache.Client, in input) error { _, err := c.GetMulti([]string{in.key, in.other}); return err }},
	{"GetMultiSeq", func(c *memcache.Client, in input) (err error) {
		for _, failed := range c.GetMultiSeq(context.Background(), []string{in.other, in.key}) {
			err = failed
		}
		return err
	}},
	{"Set", func(c *memcache.Client, in input) error { return c.Set(in.item()) }},
	{"Add", func(c *memcache.Client, in input) error { return c.Add(in.item()) }},
	{"Append", func(c *memcache.Client, in input) error { return c.Append(in.item()) }},
	{"AppendOrCreate", func(c *memcache.Client, in input) error { return c.AppendOrCreate(context.Background(), in.item()) }},
	{"CompareAndSwap", func(c *memcache.Client, in input) error { return c.CompareAndSwap(in.item()) }},
	{"SetMulti", func(c *memcache.Client, in input) error {
		other := in.item()
		other.Key = in.other
		return c.SetMulti([]*memcache.Item{in.item(), other})
	}},
	{"Delete", func(c *memcache.Client, in input) error { return c.Delete(in.key) }},
	{"Touch", func(c *memcache.Client, in input) error { return c.Touch(in.key, in.exp) }},
	{"Increment", func(c *memcache.Client, in input) error { _, err := c.Increment(in.key, in.n); return err }},
	{"DecrementOrCreate", func(c *memcache.Client, in input) error {
		_, err := c.DecrementOrCreate(context.Background(), in.key, in.n, in.n/2, in.exp)
		return err
	}},
	{"GetMetadata", func(c *memcache.Client, in input) error {
		_, err := c.GetMetadata(context.Background(), in.key)
		return err
	}},
	{"Pipeline", func(c *memcache.Client, in input) error {
		p := c.Pipeline()
		p.Set(in.item())
		p.Get(in.other)
		p.Increment(in.key, in.n)
		return p.Do(context.Background())
	}},
}

func (in input) item() *memcache.Item {
	return &memcache.Item{Key: in.key, Value: in.value, Flags: in.flags, Expiration: in.exp, CasID: in.n}
}

var allProtocols = []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Classic, memcache.Binary}

// FuzzInjectionByKeys compares what the server sees with what it sees of the same
// call with harmless keys and a harmless value: the same lines, but for the keys.
func FuzzInjectionByKeys(f *testing.F) {
	for i, key := range nasty {
		for call := range calls {
			f.Add(byte(call), byte(i), key, nasty[(i+call)%len(nasty)], nasty[i%3], []byte(nasty[(i+1)%len(nasty)]), uint32(i), int32(i-1), uint64(i)<<60)
		}
	}
	s, err := memcachetest.Start(memcachetest.Config{Network: memcachetest.NetworkPipe})
	require.NoError(f, err)
	f.Cleanup(func() { s.Close() })
	for call := range calls {
		f.Add(byte(call), byte(0), "noreply", "noreply", "", []byte("1"), uint32(0), int32(0), uint64(1))
	}
	f.Fuzz(func(t *testing.T, call, settings byte, key, other, namespace string, value []byte, flags uint32, exp int32, n uint64) {
		do := calls[int(call)%len(calls)].do
		keys := memcache.KeySettings{Namespace: namespace, AnyBytes: settings&1 != 0, HashLong: settings&2 != 0}
		for _, p := range allProtocols {
			in := input{key, other, value, flags, exp, n}
			got, err := lines(t, s, p, keys, func(c *memcache.Client) error { return do(c, in) })
			wire, text, legal := wireKey(keys, key)
			wire2, text2, legal2 := wireKey(keys, other)
			if calls[int(call)%len(calls)].name == "Set" && err == nil && exp == 0 {
				item, ok := s.Get(wire)
				require.True(t, ok)
				require.Equal(t, string(value), string(item.Value))
				require.Equal(t, flags, item.Flags)
			}

			harmless := input{"harmless-1", "harmless-2", []byte(strings.Repeat("v", len(value))), flags, exp, n}
			if !text {
				harmless.key = "harmless 1"
			}
			if !text2 {
				harmless.other = "harmless 2"
			}
			if key == other {
				harmless.other = harmless.key
			}
			if err == memcache.ErrMalformedKey {
				require.Empty(t, got)
				require.False(t, legal && legal2, "refused %q, %q", key, other)
				continue
			}
			want, _ := lines(t, s, p, memcache.KeySettings{AnyBytes: true}, func(c *memcache.Client) error { return do(c, harmless) })
			in2 := []string{harmless.key, harmless.other}
			for i := range want {
				for j, wire := range []string{wire, wire2} {
					want[i] = strings.Replace(want[i], shown(p, in2[j]), shown(p, wire), 1)
				}
				if p == memcache.Classic && want[i] == "delete noreply" {
					want[i] = "touch noreply 2592001" // or the key would be an option
				}
			}
			require.Equal(t, want, got, "%v, %v: %q, %q", p, err, key, other)
		}
	})
}

// wireKey is what stands for key on the wire, whether it is text, and whether it
// may be sent at all: the rules of KeySettings once more.
func wireKey(s memcache.KeySettings, key string) (wire string, text, legal bool) {
	isText := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
	}
	limit := func(text bool) int {
		if text {
			return 250
		}
		return 186
	}
	wire, text = s.Namespace+key, isText(s.Namespace+key)
	if key == "" || !text && !s.AnyBytes {
		return wire, text, false
	}
	if len(wire) <= limit(text) {
		return wire, text, true
	}
	digest := sha256.Sum256([]byte(key))
	wire, text = s.Namespace+base64.RawURLEncoding.EncodeToString(digest[:]), isText(s.Namespace)
	return wire, text, s.HashLong && len(wire) <= limit(text)
}

// shown is a key as it stands in the log of the server.
func shown(p memcache.Protocol, key string) string {
	if p != memcache.Binary && strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return base64.StdEncoding.EncodeToString([]byte(key))
	}
	return key
}

var opaqueToken = regexp.MustCompile(`^(m[gsda] .* O)[?-~]{4}$`)

// lines returns what the server reads while a client of its own makes a call,
// without the questions of Auto and the opaques.
func lines(t *testing.T, s *memcachetest.Server, p memcache.Protocol, keys memcache.KeySettings, do func(*memcache.Client) error) ([]string, error) {
	c := memcache.New(s.Addr())
	c.DialContext, c.Timeout = s.Dial, fast
	c.Protocol, c.Keys = p, keys
	s.Flush()
	s.ResetRequests()
	err := do(c)
	require.NoError(t, c.Close())
	var seen []string
	for i, r := range s.Requests() {
		if p == memcache.Auto && i < 2 {
			require.Contains(t, []string{"version", "mn"}, r.Line)
			continue
		}
		line := r.Line
		if p == memcache.Auto || p == memcache.Meta {
			line = opaqueToken.ReplaceAllString(line, "$1")
		}
		seen = append(seen, line)
	}
	return seen, err
}

// FuzzInjectionByCredentials: a server is shown the name and the password that it
// knows, or nothing at all.
func FuzzInjectionByCredentials(f *testing.F) {
	f.Add("", "")
	for i, user := range nasty {
		f.Add(user, nasty[(i+2)%len(nasty)])
		f.Add("user", user)
	}
	f.Fuzz(func(t *testing.T, user, password string) {
		for _, p := range allProtocols {
			users := map[string]string{user: password}
			config := memcachetest.Config{Network: memcachetest.NetworkPipe, Users: users}
			if p == memcache.Binary {
				config.Users, config.SASLUsers = nil, users
			}
			s := memcachetest.NewServer(t, config)
			c := memcache.New(s.Addr())
			c.DialContext, c.Timeout = s.Dial, fast
			c.Protocol, c.Auth = p, memcache.Auth{Username: user, Password: password}
			err := c.Ping()
			require.NoError(t, c.Close())
			sendable := user != "" && !strings.ContainsAny(user+password, "\r\n\x00") && len(user)+len(password) < 16<<10 &&
				(p == memcache.Binary || !strings.Contains(user, " "))
			switch {
			case user == "" && password == "": // only the binary protocol answers strangers
				assert.Equal(t, p != memcache.Binary, errors.Is(err, memcache.ErrAuth))
			case sendable:
				require.NoError(t, err)
			default:
				require.ErrorIs(t, err, memcache.ErrCredentials)
				require.Zero(t, s.Accepted())
			}
			for _, r := range s.Requests() {
				require.Regexp(t, `^(set auth 0 -1 \d+|version ?|mn|sasl_list |sasl_auth PLAIN)$`, r.Line)
			}
		}
	})
}

// FuzzInjectionByStats: an argument is one word of the line, or refused.
func FuzzInjectionByStats(f *testing.F) {
	for i, word := range append(nasty, "items", "settings", "reset", "detail", "on") {
		f.Add(word, nasty[i%len(nasty)])
	}
	s, err := memcachetest.Start(memcachetest.Config{Network: memcachetest.NetworkPipe})
	require.NoError(f, err)
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, p := range allProtocols {
			got, err := lines(t, s, p, memcache.KeySettings{}, func(c *memcache.Client) error {
				_, err := c.Stats(context.Background(), first, second)
				return err
			})
			if errors.Is(err, memcache.ErrMalformedArgument) {
				require.Empty(t, got)
				continue
			}
			command := "stats "
			if p == memcache.Binary {
				command = "stat "
			}
			require.Equal(t, []string{command + first + " " + second}, got)
			require.Len(t, strings.Fields(got[0]), 3)
		}
	})
}
