package link

import (
	"strconv"

	"github.com/vaquero-cache/memcache/meta"
)

// metaCodec speaks the meta protocol, and classic for the three commands that
// meta lacks or that differ in meaning: version, flush_all, and touch (a meta
// read would take the right to recompute a stale item).
//
// Each meta request carries an opaque, a counter of the connection in base 36.
// Replies come in order, so the expected one is known and comparing bytes
// proves that a reply belongs to its call.
type metaCodec struct {
	maxValue int
	next     uint32 // opaque of the next request; guarded by the connection's lock
	reply    meta.Reply
	get      meta.GetRequest
	classic  classicLines
}

// opaqueLimit keeps an opaque at four digits. Far fewer requests are ever in
// flight, so a value is not in use when it comes round again.
const opaqueLimit = 36 * 36 * 36 * 36

func appendOpaque(dst []byte, n uint32) []byte {
	return strconv.AppendUint(dst, uint64(n%opaqueLimit), 36)
}

const getFields = meta.FieldValue | meta.FieldClientFlags | meta.FieldCAS

func (m *metaCodec) append(dst []byte, k *call) ([]byte, error) {
	k.opaque = m.next
	out, err := m.appendCall(dst, k)
	if err != nil {
		return dst, err
	}
	m.next = (m.next + uint32(k.requests())) % opaqueLimit
	return out, nil
}

func (m *metaCodec) appendCall(dst []byte, k *call) ([]byte, error) {
	var digits [8]byte
	if k.keys != nil {
		return m.appendBatch(dst, k)
	}
	r := &k.req
	common := meta.Common{Key: r.Key, Opaque: appendOpaque(digits[:0], k.opaque)}
	switch r.Op {
	case Get:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Want: getFields})
	case GetAndTouch:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Want: getFields, Args: meta.ArgTTL, TTL: r.Expiration})
	case Set, Add, Replace, Append, Prepend, CompareAndSwap:
		set := meta.SetRequest{Common: common, Value: r.Value, Mode: metaMode(r.Op)}
		if r.Op != Append && r.Op != Prepend { // these keep what the item has
			set.ClientFlags, set.TTL = r.Flags, r.Expiration
		}
		if r.Op == CompareAndSwap {
			set.Args = meta.ArgCAS
			set.CAS = r.CAS
		}
		return meta.AppendSet(dst, &set)
	case Delete:
		return meta.AppendDelete(dst, &meta.DeleteRequest{Common: common})
	case Increment, Decrement:
		return meta.AppendArithmetic(dst, &meta.ArithmeticRequest{
			Common: common, Want: meta.FieldValue, Args: meta.ArgDelta,
			Decrement: r.Op == Decrement, Delta: r.Delta,
		})
	}
	return appendClassic(dst, r)
}

func metaMode(op Op) meta.SetMode {
	switch op {
	case Add:
		return meta.Add
	case Replace:
		return meta.Replace
	case Append:
		return meta.Append
	case Prepend:
		return meta.Prepend
	}
	return meta.Set // CompareAndSwap: the condition is the CAS
}

func (m *metaCodec) appendBatch(dst []byte, k *call) ([]byte, error) {
	var digits [8]byte
	out := dst
	m.get.Want = getFields
	for i, key := range k.keys {
		var err error
		m.get.Key = key
		m.get.Opaque = appendOpaque(digits[:0], k.opaque+uint32(i))
		if out, err = meta.AppendGet(out, &m.get); err != nil {
			return dst, err
		}
	}
	return out, nil
}

func (m *metaCodec) consume(k *call, b []byte) (used int, done bool, err error) {
	if k.keys == nil && isClassic(k.req.Op) {
		return m.classic.consume(k, b)
	}
	got, want := int(k.got.Load()), k.requests()
	for got < want {
		n, err := m.consumeOne(k, b[used:])
		used += n
		if err != nil {
			return used, false, err
		}
		if n == 0 || k.body == inBody {
			break
		}
		got++
		k.got.Store(int32(got))
	}
	return used, got == want, nil
}

