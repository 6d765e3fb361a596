package transcript

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const example = `case group/name
note whatever
server auth (and more)
versions 1.6.18 1.6.45
# a comment
> "get " fill(0x61,3)
# between two lines of one write
> "\r\n"
<@1.6.18 "ERROR\r\n"
<@1.6.45 "VALUE aaa 0 1 " cas(c1) " t" num(-1,5) "\r\nx\r\n" rest() "END\r\n"
sleep 10
> "cas a 0 0 1 " cas(c1) "\r\nx\r\n"
!@1.6.18 not-run the connection was gone
< none
> "quit\r\n"
< "bye"
< closed
end
`

func parseOne(t *testing.T, text string) *Case {
	t.Helper()
	cases, err := Parse(strings.NewReader(text), "file.txt")
	require.NoError(t, err)
	require.Len(t, cases, 1)
	return cases[0]
}

func TestParse(t *testing.T) {
	c := parseOne(t, example)
	assert.Equal(t, "group/name", c.Name)
	assert.Equal(t, "auth", c.Server)
	assert.True(t, c.RecordedOn("1.6.45"))
	assert.False(t, c.RecordedOn("proxy"))
	require.Len(t, c.steps, 7)
	assert.Len(t, c.steps[0].send, 3, "two lines, one write")
	assert.Len(t, c.steps[1].expect, 2)
	assert.Equal(t, 10*time.Millisecond, c.steps[2].pause)
	assert.Equal(t, []string{"1.6.18"}, c.steps[3].skipped)
	assert.True(t, c.steps[6].expect[1].closed)
}

func TestParseErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no end":            "case a\n",
		"case in a case":    "case a\ncase b\n",
		"outside":           "> \"x\"\n",
		"unknown line":      "case a\nwhat\nend\n",
		"open string":       "case a\n> \"x\nend\n",
		"open part":         "case a\n> fill(1,2\nend\n",
		"unknown part":      "case a\n> zap(1)\nend\n",
		"no part":           "case a\n> zap)\nend\n",
		"bad byte":          "case a\n> fill(0x100,2)\nend\n",
		"bad count":         "case a\n> fill(0x10,x)\nend\n",
		"bad range":         "case a\n< num(x,2)\nend\n",
		"bad end of range":  "case a\n< num(1,x)\nend\n",
		"bad pause":         "case a\nsleep long\nend\n",
		"not-run of nought": "case a\n!@1 not-run\nend\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(text), "file.txt")
			require.Error(t, err)
		})
	}
}

// answers serves each line that comes with the next reply; the last one closes.
func answers(nc net.Conn, replies []string) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	for _, reply := range replies {
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
		io.WriteString(nc, reply)
	}
	r.ReadString('\n')
}

func TestReplayFindsWhatDiffers(t *testing.T) {
	ask := func(lines string) string { return "case a\nversions v\n" + lines + "end\n" }
	const binaryHit = `\x81\x10\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00`
	for name, row := range map[string]struct {
		text    string
		replies []string
		wrong   string // part of the error; empty when all is right
	}{
		"right":             {ask("> \"x\\n\"\n< \"yes\\n\"\n"), []string{"yes\n"}, ""},
		"other bytes":       {ask("> \"x\\n\"\n< \"yes\\n\"\n"), []string{"no\n"}, "differs"},
		"too few":           {ask("> \"x\\n\"\n< \"yes\\n\"\n"), []string{"ye"}, "timeout"},
		"too many":          {ask("> \"x\\n\"\n< \"yes\\n\"\n> \"y\\n\"\n< none\n"), []string{"yes\nno\n", ""}, "differs"},
		"silence":           {ask("> \"x\\n\"\n< none\n"), []string{""}, ""},
		"no silence":        {ask("> \"x\\n\"\n< none\n"), []string{"x"}, "nothing was to come"},
		"close":             {ask("> \"x\\n\"\n< \"a\"\n< closed\n> \"\\n\"\n"), []string{"a"}, "timeout"},
		"same cas":          {ask("> \"x\\n\"\n< cas(c1) \" \" cas(c1) \"\\n\"\n"), []string{"5 5\n"}, ""},
		"cas differs":       {ask("> \"x\\n\"\n< cas(c1) \" \" cas(c1) \"\\n\"\n"), []string{"5 6\n"}, "differs"},
		"two names, one":    {ask("> \"x\\n\"\n< cas(c1) \" \" cas(c2) \"\\n\"\n"), []string{"5 5\n"}, "differs"},
		"cas is no number":  {ask("> \"x\\n\"\n< cas(c1) \"\\n\"\n"), []string{"five\n"}, "differs"},
		"number in range":   {ask("> \"x\\n\"\n< num(-3,3) \"\\n\"\n"), []string{"-3\n"}, ""},
		"number outside":    {ask("> \"x\\n\"\n< num(-3,3) \"\\n\"\n"), []string{"4\n"}, "differs"},
		"rest":              {ask("> \"x\\n\"\n< \"V \" rest() \"\\n\"\n"), []string{"V 1.2\n"}, ""},
		"stats":             {ask("> \"x\\n\"\n< stats() \"END\\r\\n\"\n"), []string{"STAT a b\r\nSTAT c d\r\nEND\r\n"}, ""},
		"no stats":          {ask("> \"x\\n\"\n< stats() \"END\\n\"\n"), []string{"END\r\n"}, "differs"},
		"binary stats":      {ask("> \"x\\n\"\n< binstats() \"\\x81\" fill(0,23)\n"), []string{unquote(binaryHit) + "ab" + "\x81" + string(make([]byte, 23))}, "differs"},
		"body":              {ask("> \"x\\n\"\n< \"" + binaryHit + "\" bytes()\n"), []string{unquote(binaryHit) + "ab"}, ""},
		"other version":     {ask("> \"x\\n\"\n<@w \"no\\n\"\n<@v \"yes\\n\"\n"), []string{"yes\n"}, ""},
		"nothing to expect": {ask("> \"x\\n\"\n<@w \"no\\n\"\n"), []string{""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				go answers(far, row.replies)
				err := parseOne(t, row.text).Replay(Target{
					Dial:     func() (net.Conn, error) { return near, nil },
					Versions: []string{"v"},
				})
				if row.wrong == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, row.wrong)
			})
		})
	}
}

func unquote(s string) string {
	parts, err := parseParts(`"` + s + `"`)
	if err != nil {
		panic(err)
	}
	return string(parts[0].bytes)
}

// TestReplayTakesTheLongerAnswer: where two versions are right and one's answer
// begins like the other's, what follows belongs to this step.
func TestReplayTakesTheLongerAnswer(t *testing.T) {
	text := "case a\nversions v w\n> \"x\\n\"\n<@v \"yes\"\n<@w \"yes yes\"\n> \"y\\n\"\n< \"z\"\nend\n"
	for name, reply := range map[string]string{"shorter": "yes", "longer": "yes yes"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				go answers(far, []string{reply, "z"})
				require.NoError(t, parseOne(t, text).Replay(Target{
					Dial:     func() (net.Conn, error) { return near, nil },
					Versions: []string{"v", "w"},
				}))
			})
		})
	}
}

func TestLoad(t *testing.T) {
	_, err := Load(t.TempDir())
	require.Error(t, err, "no files")
}
