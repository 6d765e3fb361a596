//go:build !race

package classic

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Parse must not allocate for any line, be it good, bad or incomplete.
func TestParseAllocatesNothing(t *testing.T) {
	var r Reply
	for _, c := range lines {
		line := []byte(c.line)
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			if n, err := Parse(line, &r); err == nil && n > 0 {
				r.InStep(true)
			}
			_, _ = Parse(line[:len(line)/2], &r)
		}), c.name)
	}
}

func TestBuildersAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	value := make([]byte, 1000)
	keys := []string{"some:rather:long:key:of:an:application", "b", "c"}
	for name, build := range map[string]func() error{
		"get":  func() error { _, err := AppendGet(buf, keys...); return err },
		"gets": func() error { _, err := AppendGets(buf, keys[0]); return err },
		"gats": func() error { _, err := AppendGetsAndTouch(buf, 60, keys[0]); return err },
		"set": func() error {
			_, err := AppendStore(buf, &StoreRequest{Key: keys[0], Value: value, ClientFlags: 7, Expiration: 60})
			return err
		},
		"cas": func() error {
			_, err := AppendStore(buf, &StoreRequest{Key: keys[0], Value: value, Mode: CompareAndSwap, CAS: 1<<64 - 1})
			return err
		},
		"delete": func() error { _, err := AppendDelete(buf, &DeleteRequest{Key: keys[0]}); return err },
		"incr":   func() error { _, err := AppendArithmetic(buf, &ArithmeticRequest{Key: keys[0], Delta: 1}); return err },
		"touch":  func() error { _, err := AppendTouch(buf, &TouchRequest{Key: keys[0], Expiration: 60}); return err },
		"stats":  func() error { _, err := AppendStats(buf, "detail on"); return err },
	} {
		assert.NoError(t, build(), name)
		assert.Zero(t, testing.AllocsPerRun(10, func() { _ = build() }), name)
	}
}