// consumeOne takes one reply, or the beginning of a large one (k.body is then
// inBody). It returns 0 when b holds too little.
func (m *metaCodec) consumeOne(k *call, b []byte) (int, error) {
	if k.body == bodyRead {
		_, n, err := meta.ParseBody(b, 0) // the CRLF behind the value
		if err != nil {
			return 0, protocolError("mg", b, err)
		}
		if n > 0 {
			k.pending.Value = k.value
			*k.slot() = k.pending
			k.body, k.value = noBody, nil
		}
		return n, nil
	}
	r := &m.reply
	n, err := meta.Parse(b, r)
	if err != nil {
		return 0, protocolError(k.want(), b, err)
	}
	if n == 0 {
		return 0, nil
	}
	if !m.paired(k) {
		return 0, protocolError(k.want(), b, errMispaired)
	}
	reply, err := m.result(k, b)
	if err != nil {
		return 0, err
	}
	if r.Code != meta.CodeValue {
		*k.slot() = reply
		return n, nil
	}
	if r.Size > m.maxValue {
		return 0, protocolError(k.want(), b, meta.ErrSizeTooLarge)
	}
	if r.Size >= directSize && len(b)-n < r.Size+2 {
		k.pending = reply
		k.beginBody(r.Size, b[n:])
		return len(b), nil
	}
	value, size, err := meta.ParseBody(b[n:], r.Size)
	if err != nil {
		return 0, protocolError(k.want(), b, err)
	}
	if size == 0 {
		return 0, nil
	}
	if k.req.Op == Increment || k.req.Op == Decrement {
		if reply.Number, err = strconv.ParseUint(string(value), 10, 64); err != nil {
			return 0, protocolError(k.want(), b, err)
		}
	} else if reply.Status == OK && !k.gone.Load() {
		reply.Value = copyValue(value)
	}
	*k.slot() = reply
	return n + size, nil
}

// paired reports whether the reply carries the opaque of the request it is
// taken for. Error lines never do, nor do misses of servers before 1.6.18.
func (m *metaCodec) paired(k *call) bool {
	r := &m.reply
	if r.Code == meta.CodeError {
		return true
	}
	if r.Has&meta.FieldOpaque == 0 {
		return r.Code == meta.CodeMiss
	}
	var digits [8]byte
	want := appendOpaque(digits[:0], k.opaque+uint32(k.got.Load()))
	return string(r.Opaque()) == string(want)
}

// result turns the header in m.reply into a Reply, the value excepted.
func (m *metaCodec) result(k *call, b []byte) (Reply, error) {
	r := &m.reply
	switch r.Code {
	case meta.CodeValue:
		if k.keys == nil && (k.req.Op == Increment || k.req.Op == Decrement) {
			return Reply{Status: OK}, nil
		}
		if !k.reads() || r.Has&getWanted != getWanted {
			break
		}
		if r.Size == 0 && r.ClientFlags == 0 && r.Has&(meta.FieldWin|meta.FieldLost) != 0 {
			return Reply{Status: Miss}, nil // the stub of a lease, not a stored empty value
		}
		return Reply{Status: OK, Flags: r.ClientFlags, CAS: r.CAS}, nil
	case meta.CodeDone:
		if k.reads() || k.req.Op == Increment || k.req.Op == Decrement {
			break
		}
		return Reply{Status: OK}, nil
	case meta.CodeMiss:
		if !k.reads() {
			break
		}
		return Reply{Status: Miss}, nil
	case meta.CodeNotFound:
		if k.reads() {
			break
		}
		return Reply{Status: Miss}, nil
	case meta.CodeNotStored:
		if k.reads() {
			break
		}
		return Reply{Status: NotStored}, nil
	case meta.CodeExists:
		if k.reads() {
			break
		}
		return Reply{Status: Exists}, nil
	case meta.CodeError:
		refusal := &ServerError{Kind: r.Class.String(), Message: string(r.Message())}
		if !r.InStep(k.req.Op.stores()) {
			return Reply{}, refusal
		}
		return Reply{Status: Refused, Err: refusal}, nil
	}
	return Reply{}, protocolError(k.want(), b, errMispaired)
}

const getWanted = meta.FieldClientFlags | meta.FieldCAS

// reads reports whether the replies of k answer mg.
func (k *call) reads() bool { return k.keys != nil || k.req.Op == Get || k.req.Op == GetAndTouch }

// want names what k waits for, in the text of errors.
func (k *call) want() string {
	if k.keys != nil {
		return Get.String()
	}
	return k.req.Op.String()
}
