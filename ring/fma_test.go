package ring

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The point counts of the ketama family come out of single-precision arithmetic
// in which no product may be fused with a sum. The compiler fuses where the
// processor can, as on arm64, unless conversions forbid it.
func TestKetamaArithmeticIsNotFused(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("skipped: no go tool to compile for arm64 with")
	}
	build := exec.Command(goTool, "build", "-gcflags=-S", ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	listing, err := build.CombinedOutput()
	require.NoError(t, err, "%s", listing)
	body := regexp.MustCompile(`(?m)^\S*ketamaTexts STEXT[^\n]*\n(?:\t[^\n]*\n)+`).Find(listing)
	require.NotEmpty(t, body, "ketamaTexts is not in the listing")
	assert.Contains(t, string(body), "FMULS", "the listing shows the arithmetic")
	assert.NotRegexp(t, `\bFN?M(ADD|SUB)[SD]\b`, string(body))
}
