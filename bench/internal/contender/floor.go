package contender

// Floors: what the machine, the kernel and the servers leave to a client written
// in Go. Requests are prepared before the clock runs, replies are read by count
// and compared as a whole, each caller has a connection of its own to each server.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// floor is a way to write requests and what they are answered with.
type floor struct {
	// get appends the request for keys.
	get func(dst []byte, keys []string) []byte
	// hit appends the reply for one of them.
	hit func(dst []byte, key string, value []byte) []byte
	// miss is the reply for a key that is not there.
	miss string
	// end is behind the hits of a request.
	end string
	// set appends the request that stores value.
	set    func(dst []byte, key string, value []byte) []byte
	stored string
}

// floorClassic writes get and set.
var floorClassic = &floor{
	get: func(dst []byte, keys []string) []byte {
		dst = append(dst, "get"...)
		for _, key := range keys {
			dst = append(append(dst, ' '), key...)
		}
		return append(dst, "\r\n"...)
	},
	hit: func(dst []byte, key string, value []byte) []byte {
		return fmt.Appendf(dst, "VALUE %s 0 %d\r\n%s\r\n", key, len(value), value)
	},
	end: "END\r\n",
	set: func(dst []byte, key string, value []byte) []byte {
		return fmt.Appendf(dst, "set %s 0 0 %d\r\n%s\r\n", key, len(value), value)
	},
	stored: "STORED\r\n",
}

// floorMeta writes mg, one line for each key and answered in order, and ms.
var floorMeta = &floor{
	get: func(dst []byte, keys []string) []byte {
		for _, key := range keys {
			dst = fmt.Appendf(dst, "mg %s v\r\n", key)
		}
		return dst
	},
	hit: func(dst []byte, _ string, value []byte) []byte {
		return fmt.Appendf(dst, "VA %d\r\n%s\r\n", len(value), value)
	},
	miss: "EN\r\n",
	set: func(dst []byte, key string, value []byte) []byte {
		return fmt.Appendf(dst, "ms %s %d\r\n%s\r\n", key, len(value), value)
	},
	stored: "HD\r\n",
}

// exchange is a prepared request with the reply that it must get.
type exchange struct {
	server         int
	request, reply []byte
}

// wires is a caller's connections, one to each server.
type wires struct {
	conns []net.Conn
	bufs  [][]byte // what came last from each
}

func dialWires(t Target) (*wires, error) {
	w := &wires{bufs: make([][]byte, len(t.Addrs))}
	dial := t.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	for _, addr := range t.Addrs {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		c, err := dial(ctx, "tcp", addr)
		cancel()
		if err != nil {
			w.close()
			return nil, err
		}
		w.conns = append(w.conns, c)
	}
	return w, nil
}

func (w *wires) close() {
	for _, c := range w.conns {
		c.Close()
	}
}

// send and receive are the two halves of an exchange.
func (w *wires) send(e *exchange) error {
	_, err := w.conns[e.server].Write(e.request)
	return err
}

func (w *wires) receive(e *exchange) error {
	buf := w.bufs[e.server]
	if cap(buf) < len(e.reply) {
		buf = make([]byte, len(e.reply))
	}
	w.bufs[e.server] = buf[:len(e.reply)]
	_, err := io.ReadFull(w.conns[e.server], w.bufs[e.server])
	return err
}

func (w *wires) check(e *exchange) error {
	if got := w.bufs[e.server]; !bytes.Equal(got, e.reply) {
		return fmt.Errorf("reply %.60q…, want %.60q…", got, e.reply)
	}
	return nil
}

// guardTime is longer than a slice, and shorter than what counts as a hang.
const guardTime = run.MaxSlice + 5*time.Second

// guard sets the deadline of a slice once: a floor does not pay for deadlines.
func (w *wires) guard() {
	for _, c := range w.conns {
		c.SetDeadline(time.Now().Add(guardTime)) // a failure shows at the next read
	}
}

// open connects nothing yet: each caller does that when it is made.
func (f *floor) open(t Target, set *workload.Set) (*Opened, error) {
	o := &openFloor{floor: f, target: t, set: set}
	return &Opened{Getter: o.getter, Setter: o.setter, Mixer: o.mixer, Multi: o.multi, Storer: o.storer, Close: o.close}, nil
}

// openFloor is a floor at work, with what its callers share.
type openFloor struct {
	*floor
	target Target
	set    *workload.Set
	wires  []*wires

	gets    []exchange   // one for each key
	mixes   []exchange   // a get for each key, then a set for each
	batches [][]exchange // of each batch, one for each server that it asks
	stores  [][]exchange // likewise
}

func (o *openFloor) dial() (*wires, error) {
	w, err := dialWires(o.target)
	if err == nil {
		o.wires = append(o.wires, w)
	}
	return w, err
}

