package link

import "github.com/vaquero-cache/memcache/classic"

// classicLines are the commands answered by one line that the meta protocol
// lacks, or has with another meaning: version, flush_all, and touch (a meta
// read would take the right to recompute a stale item).
type classicLines struct{ reply classic.Reply }

func isClassic(op Op) bool { return op == Touch || op == FlushAll || op == Version }

func appendClassic(dst []byte, r *Request) ([]byte, error) {
	switch r.Op {
	case Touch:
		return classic.AppendTouch(dst, &classic.TouchRequest{Key: r.Key, Expiration: r.Expiration})
	case FlushAll:
		return classic.AppendFlushAll(dst, &classic.FlushAllRequest{}), nil
	default: // Version
		return classic.AppendVersion(dst), nil
	}
}

// consume takes the one line that answers k. Nothing in it proves that it is
// the answer to k and not to another request; the order does.
func (c *classicLines) consume(k *call, b []byte) (used int, done bool, err error) {
	r := &c.reply
	n, err := classic.Parse(b, r)
	if err != nil {
		return 0, false, protocolError(k.want(), b, err)
	}
	if n == 0 {
		return 0, false, nil
	}
	op := k.req.Op
	switch {
	case r.Code == classic.CodeTouched && op == Touch, r.Code == classic.CodeOK && op == FlushAll:
		k.reply.Status = OK
	case r.Code == classic.CodeVersion && op == Version:
		k.reply.Status, k.reply.Value = OK, copyValue(r.Text())
	case r.Code == classic.CodeNotFound && op == Touch:
		k.reply.Status = Miss
	case r.Code == classic.CodeError:
		refusal := &ServerError{Kind: r.Class.String(), Message: string(r.Text())}
		if !r.InStep(false) {
			return 0, false, refusal
		}
		k.reply = Reply{Status: Refused, Err: refusal}
	default:
		return 0, false, protocolError(k.want(), b, errMispaired)
	}
	k.got.Store(1)
	return n, true, nil
}
