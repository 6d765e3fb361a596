package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	for _, c := range []struct{ name, events, want string }{
		{
			"a skip is told with its reason, a pass is not",
			`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: no server\n        here\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:9: chatty\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.01s\n"}
{"Action":"pass","Package":"p"}`,
			"skipped: TestA: no server here\nok  \tp\t0.01s\n",
		},
		{
			"a skip without words",
			`{"Action":"skip","Package":"p","Test":"TestA/sub"}`,
			"skipped: TestA/sub: no reason given\n",
		},
		{
			"a failure keeps all it printed",
			`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: got 1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.01s\n"}
{"Action":"fail","Package":"p"}`,
			"    a_test.go:7: got 1\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.01s\n",
		},
		{
			"a package that does not build",
			`{"Action":"build-output","ImportPath":"p","Output":"p.go:1: undefined: x\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p"}`,
			"p.go:1: undefined: x\nFAIL\tp [build failed]\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			require.NoError(t, report(strings.NewReader(c.events), &got))
			assert.Equal(t, c.want, got.String())
		})
	}
}

func TestReportRefusesBrokenEvents(t *testing.T) {
	assert.Error(t, report(strings.NewReader(`{"Action":`), &strings.Builder{}))
}
