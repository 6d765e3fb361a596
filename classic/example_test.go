package classic_test

import (
	"fmt"
	"log"

	"github.com/vaquero-cache/memcache/classic"
)

// One line asks for many keys; the reply has a VALUE for each that was found.
func Example() {
	request, err := classic.AppendGets(nil, "a", "b", "c")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", request)

	in := []byte("VALUE a 0 3 17\r\none\r\nVALUE c 0 5 18\r\nthree\r\nEND\r\n")
	var reply classic.Reply
	for reply.Code != classic.CodeEnd {
		n, err := classic.Parse(in, &reply)
		if err != nil || n == 0 {
			log.Fatal("reply is cut off or malformed")
		}
		in = in[n:]
		if reply.Code == classic.CodeValue {
			value, n, err := classic.ParseBody(in, reply.Size)
			if err != nil || n == 0 {
				log.Fatal("value is cut off or malformed")
			}
			in = in[n:]
			fmt.Printf("%s = %s, version %d\n", reply.Key(), value, reply.CAS)
		}
	}
	// Output:
	// "gets a b c\r\n"
	// a = one, version 17
	// c = three, version 18
}
