package memcachetest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/internal/transcript"
)

// FuzzConnection sends anything: the server must neither fall over nor keep a
// connection whose client has gone, and must stay in order with itself.
func FuzzConnection(f *testing.F) {
	cases, err := transcript.Load("testdata/transcripts")
	require.NoError(f, err)
	for _, c := range cases {
		f.Add(c.Sent(), uint8(0))
	}
	configs := []Config{{}, {Version: "1.6.18"}, {Users: map[string]string{"alice": "secret"}}, {SASLUsers: map[string]string{"alice": "secret"}}}
	f.Fuzz(func(t *testing.T, script []byte, kind uint8) {
		cfg := configs[int(kind)%len(configs)]
		cfg.Network = NetworkPipe
		s := NewServer(t, cfg)
		near, far := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.ServeConn(far)
		}()
		require.NoError(t, near.SetDeadline(time.Now().Add(10*time.Second)))
		read := make(chan struct{})
		go func() {
			defer close(read)
			io.Copy(io.Discard, near)
		}()
		near.Write(script)
		near.Close()
		<-served
		<-read

		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		bytes, listed := int64(0), 0
		for it := s.store.oldest; it != nil; it = it.newer {
			require.Same(t, it, s.store.items[it.key])
			bytes += int64(s.store.size(it))
			listed++
		}
		require.Len(t, s.store.items, listed)
		require.Equal(t, bytes, s.store.bytes)
	})
}
