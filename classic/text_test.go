package classic

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every byte at every place of keys around the width of a word, beside bytes
// that a borrow could come from or go to.
func TestTextKeys(t *testing.T) {
	for length := 1; length <= 25; length++ {
		for _, other := range []byte{'!', '~', 0x80, 0xff} {
			key := bytes.Repeat([]byte{other}, length)
			for at := range key {
				for b := range 256 {
					key[at] = byte(b)
					want := b > ' ' && b != 0x7f
					if isText(string(key)) != want {
						assert.Failf(t, "wrong", "%q: want %v", key, want)
					}
				}
				key[at] = other
			}
		}
	}
}
