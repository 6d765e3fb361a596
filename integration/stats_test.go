package integration

// The statistics by prefix, which say what a command counts as, and the names of
// statistics that the binary protocol knows.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/vaquero-cache/memcache/internal/realserver"
	"github.com/vaquero-cache/memcache/memcachetest"
)

func TestStatisticsByPrefix(t *testing.T) {
	text := []byte("stats detail on\r\n" +
		"ms p:a 1\r\n1\r\nmg p:a v\r\nmg p:b v N0\r\nma p:a\r\nmd p:a\r\nincr p:b 1\r\ntouch p:b 0\r\n" +
		"get p:b p:c\r\ngat 0 p:b\r\nset p:d 0 0 1\r\n1\r\nadd p:d 0 0 1\r\n1\r\ndelete p:c\r\n" +
		"set p:e 0 0 2000000\r\n" + strings.Repeat("e", 2000000) + "\r\n" +
		"stats detail dump\r\nstats detail off\r\nstats detail x\r\nquit\r\n")
	var packets []byte
	for _, p := range []packet{
		{op: 0x10, key: "reset it"}, {op: 0x10, key: "detail on"},
		{op: 0x01, extras: make([]byte, 8), key: "p:f", value: "1"}, {op: 0x00, key: "p:f"}, {op: 0x04, key: "p:f"},
		{op: 0x10, key: "detail dump"}, {op: 0x10, key: "detail off"}, {op: 0x10, key: "detail"}, {op: 0x10, key: "detail x"},
		{op: 0x10, key: "conns"}, {op: 0x10, key: "extstore"}, {op: 0x10, key: "proxy"}, {op: 0x10, key: "items x"}, {op: 0x07},
	} {
		packets = append(packets, p.wire("", 0)...)
	}
	for _, version := range recordedVersions {
		t.Run(version, func(t *testing.T) {
			real := realserver.Start(t, realserver.Config{Version: version, Args: []string{"-C"}})
			embedded := memcachetest.NewServer(t, memcachetest.Config{Version: version, DisableCAS: true})
			for _, wire := range [][]byte{text, packets} {
				want := sendAll(dialServer(t, real), wire)
				assert.Contains(t, string(want), "PREFIX p get ")
				assert.Equal(t, string(want), string(sendAll(dialServer(t, embedded), wire)))
			}
		})
	}
}
