package binary_test

import (
	"fmt"
	"log"

	"github.com/vaquero-cache/memcache/binary"
)

// A batch of quiet requests is ended by a noop, whose reply tells that those
// still without a reply had nothing to say.
func Example() {
	var request []byte
	for opaque, key := range []string{"a", "b"} {
		var err error
		request, err = binary.AppendGet(request, &binary.GetRequest{Key: key, Opaque: uint32(opaque), Quiet: true})
		if err != nil {
			log.Fatal(err)
		}
	}
	request = binary.AppendNoop(request, 2)
	fmt.Println(len(request), "bytes")

	in := []byte("\x81\x09\x00\x00\x04\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x11\x00\x00\x00\x00two" +
		"\x81\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00")
	var header binary.Header
	var body binary.Body
	for header.Opcode != binary.OpNoop {
		n, err := binary.ParseHeader(in, &header)
		if err != nil || n == 0 {
			log.Fatal("reply is cut off or malformed")
		}
		m, ok, err := binary.ParseBody(in[n:], &header, &body)
		if err != nil || !ok {
			log.Fatal("reply is cut off or malformed")
		}
		in = in[n+m:]
		if header.Status == binary.StatusOK && header.Opcode == binary.OpGetQ {
			fmt.Printf("request %d: %s, version %d\n", header.Opaque, body.Value, header.CAS)
		}
	}
	// Output:
	// 74 bytes
	// request 1: two, version 17
}
