// Benchmarks, and the parser that splits a line into fields first, which shows
// what reading in place is worth. It is the naive parser of the differential
// tests too.

package meta

import "testing"

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"full", "VA 100 f0 O12 s100 kkey:123\r\n"},
		{"opaque", "VA 100 f0 O12\r\n"},
		{"key", "VA 100 f0 kkey:123\r\n"},
		{"value", "VA 100\r\n"},
		{"cas", "VA 100 f0 c1234567 O12\r\n"},
		{"ttl", "VA 100 f0 t-1 O12\r\n"},
		{"done", "HD O12\r\n"},
		{"miss", "EN O12\r\n"},
		{"base64", "HD kZm9v b\r\n"},
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
