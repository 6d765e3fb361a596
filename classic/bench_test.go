// Benchmarks: what one reply line and one request cost.

package classic

import "testing"

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"value", "VALUE key:123 0 100\r\n"},
		{"value-cas", "VALUE key:123 0 100 1234567\r\n"},
		{"end", "END\r\n"},
		{"stored", "STORED\r\n"},
		{"number", "1234567\r\n"},
		{"error", "SERVER_ERROR object too large for cache\r\n"},
	} {
		b.Run("line="+c.name, func(b *testing.B) {
			line := []byte(c.line)
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			var r Reply
			for b.Loop() {
				Parse(line, &r)
			}
			if n, err := Parse(line, &r); n != len(line) || err != nil {
				b.Fatal(n, err)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 8192)
	value := make([]byte, 100)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = "key:123"
	}
	b.Run("op=gets/keys=1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendGets(buf, "key:123")
		}
	})
	b.Run("op=gets/keys=100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendGets(buf, keys...)
		}
	})
	b.Run("op=set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendStore(buf, &StoreRequest{Key: "key:123", Value: value, ClientFlags: 7, Expiration: 60})
		}
	})
}
