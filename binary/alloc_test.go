//go:build !race

package binary

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseAllocatesNothing(t *testing.T) {
	var h Header
	var body Body
	for name, b := range map[string][]byte{
		"get":     reply(OpGetK, 0, 1, 2, "\x00\x00\x00\x01", "key", "value"),
		"incr":    reply(OpIncrement, 0, 1, 2, "", "", "12345678"),
		"miss":    reply(OpGet, StatusNotFound, 1, 0, "", "", "Not found"),
		"bad":     reply(OpGet, 0, 1, 0, "", "", "value"),
		"text":    []byte("ERROR\r\n"),
		"lengths": []byte("\x81\x00\xff\xff\xff\x00\x00\x00\x00\x00\x00\x001234567812345678"),
	} {
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			if n, err := ParseHeader(b, &h); n > 0 && err == nil {
				_, _, _ = ParseBody(b[n:], &h, &body)
				_ = h.Status.Err()
			}
		}), name)
	}
}

func TestBuildersAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	value := make([]byte, 1000)
	key := "some:rather:long:key:of:an:application"
	for name, build := range map[string]func() error{
		"get": func() error { _, err := AppendGet(buf, &GetRequest{Key: key, Opaque: 7}); return err },
		"gat": func() error {
			_, err := AppendGetAndTouch(buf, &GetAndTouchRequest{Key: key, WithKey: true})
			return err
		},
		"touch": func() error { _, err := AppendTouch(buf, &TouchRequest{Key: key}); return err },
		"set":   func() error { _, err := AppendStore(buf, &StoreRequest{Key: key, Value: value, CAS: 9}); return err },
		"incr":  func() error { _, err := AppendArithmetic(buf, &ArithmeticRequest{Key: key, Create: true}); return err },
		"stat":  func() error { _, err := AppendStat(buf, "items", 7); return err },
		"auth":  func() error { _, err := AppendAuthStart(buf, "PLAIN", "data", 7); return err },
	} {
		assert.NoError(t, build(), name)
		assert.Zero(t, testing.AllocsPerRun(10, func() { _ = build() }), name)
	}
}
