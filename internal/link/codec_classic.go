package link

import (
	"slices"

	"github.com/vaquero-cache/memcache/classic"
)

// classicCodec speaks the classic text protocol. VALUE lines prove by their key
// that they belong to their call; the rest is paired by order.
type classicCodec struct {
	maxValue int
	reply    classic.Reply
	dropped  dropped
}

func (c *classicCodec) append(dst []byte, k *call) (out []byte, err error) {
	out = dst
	if k.keys != nil {
		out, err = classic.AppendGets(dst, k.keys...)
	}
	for i := 0; i < len(k.reqs) && err == nil; i++ {
		k.sayable = i
		out, err = c.appendRequest(out, &k.reqs[i])
	}
	if err == classic.ErrKeyByte {
		err = ErrUnsupported
	}
	if err == ErrUnsupported && k.keys != nil {
		k.sayable = slices.IndexFunc(k.keys, func(key string) bool { return !IsText(key) })
	}
	if err != nil {
		return dst, err
	}
	k.many, k.untilEnd = len(k.reqs) > 1, k.keys != nil
	return out, nil
}

func (c *classicCodec) appendRequest(dst []byte, r *Request) ([]byte, error) {
	if r.Create || r.Detail {
		return dst, ErrUnsupported
	}
	if r.Op.stores() {
		return classic.AppendStore(dst, &classic.StoreRequest{
			Key: r.Key, Value: r.Value, Mode: classicMode(r.Op),
			ClientFlags: r.Flags, Expiration: unsigned(r.Expiration), CAS: r.CAS,
		})
	}
	switch r.Op {
	case Get:
		return classic.AppendGets(dst, r.Key)
	case GetAndTouch:
		return classic.AppendGetsAndTouch(dst, unsigned(r.Expiration), r.Key)
	case Touch:
		return classic.AppendTouch(dst, &classic.TouchRequest{Key: r.Key, Expiration: unsigned(r.Expiration)})
	case Delete:
		if r.Key == option {
			return classic.AppendTouch(dst, &classic.TouchRequest{Key: r.Key, Expiration: longPast})
		}
		return classic.AppendDelete(dst, &classic.DeleteRequest{Key: r.Key})
	case Increment, Decrement:
		return classic.AppendArithmetic(dst, &classic.ArithmeticRequest{Key: r.Key, Delta: r.Delta, Decrement: r.Op == Decrement})
	case Inspect:
		return dst, ErrUnsupported
	case Stats:
		return classic.AppendStats(dst, r.Key)
	case FlushAll:
		return classic.AppendFlushAll(dst, &classic.FlushAllRequest{}), nil
	default: // Version
		return classic.AppendVersion(dst), nil
	}
}

// option is a key that servers take for an option where it ends a line, and then do
// not answer. No form of delete is answered by 1.6.45 and by twemproxy too, so that
// item is touched instead, to be over at once. memcached as a proxy leaves the key
// out of gets, wherever it stands.
const option = "noreply"

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
		n, done, err := c.consumeRequest(k, b[used:])
		used += n
		switch {
		case err != nil:
			return used, false, notReply(k, b[used:], err)
		case !done:
			return used, false, nil
		case k.keys != nil || k.at == len(k.reqs):
			return used, true, nil
		}
	}
}

// consumeRequest takes the lines that answer the next request of k, or its batch
// of keys, with their values. It takes n bytes, and done is false when b does not
// hold all of them.
func (c *classicCodec) consumeRequest(k *call, b []byte) (n int, done bool, err error) {
	if k.body == bodyRead {
		var ok bool
		if n, ok, err = k.endValue(b); !ok {
			return n, false, err
		}
		k.valued()
	}
	r, op := &c.reply, k.op()
	for {
		line, err := classic.Parse(b[n:], r)
		if err != nil || line == 0 {
			return n, false, err
		}
		if r.Code == classic.CodeError {
			return n + line, true, c.refuse(k)
		}
		c.dropped.answered()
		switch {
		case op == Stats:
			done, err := c.statistic(k)
			if n += line; done || err != nil {
				return n, done, err
			}
			continue
		case !op.reads():
			return n + line, true, c.answer(k)
		case r.Code == classic.CodeEnd:
			k.endRead()
			return n + line, true, nil
		case r.Code != classic.CodeValue || !r.HasCAS:
			return n, false, errMispaired
		}
		// A value that is not all there will be looked at again: nothing may
		// change before it is.
		at := k.find(r.Key())
		late := at < 0
		if late {
			at = k.findLate(r.Key())
		}
		switch {
		case at < 0:
			return n, false, errMispaired
		case r.Size > c.maxValue:
			return n, false, classic.ErrSizeTooLarge
		case r.Size < directSize && len(b)-n-line < r.Size+len(crlf):
			return n, false, nil
		}
		if late {
			k.late, k.lateOpen = append(k.late, lateReply{at: at}), true
			k.reordered.Store(true)
		} else {
			k.skipTo(at)
		}
		reply := k.target()
		reply.Status, reply.Flags, reply.CAS = OK, r.ClientFlags, r.CAS
		n += line
		size, ok, err := k.takeValue(reply, b[n:], r.Size)
		if n += size; !ok {
			return n, false, err
		}
		k.valued()
	}
}

