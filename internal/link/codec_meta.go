package link

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/vaquero-cache/memcache/meta"
)

// metaCodec speaks the meta protocol, and the classic one for large batches and
// for the commands that meta lacks or gives another meaning: version, flush_all,
// stats, and touch (a meta read would take the right to recompute a stale item).
// Both may be mixed on a connection. Keys that are no text are sent as base64.
//
// Each meta request carries an opaque, a counter of the connection.
// Replies come in order, so the expected one is known and comparing bytes
// proves that a reply belongs to its call.
type metaCodec struct {
	maxValue int
	pure     bool // batches too are asked by mg alone

	// Guarded by the connection's lock.
	next uint32 // opaque of the next request
	get  meta.GetRequest

	opaque [opaqueSize]byte // of get

	// The reader's.
	reply   meta.Reply
	classic classicCodec
	proves  bool // misses carry the opaque: one without is no reply to a request
}

func newMetaCodec(maxValue int, pure bool) *metaCodec {
	// Where the version was asked, it is known to be metaSince or later.
	return &metaCodec{maxValue: maxValue, pure: pure, classic: classicCodec{maxValue: maxValue}, proves: !pure}
}

// An opaque is a counter in four characters of six bits each, '?' to '~', the
// lowest first: made and compared as one word, without a division or a loop.
// Far fewer requests are ever in flight than it can count, so a value is not in
// use when it comes round again.
const opaqueSize = 4

func appendOpaque(dst []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(dst, opaqueWord(n))
}

func opaqueWord(n uint32) uint32 {
	return n&0x3f + n<<2&0x3f00 + n<<4&0x3f0000 + n<<6&0x3f000000 + '?'*0x01010101
}

const getFields = meta.FieldValue | itemFields

func (m *metaCodec) append(dst []byte, k *call) ([]byte, error) {
	k.lines = k.keys != nil && !m.pure && !k.exact && len(k.keys) > fewKeys && !slices.Contains(k.keys, option)
	if k.lines {
		out, err := m.classic.append(dst, k)
		if err != ErrUnsupported {
			return out, err
		}
		k.lines = false // a key that classic cannot say
	}
	k.opaque = m.next
	out, err := m.appendRequests(dst, k)
	if err != nil {
		return dst, err
	}
	m.next += uint32(k.requests())
	k.many = k.requests() > 1
	return out, nil
}

// isClassic tells of requests for which there is no meta command, or one that
// means something else. The classic touch cannot say every key.
func isClassic(r *Request) bool {
	switch r.Op {
	case FlushAll, Version, Stats:
		return true
	case Touch:
		return IsText(r.Key)
	}
	return false
}

// IsText reports whether key may stand in a line as it is.
func IsText(key string) bool { return meta.IsText(key) }

// fewKeys is the largest batch that is asked in mg lines. A gets line costs a quarter
// less of our own time, at any length, and counts as one request however many keys
// it has, where memcached serves 20 requests of a connection before it looks after
// the others (its option -R): more mg lines are flushed in as many pieces and wake
// the client for each. But an empty value that came in a gets line may have to be
// asked for again, and with few keys that outweighs what there is to gain.
const fewKeys = 8

func (m *metaCodec) appendRequests(dst []byte, k *call) (out []byte, err error) {
	out, m.get.Want = dst, getFields
	for i, key := range k.keys {
		m.get.Key, m.get.Opaque = key, appendOpaque(m.opaque[:0], k.opaque+uint32(i))
		m.get.Base64 = false
		if out, err = meta.AppendGet(out, &m.get); err == meta.ErrKeyByte {
			m.get.Base64 = true
			out, err = meta.AppendGet(out, &m.get)
		}
		if err != nil {
			return dst, err
		}
	}
	for i := range k.reqs {
		if out, err = m.appendRequest(out, &k.reqs[i], k.opaque+uint32(i)); err != nil {
			return dst, err
		}
	}
	return out, nil
}

func (m *metaCodec) appendRequest(dst []byte, r *Request, opaque uint32) ([]byte, error) {
	if isClassic(r) {
		return m.classic.appendRequest(dst, r)
	}
	out, err := appendMeta(dst, r, opaque, false)
	if err == meta.ErrKeyByte {
		return appendMeta(dst, r, opaque, true)
	}
	return out, err
}

