package memcache_test

// Servers that ask who the client is.

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache"
	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

var (
	right = memcache.Auth{Username: "user", Password: "open-sesame"}
	wrong = memcache.Auth{Username: "user", Password: "close-sesame"}
)

// saslRealm is where saslpasswd2 puts the user: that of the client is its name
// with the realm.
const saslRealm = "cache.test"

// eachGuardedServer runs f on servers that want the credentials of right, in
// each protocol that such a server speaks.
func eachGuardedServer(t *testing.T, f func(t *testing.T, address string, p memcache.Protocol, right, wrong memcache.Auth)) {
	users := map[string]string{right.Username: right.Password}
	text := func(t *testing.T, address string) {
		for name, p := range map[string]memcache.Protocol{"auto": memcache.Auto, "meta": memcache.Meta, "classic": memcache.Classic} {
			t.Run(name, func(t *testing.T) { f(t, address, p, right, wrong) })
		}
	}
	t.Run("embedded", func(t *testing.T) {
		text(t, memcachetest.NewServer(t, memcachetest.Config{Users: users}).Addr())
		t.Run("binary", func(t *testing.T) {
			s := memcachetest.NewServer(t, memcachetest.Config{SASLUsers: users})
			f(t, s.Addr(), memcache.Binary, right, wrong)
		})
	})
	t.Run("memcached", func(t *testing.T) {
		realserver.Each(t, func(t *testing.T, b realserver.Binary) {
			file := filepath.Join(t.TempDir(), "users")
			require.NoError(t, os.WriteFile(file, []byte(right.Username+":"+right.Password+"\n"), 0o600))
			text(t, realserver.Start(t, realserver.Config{Version: b.Version, Args: []string{"-Y", file}}).Addr())
			t.Run("binary", func(t *testing.T) {
				address := startSASL(t, b)
				inRealm := func(a memcache.Auth) memcache.Auth {
					a.Username += "@" + saslRealm
					return a
				}
				f(t, address, memcache.Binary, inRealm(right), inRealm(wrong))
			})
		})
	})
}

// startSASL starts a memcached that asks for SASL, with the user of right.
func startSASL(t *testing.T, b realserver.Binary) (address string) {
	if help, _ := exec.Command(b.Path, "-h").Output(); !bytes.Contains(help, []byte("--enable-sasl")) {
		t.Skip("built without SASL")
	}
	tool, err := exec.LookPath("saslpasswd2")
	if err != nil {
		t.Skip("no saslpasswd2 here: apt-get install sasl2-bin libsasl2-modules")
	}
	dir := t.TempDir()
	db := filepath.Join(dir, "sasldb")
	conf := "mech_list: plain\npwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: " + db + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memcached.conf"), []byte(conf), 0o600))
	add := exec.Command(tool, "-p", "-c", "-a", "memcached", "-u", saslRealm, "-f", db, right.Username)
	add.Stdin = strings.NewReader(right.Password)
	if out, err := add.CombinedOutput(); err != nil {
		t.Skipf("saslpasswd2: %v: %s", err, out)
	}
	return realserver.Start(t, realserver.Config{
		Version: b.Version, Args: []string{"-S"}, Env: []string{"SASL_CONF_PATH=" + dir},
	}).Addr()
}

func TestAuth(t *testing.T) {
	eachGuardedServer(t, func(t *testing.T, address string, p memcache.Protocol, right, _ memcache.Auth) {
		c := newClient(t, address)
		c.Protocol, c.Auth = p, right
		dials := countDials(c)
		require.NoError(t, c.FlushAll())
		keys := fill(t, c, 100, 1000)
		items, err := c.GetMulti(keys)
		require.NoError(t, err)
		requireStamped(t, items, keys, 1000)
		mustSet(t, c, "auth", "is a key like any other")
		assert.Equal(t, "is a key like any other", string(mustGet(t, c, "auth").Value))
		require.NoError(t, c.Close())
		require.NoError(t, c.Ping(), "on a fresh connection too")
		wantDials(t, c, 2, dials)
	})
}

