package meta_test

import (
	"fmt"
	"log"

	"github.com/vaquero-cache/memcache/meta"
)

// A request is appended to a slice of the caller's.
func ExampleAppendGet() {
	request, err := meta.AppendGet(nil, &meta.GetRequest{
		Common: meta.Common{Key: "greeting", Opaque: []byte("7")},
		Want:   meta.FieldValue | meta.FieldCAS,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", request)
	// Output: "mg greeting v c O7\r\n"
}

// A key that would break the line is refused.
func ExampleAppendDelete() {
	_, err := meta.AppendDelete(nil, &meta.DeleteRequest{Common: meta.Common{Key: "a\r\nflush_all"}})
	fmt.Println(err == meta.ErrKeyByte)

	request, err := meta.AppendDelete(nil, &meta.DeleteRequest{Common: meta.Common{Key: "a\r\nflush_all", Base64: true}})
	fmt.Printf("%q %v\n", request, err)
	// Output:
	// true
	// "md YQ0KZmx1c2hfYWxs b\r\n" <nil>
}

// Replies are read one after the other from whatever bytes are there.
func ExampleParse() {
	in := []byte("VA 5 c12 O7\r\nhello\r\nEN O8\r\nHD O")
	var reply meta.Reply
	for {
		n, err := meta.Parse(in, &reply)
		if err != nil {
			log.Fatal(err) // and close the connection
		}
		if n == 0 {
			fmt.Printf("%d bytes wait for more\n", len(in))
			return
		}
		in = in[n:]
		fmt.Printf("%v of request %s\n", reply.Code, reply.Opaque())
		if reply.Code == meta.CodeValue {
			value, n, err := meta.ParseBody(in, reply.Size)
			if err != nil || n == 0 {
				log.Fatal("value is cut off or malformed")
			}
			in = in[n:]
			fmt.Printf("%s, version %d\n", value, reply.CAS)
		}
	}
	// Output:
	// VA of request 7
	// hello, version 12
	// EN of request 8
	// 4 bytes wait for more
}