func (o *openFloor) close() {
	for _, w := range o.wires {
		w.close()
	}
}

// floorSingle makes one exchange at a time.
type floorSingle struct {
	*wires
	work []exchange
	pick func() int // in work

	last *exchange
}

func (f *floorSingle) Call() error {
	f.last = &f.work[f.pick()]
	if err := f.send(f.last); err != nil {
		return err
	}
	return f.receive(f.last)
}

func (f *floorSingle) Check() error { return f.check(f.last) }
func (f *floorSingle) Begin(int)    { f.guard() }
func (f *floorSingle) End() error   { return nil }

func (o *openFloor) getter(i int) (run.Caller, error) {
	if o.gets == nil {
		for k, key := range o.set.Keys {
			o.gets = append(o.gets, o.getOf(k, key))
		}
	}
	w, err := o.dial()
	pick := workload.NewPicker(i)
	return &floorSingle{wires: w, work: o.gets, pick: pick.Next}, err
}

// getOf is the exchange that gets key k of the set.
func (o *openFloor) getOf(k int, key string) exchange {
	return exchange{
		server:  o.target.Place(key),
		request: o.get(nil, []string{key}),
		reply:   append(o.hit(nil, key, o.set.Values[k]), o.end...),
	}
}

// floorSetter is a floorSingle whose value changes with the slice.
type floorSetter struct {
	floorSingle
	keys *workload.Set
}

func (f *floorSetter) Begin(slice int) {
	f.guard()
	value := f.keys.NewValue(slice)
	for _, e := range f.work {
		copy(e.request[len(e.request)-len("\r\n")-len(value):], value)
	}
}

func (o *openFloor) setter(i int) (run.Caller, error) {
	var work []exchange
	for _, key := range ownKeys(o.set, i, o.target.Callers) {
		work = append(work, exchange{
			server:  o.target.Place(key),
			request: o.floor.set(nil, key, o.set.NewValue(0)),
			reply:   []byte(o.stored),
		})
	}
	w, err := o.dial()
	next := -1
	pick := func() int { next = (next + 1) % len(work); return next }
	return &floorSetter{floorSingle{wires: w, work: work, pick: pick}, o.set}, err
}

// floorMulti makes the exchanges of a batch: it writes to every server before it
// reads from one.
type floorMulti struct {
	*wires
	batches [][]exchange
	next    int

	last []exchange
}

func (f *floorMulti) Call() error {
	f.last = f.batches[f.next%len(f.batches)]
	f.next++
	for i := range f.last {
		if err := f.send(&f.last[i]); err != nil {
			return err
		}
	}
	for i := range f.last {
		if err := f.receive(&f.last[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *floorMulti) Check() error {
	for i := range f.last {
		if err := f.check(&f.last[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *floorMulti) Begin(int)  { f.guard() }
func (f *floorMulti) End() error { return nil }

func (o *openFloor) multi(b Batches) (run.Caller, error) {
	if o.batches == nil {
		for _, batch := range b.Batches {
			o.batches = append(o.batches, o.prepare(batch))
		}
	}
	w, err := o.dial()
	return &floorMulti{wires: w, batches: o.batches, next: b.Next}, err
}

// prepare splits a batch by servers.
func (o *openFloor) prepare(b *workload.Batch) []exchange {
	servers := len(o.target.Addrs)
	shares, keys := make([]exchange, servers), make([][]string, servers)
	for i, key := range b.Keys {
		s := o.target.Place(key)
		keys[s] = append(keys[s], key)
		if place := b.Index[i]; place == workload.NoPlace {
			shares[s].reply = append(shares[s].reply, o.miss...)
		} else {
			shares[s].reply = o.hit(shares[s].reply, key, o.set.Values[place])
		}
	}
	var work []exchange
	for s, e := range shares {
		if len(keys[s]) > 0 {
			work = append(work, exchange{s, o.get(nil, keys[s]), append(e.reply, o.end...)})
		}
	}
	return work
}

// storer is a floorMulti that stores at Set.Puts, the same values each time.
func (o *openFloor) storer(b Batches) (run.Caller, error) {
	if o.stores == nil {
		for _, batch := range b.Batches {
			shares := make([]exchange, len(o.target.Addrs))
			for _, i := range batch.Index {
				key := o.set.Puts[i]
				e := &shares[o.target.Place(key)]
				e.request = o.floor.set(e.request, key, o.set.Values[i])
				e.reply = append(e.reply, o.stored...)
			}
			var work []exchange
			for s, e := range shares {
				if e.request != nil {
					work = append(work, exchange{s, e.request, e.reply})
				}
			}
			o.stores = append(o.stores, work)
		}
	}
	w, err := o.dial()
	return &floorMulti{wires: w, batches: o.stores, next: b.Next}, err
}