// appendMeta is appendRequest for what meta has a command for. With base64 the
// key is sent in that form, to be stored as the bytes that it is.
func appendMeta(dst []byte, r *Request, opaque uint32, base64 bool) ([]byte, error) {
	var room [opaqueSize]byte
	common := meta.Common{Key: r.Key, Base64: base64, Opaque: appendOpaque(room[:0], opaque)}
	switch {
	case r.Op.stores():
		set := meta.SetRequest{Common: common, Value: r.Value, Mode: metaMode(r.Op), ClientFlags: r.Flags, TTL: r.Expiration}
		if r.Op == CompareAndSwap {
			set.Args, set.CAS = meta.ArgCAS, r.CAS
		}
		if r.Create {
			set.Args, set.Vivify = meta.ArgVivify, r.Expiration
		}
		return meta.AppendSet(dst, &set)
	case r.Op == Get && r.Detail:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Want: getFields | detailFields})
	case r.Op == Get:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Want: getFields})
	case r.Op == Inspect:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Want: itemFields | detailFields, NoBump: true})
	case r.Op == GetAndTouch:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Want: getFields, Args: meta.ArgTTL, TTL: r.Expiration})
	case r.Op == Touch:
		return meta.AppendGet(dst, &meta.GetRequest{Common: common, Args: meta.ArgTTL, TTL: r.Expiration})
	case r.Op == Delete:
		return meta.AppendDelete(dst, &meta.DeleteRequest{Common: common})
	default: // Increment, Decrement
		count := meta.ArithmeticRequest{
			Common: common, Want: meta.FieldValue, Args: meta.ArgDelta,
			Decrement: r.Op == Decrement, Delta: r.Delta,
		}
		if r.Create {
			count.Args |= meta.ArgVivify | meta.ArgInitial
			count.Vivify, count.Initial = r.Expiration, r.Initial
		}
		return meta.AppendArithmetic(dst, &count)
	}
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

func (m *metaCodec) consume(k *call, b []byte) (used int, done bool, err error) {
	if k.lines {
		return m.classic.consume(k, b)
	}
	for want := k.requests(); k.at < want; {
		if k.keys == nil && isClassic(k.request()) {
			n, done, err := m.classic.consumeRequest(k, b[used:])
			used += n
			if err != nil {
				return used, false, notReply(k, b[used:], err)
			}
			if !done {
				return used, false, nil
			}
			continue
		}
		n, ok, err := m.consumeOne(k, b[used:])
		used += n
		if err != nil {
			return used, false, notReply(k, b[used:], err)
		}
		if !ok {
			return used, false, nil
		}
		k.at++
	}
	return used, true, nil
}

// consumeOne takes one reply. ok is false when b does not hold all of it.
func (m *metaCodec) consumeOne(k *call, b []byte) (n int, ok bool, err error) {
	if k.body == bodyRead {
		return k.endValue(b)
	}
	r := &m.reply
	if n, err = meta.Parse(b, r); err != nil || n == 0 {
		return 0, false, err
	}
	if !m.paired(k) {
		return 0, false, errMispaired
	}
	reply := k.slot()
	if err = m.result(k, reply); err != nil {
		return 0, false, err
	}
	switch {
	case r.Code != meta.CodeValue:
		return n, true, nil
	case r.Size > m.maxValue:
		return 0, false, meta.ErrSizeTooLarge
	case !k.reads():
		return m.number(k, b, n)
	}
	size, ok, err := k.takeValue(reply, b[n:], r.Size)
	if !ok && k.body == noBody {
		n = 0 // the header is parsed again when more has come
	}
	if ok && reply.Status != OK {
		reply.Value = nil
	}
	return n + size, ok, err
}

// number takes the value of an ma reply, behind a header of n bytes.
func (m *metaCodec) number(k *call, b []byte, n int) (int, bool, error) {
	digits, size, err := meta.ParseBody(b[n:], m.reply.Size)
	if err != nil || size == 0 {
		return 0, false, err
	}
	number, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0, false, err
	}
	k.slot().Number = number
	return n + size, true, nil
}