// valued notes that the value of a retrieval is there. A batch of keys goes on to
// the next key; a request for one is over with its END.
func (k *call) valued() {
	switch {
	case k.lateOpen:
		k.lateOpen = false
	case k.keys != nil:
		k.at++
	default:
		k.hit = true
	}
}

// endRead ends a retrieval: what has no value is a miss.
func (k *call) endRead() {
	switch {
	case k.keys != nil:
		k.skipTo(len(k.keys))
	case k.hit:
		k.hit = false
		k.at++
	default:
		k.skipTo(k.at + 1)
	}
}

// find returns the place of key among those of k that have no reply, -1 if it
// is none of them.
func (k *call) find(key []byte) int {
	at := k.at
	if k.keys == nil {
		if k.hit || k.reqs[at].Key != string(key) {
			return -1
		}
		return at
	}
	for ; at < len(k.keys); at++ {
		if k.keys[at] == string(key) {
			return at
		}
	}
	return -1
}

// findLate returns the place of a key of a batch that was taken for absent
// because later ones had come, -1 if there is none.
func (k *call) findLate(key []byte) int {
	if k.keys == nil {
		return -1
	}
	for at := range k.at {
		if k.keys[at] == string(key) && k.replies[at].Status == Miss &&
			!slices.ContainsFunc(k.late, func(l lateReply) bool { return l.at == at }) {
			return at
		}
	}
	return -1
}

// answer takes the one line that answers k. Nothing in it proves that it is
// the answer to k and not to another request; the order does.
func (c *classicCodec) answer(k *call) error {
	r, op := &c.reply, k.op()
	status := OK
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
		if op != Touch && !(op == Delete && k.request().Key == option) {
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
		k.slot().Number = r.Number
	case classic.CodeVersion:
		if op != Version {
			return errMispaired
		}
		k.slot().Value = copyValue(r.Text())
	case classic.CodeNotStored:
		if !op.stores() || op == Set {
			return errMispaired
		}
		status = NotStored
	case classic.CodeExists:
		if op != CompareAndSwap {
			return errMispaired
		}
		status = Exists
	case classic.CodeNotFound:
		if op == FlushAll || op == Version || op.stores() && op != CompareAndSwap {
			return errMispaired
		}
		status = Miss
	default:
		return errMispaired
	}
	k.slot().Status = status
	k.at++
	return nil
}

// statistic takes a line of the reply to stats: one of many and their end, or
// the single line that answers the arguments that change something. done tells of
// the last one.
func (c *classicCodec) statistic(k *call) (done bool, err error) {
	switch r := &c.reply; r.Code {
	case classic.CodeStat, classic.CodePrefix:
		return false, k.addStat(r.Key(), r.Text())
	case classic.CodeEnd, classic.CodeReset, classic.CodeOK:
		k.endStats()
		return true, nil
	}
	return false, errMispaired
}

// refuse gives the request that is next an error line for its reply, a batch of
// keys all that have none. The *ServerError is returned when nothing behind it
// can be trusted, and errMispaired when it cannot be trusted itself.
func (c *classicCodec) refuse(k *call) error {
	refusal := &ServerError{Kind: c.reply.Class.String(), Message: string(c.reply.Text())}
	if err := c.dropped.refused(refusal, k.op().stores()); err != nil {
		return err
	}
	if !c.reply.InStep(k.op().stores()) {
		return refusal
	}
	k.hit = false
	k.refuse(refusal)
	for k.keys != nil && k.at < len(k.keys) {
		k.refuse(refusal)
	}
	return nil
}
