package link

import (
	"math"

	"github.com/vaquero-cache/memcache/binary"
)

// binaryCodec speaks the binary protocol. Every reply carries the opaque of its
// request, a counter of the connection. A batch is a run of quiet gets, whose
// misses have no reply, and a noop that ends it.
type binaryCodec struct {
	maxValue int
	next     uint32 // opaque of the next request; guarded by the connection's lock

	// The reader's.
	header binary.Header
	body   binary.Body
}

func (c *binaryCodec) append(dst []byte, k *call) (_ []byte, err error) {
	k.opaque = c.next
	out, get := dst, binary.GetRequest{Quiet: true}
	for i := range k.reqs {
		k.sayable = i
		if out, err = c.appendRequest(out, &k.reqs[i], k.opaque+uint32(i)); err != nil {
			return dst, err
		}
	}
	for i, key := range k.keys {
		get.Key, get.Opaque = key, k.opaque+uint32(i)
		if out, err = binary.AppendGet(out, &get); err != nil {
			return dst, err
		}
	}
	c.next += uint32(k.requests()) + 1
	k.many = k.keys != nil || len(k.reqs) > 1
	if k.keys != nil {
		out = binary.AppendNoop(out, k.opaque+uint32(len(k.keys)))
	}
	return out, nil
}

func (c *binaryCodec) appendRequest(dst []byte, r *Request, opaque uint32) ([]byte, error) {
	switch {
	case r.Detail, r.Op == Inspect, r.Create && r.Op.stores():
		return dst, ErrUnsupported
	case neverSame(r):
		return binary.AppendDelete(dst, &binary.DeleteRequest{Key: r.Key, Opaque: opaque, CAS: math.MaxUint64})
	case r.Op == CompareAndSwap:
		return binary.AppendStore(dst, &binary.StoreRequest{
			Key: r.Key, Value: r.Value, Opaque: opaque,
			ClientFlags: r.Flags, Expiration: unsigned(r.Expiration), CAS: r.CAS,
		})
	case r.Op.stores():
		return binary.AppendStore(dst, &binary.StoreRequest{
			Key: r.Key, Value: r.Value, Opaque: opaque, Mode: binaryMode(r.Op),
			ClientFlags: r.Flags, Expiration: unsigned(r.Expiration),
		})
	}
	switch r.Op {
	case Get:
		return binary.AppendGet(dst, &binary.GetRequest{Key: r.Key, Opaque: opaque})
	case GetAndTouch:
		return binary.AppendGetAndTouch(dst, &binary.GetAndTouchRequest{
			Key: r.Key, Opaque: opaque, Expiration: unsigned(r.Expiration),
		})
	case Touch:
		return binary.AppendTouch(dst, &binary.TouchRequest{
			Key: r.Key, Opaque: opaque, Expiration: unsigned(r.Expiration),
		})
	case Delete:
		return binary.AppendDelete(dst, &binary.DeleteRequest{Key: r.Key, Opaque: opaque})
	case Increment, Decrement:
		return binary.AppendArithmetic(dst, &binary.ArithmeticRequest{
			Key: r.Key, Opaque: opaque, Delta: r.Delta, Decrement: r.Op == Decrement,
			Create: r.Create, Initial: r.Initial, Expiration: unsigned(r.Expiration),
		})
	case Stats:
		return binary.AppendStat(dst, r.Key, opaque)
	case FlushAll:
		return binary.AppendFlush(dst, &binary.FlushRequest{Opaque: opaque}), nil
	default: // Version
		return binary.AppendVersion(dst, opaque), nil
	}
}

func binaryMode(op Op) binary.StoreMode {
	switch op {
	case Add:
		return binary.Add
	case Replace:
		return binary.Replace
	case Append:
		return binary.Append
	case Prepend:
		return binary.Prepend
	}
	return binary.Set
}

// neverSame reports whether r compares with the version 0, which no item has and
// which on the wire means not to compare. It becomes the deletion of another
// version that no item has: that deletes nothing and tells of a conflict or a
// miss, also with the option -C, under which every version is 0 and a set
// compares nothing.
func neverSame(r *Request) bool { return r.Op == CompareAndSwap && r.CAS == 0 }

func (c *binaryCodec) consume(k *call, b []byte) (used int, done bool, err error) {
	for !done {
		var n int
		n, done, err = c.consumeOne(k, b[used:])
		used += n
		if err != nil {
			return used, false, notReply(k, b[used:], err)
		}
		if n == 0 || k.body == inBody {
			break
		}
	}
	return used, done, nil
}

