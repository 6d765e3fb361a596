package budget

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParts(t *testing.T) {
	for want, stack := range map[string]string{
		"hash":     "github.com/cespare/xxhash/v2.Sum64String " + root + "/ring.(*Ring).Pick " + root + ".(*Client).getting",
		"ring":     root + "/ring.(*Ring).Pick " + root + ".(*Client).getting",
		"write":    "internal/runtime/syscall.Syscall6 syscall.write internal/poll.(*FD).Write " + root + "/internal/link.(*conn).flush",
		"read":     "internal/runtime/syscall.Syscall6 syscall.recvfrom " + root + "/internal/link.(*waiting).read",
		"copy":     "runtime.memmove " + root + "/internal/link.(*conn).body",
		"parse":    root + "/meta.Parse " + root + "/internal/link.(*metaCodec).read",
		"encode":   "strconv.AppendInt " + root + "/meta.AppendGet",
		"GC":       "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker",
		"allocate": "runtime.memclrNoHeapPointers runtime.mallocgc " + root + ".(*Client).GetMulti",
		"client":   root + ".(*Client).GetMulti",
		"link":     root + "/internal/link.(*conn).await",
		ofHarness:  "bytes.Equal " + root + "/bench/internal/workload.(*Set).Check",
		ofOthers:   "runtime.nanotime main.main",
	} {
		assert.Equal(t, want, partOf(strings.Fields(stack)), stack)
	}
}

func TestShares(t *testing.T) {
	sample := func(function string, value int64) *profile.Sample {
		f := &profile.Function{Name: function}
		return &profile.Sample{Value: []int64{1, value}, Location: []*profile.Location{{Line: []profile.Line{{Function: f}}}}}
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{sample("syscall.write", 3000), sample("hash/crc32.Update", 1000), sample("x.Check", 9000)},
	}
	shares, err := Of(p)
	require.NoError(t, err)
	assert.Equal(t, []Share{{ofHarness, 9 * time.Microsecond}, {"write", 3 * time.Microsecond}, {"hash", time.Microsecond}}, shares)
	var b strings.Builder
	require.NoError(t, Markdown(&b, "a call", shares, 2))
	assert.Contains(t, b.String(), "| write | 75.0 % | 1.50 |\n| hash | 25.0 % | 0.50 |\n")
	assert.Error(t, Markdown(&b, "a call", nil, 0))
	_, err = Of(&profile.Profile{})
	assert.Error(t, err)
}
