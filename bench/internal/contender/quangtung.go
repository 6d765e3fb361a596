package contender

import (
	"fmt"

	"github.com/QuangTung97/go-memcache/memcache"

	"github.com/vaquero-cache/memcache/bench/internal/run"
	"github.com/vaquero-cache/memcache/bench/internal/workload"
)

// openQuangTung opens github.com/QuangTung97/go-memcache: one connection with a reader
// and a writer goroutine, meta protocol. It knows a single server; the adapter
// keeps one client for each and places keys as gomemcache does.
func openQuangTung(t Target) (*client, error) {
	if t.Dial != nil {
		return nil, errNoDial
	}
	q := make(quangTung, len(t.Addrs))
	for i, addr := range t.Addrs {
		var err error
		if q[i], err = memcache.New(addr, 1); err != nil {
			q[:i].close()
			return nil, err
		}
	}
	return &client{
		get:   q.get,
		set:   q.set,
		multi: func(w Batches) run.Caller { return &quangTungMulti{work: w, clients: q} },
		close: q.close,
	}, nil
}

// quangTung is a client for each server.
type quangTung []*memcache.Client

func (q quangTung) get(key string) ([]byte, error) {
	p := q[placed(key, len(q))].Pipeline()
	defer p.Finish()
	return quangTungValue(p.MGet(key, memcache.MGetOptions{})())
}

func quangTungValue(r memcache.MGetResponse, err error) ([]byte, error) {
	if err == nil && r.Type != memcache.MGetResponseTypeVA {
		err = fmt.Errorf("no hit: reply type %d", r.Type)
	}
	return r.Data, err
}

func (q quangTung) set(key string, value []byte) error {
	p := q[placed(key, len(q))].Pipeline()
	defer p.Finish()
	r, err := p.MSet(key, value, memcache.MSetOptions{})()
	if err == nil && r.Type != memcache.MSetResponseTypeHD {
		err = fmt.Errorf("not stored: reply type %d", r.Type)
	}
	return err
}

func (q quangTung) close() {
	for _, c := range q {
		c.Close()
	}
}

// quangTungMulti is a batch: a pipeline for each server, all sent before the
// first reply is waited for.
type quangTungMulti struct {
	work    Batches
	clients quangTung

	batch     *workload.Batch
	pipelines []*memcache.Pipeline
	replies   []func() (memcache.MGetResponse, error)
	got       [][]byte
}

func (m *quangTungMulti) Call() error {
	m.batch = m.work.take()
	m.pipelines = append(m.pipelines[:0], make([]*memcache.Pipeline, len(m.clients))...)
	m.replies, m.got = m.replies[:0], m.got[:0]
	for _, key := range m.batch.Keys {
		i := placed(key, len(m.clients))
		if m.pipelines[i] == nil {
			m.pipelines[i] = m.clients[i].Pipeline()
		}
		m.replies = append(m.replies, m.pipelines[i].MGet(key, memcache.MGetOptions{}))
	}
	for _, p := range m.pipelines {
		if p != nil {
			p.Execute()
		}
	}
	for _, reply := range m.replies {
		value, err := quangTungValue(reply())
		if err != nil {
			return err
		}
		m.got = append(m.got, value)
	}
	return nil
}

func (m *quangTungMulti) Check() error {
	if len(m.got) != len(m.batch.Keys) {
		return fmt.Errorf("%d hits for %d keys", len(m.got), len(m.batch.Keys))
	}
	for i, value := range m.got {
		if err := m.work.Set.Check(m.batch.Index[i], value); err != nil {
			return err
		}
	}
	return nil
}
