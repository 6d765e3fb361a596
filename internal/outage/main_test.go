package outage

// What the environment says, for all tests of the package.

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "32") // they wait, most of the time
	goleak.VerifyTestMain(m)
}

// outageTime is for how long servers fail under each client.
func outageTime(t *testing.T) time.Duration {
	if text := os.Getenv("OUTAGE_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		return d
	}
	if testing.Short() {
		return 2 * time.Second
	}
	return 20 * time.Second
}

// seeded returns a source of random numbers for each n, all of one seed.
func seeded(t *testing.T) func(n int) *rand.Rand {
	seed := rand.Uint64()
	if text := os.Getenv("OUTAGE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("OUTAGE_SEED=%d", seed)
	return func(n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }
}

// count is a number from the environment.
func count(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// pause waits for d and reports whether stop is still open.
func pause(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}
