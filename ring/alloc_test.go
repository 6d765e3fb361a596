//go:build !race

package ring

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPickAllocatesNothing(t *testing.T) {
	for _, p := range []Placement{Default, Gomemcache} {
		t.Run(p.String(), func(t *testing.T) {
			r := mustNew(t, p, equalServers(16)...)
			key, b := "user:1:profile", []byte("user:1:profile")
			assert.Zero(t, testing.AllocsPerRun(100, func() { r.Pick(key) }))
			assert.Zero(t, testing.AllocsPerRun(100, func() { r.PickBytes(b) }))
		})
	}
}
