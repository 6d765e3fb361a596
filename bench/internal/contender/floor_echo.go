package contender

// The floor below the floors: the same connections to a process that only sends
// back what it gets.

import (
	"github.com/vaquero-cache/memcache/bench/internal/child"
	"github.com/vaquero-cache/memcache/bench/internal/echo"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// openEcho starts a server for each address of t. Its callers send what a reply
// to a GET would be.
func openEcho(t Target, set *workload.Set) (*Opened, error) {
	if t.Dial != nil {
		return nil, errNoDial
	}
	var servers []*child.Process
	stop := func() {
		for _, s := range servers {
			s.Stop()
		}
	}
	var addrs []string
	for range t.Addrs {
		s, err := echo.Start()
		if err != nil {
			stop()
			return nil, err
		}
		servers, addrs = append(servers, s), append(addrs, s.Line)
	}
	t.Addrs = addrs
	o := &openFloor{floor: floorMeta, target: t, set: set}
	o.gets = make([]exchange, len(set.Keys))
	for i, key := range set.Keys {
		reply := floorMeta.hit(nil, key, set.Values[i])
		o.gets[i] = exchange{t.Place(key), reply, reply}
	}
	return &Opened{
		Getter: o.getter,
		Close:  func() { o.close(); stop() },
	}, nil
}