func TestAuthRefused(t *testing.T) {
	eachGuardedServer(t, func(t *testing.T, address string, p memcache.Protocol, _, wrong memcache.Auth) {
		c := newClient(t, address)
		c.Protocol, c.Auth = p, wrong
		dials := countDials(c)
		for name, do := range operations {
			err := do(c, "key", []byte("value"))
			assert.ErrorIs(t, err, memcache.ErrAuth, name)
			var op *memcache.OpError
			require.ErrorAs(t, err, &op, name)
			assert.Equal(t, address, op.Server)
			assert.False(t, op.OutcomeUnknown)
			assert.False(t, op.Timeout())
			assert.NotContains(t, err.Error(), wrong.Password)
		}
		assert.Less(t, dials.Load(), int64(len(operations)), "not once for each call")
	})
}

// Without credentials the error says what is missing. What the server sends may
// be lost with the connection that it closes behind it.
func TestAuthMissing(t *testing.T) {
	eachGuardedServer(t, func(t *testing.T, address string, p memcache.Protocol, _, _ memcache.Auth) {
		c := newClient(t, address)
		c.Protocol = p
		_, err := c.Get("key")
		assert.ErrorIs(t, err, memcache.ErrAuth)
		if p == memcache.Auto {
			var op *memcache.OpError
			assert.ErrorAs(t, c.Set(&memcache.Item{Key: "key", Value: []byte("value")}), &op)
		}
	})
}

// A callback replaces the password while the client runs, and tells servers
// apart.
func TestAuthByCallback(t *testing.T) {
	eachGuardedServer(t, func(t *testing.T, address string, p memcache.Protocol, right, wrong memcache.Auth) {
		c := newClient(t, address)
		c.Protocol, c.Auth = p, wrong
		var mu sync.Mutex
		current, asked := wrong, []string(nil)
		c.Auth.Credentials = func(ctx context.Context, server string) (string, string, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, server)
			return current.Username, current.Password, ctx.Err()
		}
		require.ErrorIs(t, c.Ping(), memcache.ErrAuth)
		mu.Lock()
		current = right
		mu.Unlock()
		require.Eventually(t, func() bool { return c.Ping() == nil }, fast, fast/1000, "after the pause")
		require.NoError(t, c.Close())
		require.NoError(t, c.Ping())
		assert.Equal(t, []string{address, address, address}, asked[:3])

		require.NoError(t, c.Close())
		c.Auth.Credentials = func(context.Context, string) (string, string, error) { return "", "", errTest }
		assert.ErrorIs(t, c.Ping(), errTest)
	})
}

// A server that refuses the credentials fails its own keys alone.
func TestAuthRefusedByOneServer(t *testing.T) {
	users := map[string]string{right.Username: right.Password}
	open := memcachetest.NewServer(t, memcachetest.Config{Users: users}).Addr()
	shut := memcachetest.NewServer(t, memcachetest.Config{Users: map[string]string{"somebody": "else"}}).Addr()
	c := newClient(t, open, shut)
	c.Auth = right
	keys := make([]string, 40)
	for i := range keys {
		keys[i] = fmt.Sprint("key:", i)
	}
	byServer := byServer(t, []string{open, shut}, keys)
	for range 50 {
		for _, key := range keys {
			err := c.Set(&memcache.Item{Key: key, Value: stamp(key, 100)})
			assert.True(t, err == nil || errors.Is(err, memcache.ErrAuth), "%v", err)
		}
		items, err := c.GetMulti(keys)
		requireStamped(t, items, byServer[open], 100)
		assert.ErrorIs(t, err, memcache.ErrAuth)
		var failed *memcache.MultiError
		require.ErrorAs(t, err, &failed)
		assert.Len(t, failed.ByKey(), len(byServer[shut]))
	}
}