// paired reports whether the reply carries the opaque of the request it is
// taken for. Error lines never do, nor do misses of servers before 1.6.18.
func (m *metaCodec) paired(k *call) bool {
	r := &m.reply
	if r.Code == meta.CodeError {
		return true
	}
	if r.Has&meta.FieldOpaque == 0 {
		return r.Code == meta.CodeMiss && !m.proves
	}
	opaque := r.Opaque()
	if len(opaque) != opaqueSize || binary.LittleEndian.Uint32(opaque) != opaqueWord(k.opaque+uint32(k.at)) {
		return false
	}
	m.proves = m.proves || r.Code == meta.CodeMiss
	return true
}

// result turns the header in m.reply into a reply of k, the value excepted.
func (m *metaCodec) result(k *call, reply *Reply) error {
	r, op := &m.reply, k.op()
	if r.Code == meta.CodeError {
		return m.refuse(k, reply)
	}
	m.classic.dropped.answered()
	counts := op == Increment || op == Decrement
	switch {
	case k.reads():
		return m.found(k, reply, meta.CodeValue, r.Size)
	case op == Inspect:
		return m.found(k, reply, meta.CodeDone, r.ItemSize)
	case r.Code == meta.CodeValue && counts, r.Code == meta.CodeDone && !counts:
		reply.Status = OK
	case r.Code == meta.CodeNotFound, r.Code == meta.CodeMiss && op == Touch:
		reply.Status = Miss
	case r.Code == meta.CodeNotStored:
		reply.Status = NotStored
	case r.Code == meta.CodeExists:
		reply.Status = Exists
	default:
		return errMispaired
	}
	return nil
}

// refuse turns the error line in m.reply into a reply of k. It returns what
// classicCodec.refuse does.
func (m *metaCodec) refuse(k *call, reply *Reply) error {
	value := k.op().stores()
	refusal := &ServerError{Kind: m.reply.Class.String(), Message: string(m.reply.Message())}
	if err := m.classic.dropped.refused(refusal, value); err != nil {
		return err
	}
	if !m.reply.InStep(value) {
		return refusal
	}
	reply.Status, reply.Err = Refused, refusal
	return nil
}

// itemFields are what every reply to a read must carry beside the value,
// detailFields what one with a Detail must carry too.
const (
	itemFields   = meta.FieldClientFlags | meta.FieldCAS
	detailFields = meta.FieldSize | meta.FieldTTL | meta.FieldHit | meta.FieldLastAccess
)

// found is result for a read, which answers by code when it finds an item, whose
// value then has size bytes.
func (m *metaCodec) found(k *call, reply *Reply, code meta.Code, size int) error {
	r := &m.reply
	switch {
	case r.Code == meta.CodeMiss:
		reply.Status = Miss
		return nil
	case r.Code != code || r.Has&itemFields != itemFields:
		return errMispaired
	case size == 0 && r.ClientFlags == 0 && r.Has&(meta.FieldWin|meta.FieldLost) != 0:
		reply.Status = Miss // the stub of a lease, not a stored empty value
		return nil
	}
	reply.Status, reply.Flags, reply.CAS = OK, r.ClientFlags, r.CAS
	if k.keys == nil && (k.request().Detail || code == meta.CodeDone) {
		if r.Has&detailFields != detailFields {
			return errMispaired
		}
		reply.Detail = m.detail(size)
	}
	return nil
}

func (m *metaCodec) detail(size int) *Detail {
	r := &m.reply
	d := &Detail{
		Size: size, TTL: r.TTL, LastAccess: r.LastAccess, Fetched: r.Hit,
		Stale: r.Stale(), Won: r.Win(), Lost: r.Lost(),
	}
	if d.TTL > math.MaxInt32 { // a number below zero, of an item that has just ended
		d.TTL = 0
	}
	return d
}

// reads reports whether the next reply of k answers a read.
func (k *call) reads() bool { return k.op().reads() }

// want names what k waits for, in the text of errors.
func (k *call) want() string { return k.op().String() }