// consumeOne takes one reply, or the beginning of a large one; n is 0 when b
// holds too little.
func (c *binaryCodec) consumeOne(k *call, b []byte) (n int, done bool, err error) {
	if k.body == bodyRead {
		k.endBody()
		k.at++
		if k.keys == nil && k.at == len(k.reqs) {
			return 0, true, nil
		}
	}
	h := &c.header
	if n, err = binary.ParseHeader(b, h); err != nil || n == 0 {
		return 0, false, err
	}
	at := h.Opaque - k.opaque
	switch {
	case k.keys == nil && at != uint32(k.at), at < uint32(k.at), at > uint32(k.requests()):
		return 0, false, errMispaired
	case h.Opcode != c.opcode(k, at):
		return 0, false, errMispaired
	case h.ValueLen() > c.maxValue:
		return 0, false, binary.ErrBodyTooLarge
	}
	if h.Status == binary.StatusOK && k.reads() && len(b)-n < int(h.BodyLen) && h.ValueLen() >= directSize {
		m, ok, err := binary.ParsePrefix(b[n:], h, &c.body)
		if err != nil || !ok {
			return 0, false, err
		}
		k.skipTo(int(at))
		c.hit(k.slot())
		k.beginBody(h.ValueLen(), b[n+m:])
		return len(b), false, nil
	}
	m, ok, err := binary.ParseBody(b[n:], h, &c.body)
	if err != nil || !ok {
		return 0, false, err
	}
	k.skipTo(int(at))
	if k.keys != nil && int(at) == len(k.keys) {
		return n + m, true, nil // the noop
	}
	if h.Opcode == binary.OpStat && h.Status == binary.StatusOK {
		if !h.EndOfStats() {
			return n + m, false, k.addStat(c.body.Key, c.body.Value)
		}
		k.endStats()
		return n + m, k.at == len(k.reqs), nil
	}
	if err := c.result(k, k.slot()); err != nil {
		return n + m, false, err
	}
	k.at++
	return n + m, k.keys == nil && k.at == len(k.reqs), nil
}

// opcode returns that of request number at of k.
func (c *binaryCodec) opcode(k *call, at uint32) binary.Opcode {
	if k.keys != nil {
		if int(at) == len(k.keys) {
			return binary.OpNoop
		}
		return binary.OpGetQ
	}
	if neverSame(k.request()) {
		return binary.OpDelete
	}
	return binaryOpcodes[k.op()]
}

var binaryOpcodes = [OpEnd]binary.Opcode{
	Get: binary.OpGet, GetAndTouch: binary.OpGetAndTouch, Touch: binary.OpTouch,
	Set: binary.OpSet, Add: binary.OpAdd, Replace: binary.OpReplace,
	Append: binary.OpAppend, Prepend: binary.OpPrepend, CompareAndSwap: binary.OpSet,
	Delete: binary.OpDelete, Increment: binary.OpIncrement, Decrement: binary.OpDecrement,
	FlushAll: binary.OpFlush, Version: binary.OpVersion, Stats: binary.OpStat,
}

// hit fills in the reply of a get or gat that found an item, the value excepted.
func (c *binaryCodec) hit(reply *Reply) {
	reply.Status, reply.Flags, reply.CAS = OK, c.body.ClientFlags, c.header.CAS
}

// result turns a reply that is all there into one of k.
func (c *binaryCodec) result(k *call, reply *Reply) error {
	h, body, op := &c.header, &c.body, k.op()
	switch h.Status {
	case binary.StatusOK:
		reply.Status, reply.Number = OK, body.Number
		if k.reads() {
			c.hit(reply)
		}
		if (k.reads() || op == Version) && !k.gone.Load() {
			reply.Value = k.keep(body.Value)
		}
		return nil
	case binary.StatusNotFound:
		switch op {
		case Replace:
			reply.Status = NotStored
		case Stats: // what the text protocols call it
			reply.Status, reply.Err = Refused, &ServerError{Kind: "ERROR"}
		default:
			reply.Status = Miss
		}
		return nil
	case binary.StatusExists:
		if reply.Status = Exists; op == Add {
			reply.Status = NotStored
		}
		return nil
	case binary.StatusNotStored:
		reply.Status = NotStored
		return nil
	}
	refusal := &ServerError{Kind: "SERVER_ERROR", Message: string(body.Value)}
	switch h.Status {
	case binary.StatusInvalid, binary.StatusNonNumeric:
		refusal.Kind = "CLIENT_ERROR"
	case binary.StatusUnknownCommand:
		refusal.Kind = "ERROR"
	}
	if !h.InStep(op != FlushAll && op != Version) {
		return refusal
	}
	reply.Status, reply.Err = Refused, refusal
	return nil
}
