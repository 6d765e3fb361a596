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
	q := &quangTung{target: t}
	for _, addr := range t.Addrs {
		c, err := memcache.New(addr, 1)
		if err != nil {
			q.close()
			return nil, err
		}
		q.clients = append(q.clients, c)
	}
	return &client{
		get:   q.get,
		set:   q.set,
		multi: func(w Batches) run.Caller { return &quangTungMulti{work: w, quangTung: q} },
		store: q.store,
		close: q.close,
	}, nil
}

// quangTung is a client for each server.
type quangTung struct {
	target  Target
	clients []*memcache.Client
}

// of returns the client for the server of key.
func (q *quangTung) of(key string) *memcache.Client { return q.clients[q.target.Place(key)] }

func (q *quangTung) get(key string) ([]byte, error) {
	p := q.of(key).Pipeline()
	defer p.Finish()
	return quangTungValue(p.MGet(key, memcache.MGetOptions{})())
}

func quangTungValue(r memcache.MGetResponse, err error) ([]byte, error) {
	if err == nil && r.Type != memcache.MGetResponseTypeVA {
		err = fmt.Errorf("no hit: reply type %d", r.Type)
	}
	return r.Data, err
}

func (q *quangTung) set(key string, value []byte) error {
	p := q.of(key).Pipeline()
	defer p.Finish()
	r, err := p.MSet(key, value, memcache.MSetOptions{})()
	if err == nil && r.Type != memcache.MSetResponseTypeHD {
		err = fmt.Errorf("not stored: reply type %d", r.Type)
	}
	return err
}

// store sends all before the first answer is waited for.
func (q *quangTung) store(keys []string, value []byte) error {
	pipelines := make([]*memcache.Pipeline, len(q.clients))
	stored := make([]func() (memcache.MSetResponse, error), len(keys))
	for k, key := range keys {
		i := q.target.Place(key)
		if pipelines[i] == nil {
			pipelines[i] = q.clients[i].Pipeline()
		}
		stored[k] = pipelines[i].MSet(key, value, memcache.MSetOptions{})
	}
	for _, p := range pipelines {
		if p != nil {
			p.Execute()
		}
	}
	for _, answer := range stored {
		r, err := answer()
		if err != nil {
			return err
		}
		if r.Type != memcache.MSetResponseTypeHD {
			return fmt.Errorf("not stored: reply type %d", r.Type)
		}
	}
	return nil
}

func (q *quangTung) close() {
	for _, c := range q.clients {
		c.Close()
	}
}

// quangTungMulti is a batch: a pipeline for each server, all sent before the
// first reply is waited for.
type quangTungMulti struct {
	work Batches
	*quangTung

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
		i := m.target.Place(key)
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
		r, err := reply()
		if err != nil {
			return err
		}
		value := r.Data
		if r.Type != memcache.MGetResponseTypeVA {
			value = nil
		}
		m.got = append(m.got, value)
	}
	return nil
}

func (m *quangTungMulti) Check() error {
	for i, value := range m.got {
		switch place := m.batch.Index[i]; {
		case place != workload.NoPlace:
			if err := m.work.Set.Check(place, value); err != nil {
				return err
			}
		case value != nil:
			return fmt.Errorf("a hit for %s", m.batch.Keys[i])
		}
	}
	return nil
}
