package link

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/memcachetest"
)

// This file tests that the memory a stream uses again is nobody else's.

// A stream ends early while a round of another server has failed; the reader of
// that connection may still deliver what comes for it. The next stream, in the
// same memory, must not see that.
func TestStreamThatEndedEarlyLeavesNoMemoryToOthers(t *testing.T) {
	release := make(chan struct{})
	good := onTCP(t, time.Minute, healthy)
	slow := onTCP(t, time.Minute, hold(release))
	other := onTCP(t, time.Minute, func(p *peer) {
		for a := p.next(); a != nil; a = p.next() {
			time.Sleep(100 * time.Microsecond) // the late replies come in between
			p.say("EN " + a.opaque() + "\r\n")
		}
	})
	var s Stream
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	first := []Share{{Link: good.Link, Keys: numbered(50)}, {Link: slow.Link, Keys: numbered(50)}}
	s.Run(ctx, first, func(share, from int, replies []Reply) bool { return false })
	require.Zero(t, s.Taken(1))
	assert.True(t, first[0].Clean())
	assert.False(t, first[1].Clean(), "its keys are still looked at")

	reader := later(func() error { _, err := slow.get("reader"); return err }) // for the abandoned call too
	close(release)
	second := []Share{{Link: good.Link, Keys: numbered(50)}, {Link: other.Link, Keys: numbered(50)}}
	s.Run(context.Background(), second, func(share, from int, replies []Reply) bool {
		for i, r := range replies {
			if share == 1 {
				assert.Equal(t, Miss, r.Status, "the reply to key "+strconv.Itoa(from+i)+" of another stream")
			}
		}
		return true
	})
	require.NoError(t, second[1].Err)
	require.NoError(t, <-reader)
}

// A window is asked as a batch is, and each key has its value, in whatever order a
// proxy gives them.
func TestStreamIsAskedLikeABatch(t *testing.T) {
	with := func(odd string) []string {
		keys := numbered(3 * windowRequests)
		keys[windowRequests+7] = odd
		return keys
	}
	rows := map[string]struct {
		keys     []string
		gets, mg int // lines
	}{
		"large windows":           {numbered(2*windowRequests + fewKeys + 1), 3, 0},
		"a small one":             {numbered(windowRequests + fewKeys), 1, fewKeys},
		"a key like an option":    {with(option), 2, windowRequests},
		"a key that is not text":  {with("a key"), 2, windowRequests},
		"one that stands for all": {[]string{"key"}, 0, 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			lines := map[string]int{}
			s := onTCP(t, time.Minute, func(p *peer) {
				for a := p.next(); a != nil; a = p.next() {
					lines[a.words[0]]++
					if a.words[0] == "gets" {
						slices.Reverse(a.words[1:])
					}
					p.say(a.answer())
				}
			})
			s.cfg.Protocol = Auto
			stream := Stream{size: 1} // so that a window is one of requests
			shares := []Share{{Link: s.Link, Keys: row.keys}}
			taken := 0
			stream.Run(context.Background(), shares, func(_, from int, replies []Reply) bool {
				require.Equal(t, taken, from)
				for _, r := range replies {
					require.Equal(t, OK, r.Status)
					if key := row.keys[taken]; IsText(key) {
						require.Equal(t, valueOf(key), string(r.Value))
					}
					taken++
				}
				return true
			})
			require.NoError(t, shares[0].Err)
			assert.Equal(t, len(row.keys), taken)
			assert.Equal(t, [2]int{row.gets, row.mg}, [2]int{lines["gets"], lines["mg"]})
		})
	}
}

// A stub is no hit, in no window, and an empty value is one.
func TestStreamTellsStubFromEmptyValue(t *testing.T) {
	server := memcachetest.NewServer(t)
	l, _ := autoLink(t, server.Addr())
	nc, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer nc.Close()
	keys := numbered(2*windowRequests + fewKeys + 1)
	want := make([]Status, len(keys))
	for i := range keys {
		switch want[i] = Miss; i % 500 {
		case 1:
			fmt.Fprintf(nc, "mg %s v N30\r\n", keys[i])
			_, err = nc.Read(make([]byte, 100))
			require.NoError(t, err)
		case 2:
			_, err = l.Do(context.Background(), &Request{Op: Set, Key: keys[i]})
			require.NoError(t, err)
			want[i] = OK
		}
	}
	stream := Stream{size: 1}
	var got []Status
	stream.Run(context.Background(), []Share{{Link: l, Keys: keys}}, func(_, _ int, replies []Reply) bool {
		for _, r := range replies {
			got = append(got, r.Status)
		}
		return true
	})
	assert.Equal(t, want, got)
}
