//go:build !race

package meta

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Parse must not allocate for any line, be it good, bad or incomplete.
func TestParseAllocatesNothing(t *testing.T) {
	var r Reply
	var key [MaxLine]byte
	for _, c := range lines {
		line := []byte(c.line)
		allocs := testing.AllocsPerRun(10, func() {
			if n, err := Parse(line, &r); err == nil && n > 0 {
				r.InStep(true)
				r.AppendKey(key[:0])
				for name := range r.DebugFields {
					_ = name
				}
			}
			_, _ = Parse(line[:len(line)/2], &r)
		})
		assert.Zero(t, allocs, c.name)
	}
}

// The opaque stands on the stack, as it does for a caller that counts them.
func TestBuildersAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	value := make([]byte, 1000)
	key, binaryKey := "some:rather:long:key:of:an:application", "\x00\x01\x02 some rather long key of an application \xff"
	for name, build := range map[string]func() error{
		"mg": func() error {
			opaque := [...]byte{'1', '2'}
			_, err := AppendGet(buf, &GetRequest{Common: Common{Key: key, Opaque: opaque[:]}, Want: getFields, Args: getArgs, CAS: 1<<64 - 1})
			return err
		},
		"mg base64": func() error {
			opaque := [...]byte{'1', '2'}
			_, err := AppendGet(buf, &GetRequest{Common: Common{Key: binaryKey, Base64: true, Opaque: opaque[:]}, Want: FieldValue})
			return err
		},
		"ms": func() error {
			opaque := [...]byte{'1', '2'}
			_, err := AppendSet(buf, &SetRequest{Common: Common{Key: key, Opaque: opaque[:]}, Value: value, Mode: Append, ClientFlags: 7, TTL: -1})
			return err
		},
		"md": func() error {
			opaque := [...]byte{'1', '2'}
			_, err := AppendDelete(buf, &DeleteRequest{Common: Common{Key: key, Opaque: opaque[:]}, Args: deleteArgs, Invalidate: true})
			return err
		},
		"ma": func() error {
			opaque := [...]byte{'1', '2'}
			_, err := AppendArithmetic(buf, &ArithmeticRequest{Common: Common{Key: key, Opaque: opaque[:]}, Want: mathFields, Args: mathArgs})
			return err
		},
		"me": func() error {
			_, err := AppendDebug(buf, &DebugRequest{Key: binaryKey, Base64: true})
			return err
		},
		"tags": func() error {
			_, err := AppendGet(buf, &GetRequest{Common: Common{Key: key, ProxyP: "p", ProxyL: "l"}})
			return err
		},
		"refused": func() error {
			_, err := AppendGet(buf, &GetRequest{Common: Common{Key: "a b"}})
			if err != ErrKeyByte {
				return ErrKeyEmpty
			}
			return nil
		},
	} {
		assert.NoError(t, build(), name)
		assert.Zero(t, testing.AllocsPerRun(10, func() { _ = build() }), name)
	}
}
