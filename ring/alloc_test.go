//go:build !race

package ring

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPickAllocatesNothing(t *testing.T) {
	long := strings.Repeat("k", 250)
	for _, p := range allPlacements {
		t.Run(p.String(), func(t *testing.T) {
			r := mustNew(t, p, equalServers(16)...)
			if p != PymemcacheBytes { // there a byte of key may become four
				assert.Zero(t, testing.AllocsPerRun(100, func() { r.Pick(long) }), "long key")
			}
			for _, key := range []string{"user:1:profile", "{tag}/ключ"} {
				var stack [64]byte
				b := append(stack[:0], key...)
				assert.Zero(t, testing.AllocsPerRun(100, func() { r.Pick(key) }), key)
				assert.Zero(t, testing.AllocsPerRun(100, func() { r.PickBytes(b) }), key)
				last := 0
				assert.Zero(t, testing.AllocsPerRun(100, func() {
					for server := range r.Next(key) {
						last = server
					}
				}), "Next, ending with %d", last)
			}
		})
	}
}
