// Benchmarks: what one header, one body and one request cost.

package binary

import "testing"

func BenchmarkParseHeader(b *testing.B) {
	packet := reply(OpGet, 0, 7, 9, "\x00\x00\x00\x01", "", "value")
	var h Header
	b.ReportAllocs()
	b.SetBytes(HeaderLen)
	for b.Loop() {
		ParseHeader(packet, &h)
	}
	if h.Opaque != 7 {
		b.Fatal(h)
	}
}

func BenchmarkParseBody(b *testing.B) {
	packet := reply(OpGet, 0, 7, 9, "\x00\x00\x00\x01", "", "value")
	var h Header
	var body Body
	ParseHeader(packet, &h)
	b.ReportAllocs()
	for b.Loop() {
		ParseBody(packet[HeaderLen:], &h, &body)
	}
	if string(body.Value) != "value" {
		b.Fatal(body)
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 4096)
	value := make([]byte, 100)
	b.Run("op=get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendGet(buf, &GetRequest{Key: "key:123", Opaque: 7})
		}
	})
	b.Run("op=set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendStore(buf, &StoreRequest{Key: "key:123", Value: value, ClientFlags: 7, Expiration: 60})
		}
	})
}
