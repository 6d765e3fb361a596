package ring

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every length up to well above the one from which the standard library takes
// over, several times.
func TestCRC32IsTheStandardOne(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for length := range 2 * crcAssisted {
		for range 100 {
			key := make([]byte, length)
			for i := range key {
				key[i] = byte(random.Uint32())
			}
			assert.Equal(t, crc32.ChecksumIEEE(key), crc32IEEE(string(key)), "%x", key)
		}
	}
}