// What cannot be sent touches no server.
func TestAuthThatCannotBeSent(t *testing.T) {
	address := embedded(t, 1)[0]
	for name, a := range map[string]memcache.Auth{
		"no name":          {Password: "open-sesame"},
		"line in name":     {Username: "user\r\nflush_all", Password: "open-sesame"},
		"line in password": {Username: "user", Password: "open-sesame\r\nflush_all\r\n"},
		"NUL":              {Username: "user", Password: "open-sesame\x00"},
		"long":             {Username: "user", Password: strings.Repeat("open-sesame", 2000)},
	} {
		for _, p := range []memcache.Protocol{memcache.Auto, memcache.Meta, memcache.Classic, memcache.Binary} {
			c := newClient(t, address)
			c.Protocol, c.Auth = p, a
			dials := countDials(c)
			err := c.Ping()
			assert.ErrorIs(t, err, memcache.ErrCredentials, name)
			assert.NotContains(t, err.Error(), "sesame")
			assert.Zero(t, dials.Load())
		}
	}
}

// What a server without authentication is shown is stored for nobody to read.
func TestAuthOnAServerWithoutIt(t *testing.T) {
	eachServer(t, func(t *testing.T, address string) {
		c := newClient(t, address)
		c.Auth = right
		if protocol == memcache.Binary {
			assert.ErrorIs(t, c.Ping(), memcache.ErrAuth, "SASL cannot be done without")
			return
		}
		mustSet(t, c, "key", "v")
		assert.Equal(t, "END", raw(t, address, "get auth"))
	})
}

// Over TLS the password is the first that is said inside it.
func TestAuthOverTLS(t *testing.T) {
	a := newAuthority(t)
	cert := a.mustSign(t, tlsServerName)
	users := map[string]string{right.Username: right.Password}
	for name, p := range map[string]memcache.Protocol{"auto": memcache.Auto, "binary": memcache.Binary} {
		t.Run(name, func(t *testing.T) {
			config := memcachetest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}
			if p == memcache.Binary {
				config.SASLUsers = users
			} else {
				config.Users = users
			}
			c := newClient(t, memcachetest.NewServer(t, config).Addr())
			c.Protocol, c.TLS, c.Auth = p, a.expects(tlsServerName), right
			mustSet(t, c, "key", "v")
			require.NoError(t, c.Close())
			c.Auth = wrong
			assert.ErrorIs(t, c.Ping(), memcache.ErrAuth)
		})
	}
}

// Neither what the client prints nor what the hooks see shows a password, even
// of a server that repeats it.
func TestAuthIsNeverShown(t *testing.T) {
	for _, answer := range []string{"ERROR %s", "CLIENT_ERROR %s", "SERVER_ERROR %s", "%s"} {
		t.Run(answer, func(t *testing.T) { testAuthIsNotShown(t, answer) })
	}
}

func testAuthIsNotShown(t *testing.T, answer string) {
	address := fakeServer(t, func(c *fakeConn) {
		c.r.ReadString('\n')
		token, _ := c.r.ReadString('\n')
		fmt.Fprintf(c, answer, token)
	})
	c := newClient(t, address)
	c.Auth = right
	var shown strings.Builder
	show := func(what any) { fmt.Fprintf(&shown, "%v %+v %#v\n", what, what, what) }
	c.Hooks = &memcache.Hooks{
		OpEnded: func(_ context.Context, _ memcache.OpInfo, r memcache.OpResult) { show(r); show(r.Err) },
		ConnOpened: func(i memcache.ConnInfo) {
			show(i)
			show(i.Err)
			var nonsense *memcache.ProtocolError
			assert.Equal(t, answer == "%s", errors.As(i.Err, &nonsense))
		},
		ConnClosed: func(i memcache.ConnInfo) { show(i); show(i.Err) },
	}
	for range 3 {
		err := c.Ping()
		require.Error(t, err)
		for ; err != nil; err = errors.Unwrap(err) {
			show(err)
		}
	}
	show(c)
	show(c.Auth)
	show(&c.Auth)
	fmt.Fprintf(&shown, "%s %d %q", c.Auth, c.Auth, c.Auth)
	assert.Contains(t, shown.String(), "memcache.Auth{…}")
	assert.NotContains(t, shown.String(), "sesame")
	assert.NotContains(t, shown.String(), "user")
}
