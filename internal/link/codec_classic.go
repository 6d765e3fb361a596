package link

import (
	"github.com/vaquero-cache/memcache/classic"
)

// classicCodec speaks the classic text protocol. VALUE lines prove by their key
// that they belong to their call; the rest is paired by order.
type classicCodec struct {
	maxValue int
	reply    classic.Reply
}

func (c *classicCodec) append(dst []byte, k *call) ([]byte, error) {
	r := &k.req
	switch {
	case k.keys != nil:
		return classic.AppendGets(dst, k.keys...)
	case r.Op.stores():
		return classic.AppendStore(dst, &classic.StoreRequest{
			Key: r.Key, Value: r.Value, Mode: classicMode(r.Op),
			ClientFlags: r.Flags, Expiration: r.Expiration, CAS: r.CAS,
		})
	}
	switch r.Op {
	case Get:
		return classic.AppendGets(dst, r.Key)
	case GetAndTouch:
		return classic.AppendGetsAndTouch(dst, r.Expiration, r.Key)
	case Touch:
		return classic.AppendTouch(dst, &classic.TouchRequest{Key: r.Key, Expiration: r.Expiration})
	case Delete:
		return classic.AppendDelete(dst, &classic.DeleteRequest{Key: r.Key})
	case Increment, Decrement:
		return classic.AppendArithmetic(dst, &classic.ArithmeticRequest{Key: r.Key, Delta: r.Delta, Decrement: r.Op == Decrement})
	case FlushAll:
		return classic.AppendFlushAll(dst, &classic.FlushAllRequest{}), nil
	default: // Version
		return classic.AppendVersion(dst), nil
	}
}

func classicMode(op Op) classic.StoreMode {
	switch op {
	case Add:
		return classic.Add
	case Replace:
		return classic.Replace
	case Append:
		return classic.Append
	case Prepend:
		return classic.Prepend
	case CompareAndSwap:
		return classic.CompareAndSwap
	}
	return classic.Set
}

func (c *classicCodec) consume(k *call, b []byte) (used int, done bool, err error) {
	for {
		n, more, done, err := c.consumeLine(k, b[used:])
		used += n
		if err != nil {
			return used, false, notReply(k, b[used:], err)
		}
		if done || !more {
			return used, done, nil
		}
	}
}

// consumeLine takes one line, with its value if it has one. more reports
// whether it is worth going on with the bytes behind it.
func (c *classicCodec) consumeLine(k *call, b []byte) (n int, more, done bool, err error) {
	if k.body == bodyRead {
		n, ok, err := k.endValue(b)
		if ok {
			k.got.Add(1)
		}
		return n, ok, false, err
	}
	r := &c.reply
	n, err = classic.Parse(b, r)
	if err != nil || n == 0 {
		return 0, false, false, err
	}
	switch {
	case r.Code == classic.CodeError:
		return n, false, true, c.refuse(k)
	case !k.reads():
		return n, false, true, c.answer(k)
	case r.Code == classic.CodeEnd:
		k.skipTo(k.requests())
		return n, false, true, nil
	case r.Code != classic.CodeValue || !r.HasCAS:
		return 0, false, false, errMispaired
	}
	// A value that is not all there will be looked at again: nothing may
	// change before it is.
	at := k.find(r.Key())
	switch {
	case at < 0:
		return 0, false, false, errMispaired
	case r.Size > c.maxValue:
		return 0, false, false, classic.ErrSizeTooLarge
	case r.Size < directSize && len(b)-n < r.Size+len(crlf):
		return 0, false, false, nil
	}
	k.skipTo(at)
	m, ok, err := k.takeValue(b[n:], r.Size, Reply{Status: OK, Flags: r.ClientFlags, CAS: r.CAS})
	if ok {
		k.got.Add(1)
	}
	return n + m, ok, false, err
}

// find returns the place of key among those of k that have no reply, -1 if it
// is none of them.
func (k *call) find(key []byte) int {
	if k.keys == nil {
		if k.got.Load() == 0 && string(key) == k.req.Key {
			return 0
		}
		return -1
	}
	for i := int(k.got.Load()); i < len(k.keys); i++ {
		if k.keys[i] == string(key) {
			return i
		}
	}
	return -1
}

// answer takes the one line that answers k. Nothing in it proves that it is
// the answer to k and not to another request; the order does.
func (c *classicCodec) answer(k *call) error {
	r, op := &c.reply, k.req.Op
	reply := Reply{Status: OK}
	switch r.Code {
	case classic.CodeStored:
		if !op.stores() {
			return errMispaired
		}
	case classic.CodeDeleted:
		if op != Delete {
			return errMispaired
		}
	case classic.CodeTouched:
		if op != Touch {
			return errMispaired
		}
	case classic.CodeOK:
		if op != FlushAll {
			return errMispaired
		}
	case classic.CodeNumber:
		if op != Increment && op != Decrement {
			return errMispaired
		}
		reply.Number = r.Number
	case classic.CodeVersion:
		if op != Version {
			return errMispaired
		}
		reply.Value = copyValue(r.Text())
	case classic.CodeNotStored:
		if !op.stores() || op == Set {
			return errMispaired
		}
		reply.Status = NotStored
	case classic.CodeExists:
		if op != CompareAndSwap {
			return errMispaired
		}
		reply.Status = Exists
	case classic.CodeNotFound:
		if op == FlushAll || op == Version || op.stores() && op != CompareAndSwap {
			return errMispaired
		}
		reply.Status = Miss
	default:
		return errMispaired
	}
	*k.slot() = reply
	k.got.Add(1)
	return nil
}

// refuse ends k with an error line. It is the error of every key that has no
// reply; the *ServerError is returned when nothing behind it can be trusted.
func (c *classicCodec) refuse(k *call) error {
	refusal := &ServerError{Kind: c.reply.Class.String(), Message: string(c.reply.Text())}
	if !c.reply.InStep(k.req.Op.stores()) {
		return refusal
	}
	for range k.requests() - int(k.got.Load()) {
		*k.slot() = Reply{Status: Refused, Err: refusal}
		k.got.Add(1)
	}
	return nil
}
