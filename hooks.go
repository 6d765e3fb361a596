package memcache

import (
	"context"
	"errors"
	"time"

	"github.com/vaquero-cache/memcache/internal/link"
)

// Hooks observe a Client, for metrics, logs and traces. Any of them may be nil.
// They hold no key and no value, InvalidationOwed excepted, and neither does the
// text of an error.
//
// They are called by many goroutines at once, with no lock held, and everybody
// who waits for what they observe waits for them. They may call the client,
// except that only OpStarted and OpEnded may Close it.
type Hooks struct {
	// OpStarted is called before an operation goes to a server, and OpEnded when
	// it is over, in the goroutine of its caller. An operation on several servers
	// is told of once for each, and one on more than 65,536 keys as several, one
	// after the other. OpEnded gets the context that OpStarted returned,
	// which may carry a span, or that of the operation.
	OpStarted func(ctx context.Context, op OpInfo) context.Context
	OpEnded   func(ctx context.Context, op OpInfo, result OpResult)

	// ConnOpened is called after each attempt to connect, and ConnClosed at the
	// end of each connection.
	ConnOpened func(ConnInfo)
	ConnClosed func(ConnInfo)

	// ServerState is called after each change of the state of a server, those of
	// one server in order.
	ServerState func(ServerStateChange)

	// InvalidationOwed is called when a server, given by its address, has missed a
	// change of a key that it was not owed before, or that cannot be remembered:
	// see ErrInvalidationPending. The key is the one that is sent, with KeySettings
	// applied. A caller who writes the keys down can give them back to a new
	// process by Client.Owe.
	InvalidationOwed func(server, key string)
}

// OpInfo is an operation on one server.
type OpInfo struct {
	// Op is its name, such as "get" or "set" also for many keys, as in the
	// errors; "pipeline" for a Pipeline.
	Op string

	Server string // the server's address
	Keys   int    // how many keys it is about; 0 for Stats and the like
	Bytes  int    // of the values that are sent
}

// OpResult is how an operation on one server ended.
type OpResult struct {
	Hits  int // how many keys were found, or for changes, how many succeeded
	Bytes int // of the values that were received

	// Err is nil for one key if the operation succeeded, for many if all were
	// answered, whatever the answers. Else it is what the caller gets, or would
	// get if there were no other server.
	Err error

	// Duration is the time from OpStarted until the last reply was taken, or the
	// operation failed. For many keys servers are read one after the other, and
	// with GetMultiFunc and GetMultiSeq what the consumer takes between two
	// windows of keys counts, too.
	Duration time.Duration
}

// ConnInfo is a connection, or an attempt at one.
type ConnInfo struct {
	Server string // the server's address

	// Err is why the connection could not be made, or why it ended: nil after
	// Close and when the server has left the list.
	Err error

	// Duration is how long it took to connect. ConnClosed does not know it.
	Duration time.Duration
}

// observed is an operation on one server that Hooks have been told of.
type observed struct {
	hooks *Hooks
	ctx   context.Context
	info  OpInfo
	start time.Time
}

func (h *Hooks) started(ctx context.Context, info OpInfo) observed {
	o := observed{hooks: h, ctx: ctx, info: info, start: time.Now()}
	if h.OpStarted != nil {
		if with := h.OpStarted(ctx, info); with != nil {
			o.ctx = with
		}
	}
	return o
}

func (o *observed) ended(result OpResult, at time.Time) {
	if o.hooks.OpEnded != nil {
		result.Duration = at.Sub(o.start)
		o.hooks.OpEnded(o.ctx, o.info, result)
	}
}

// askObserved is exchange with hooks around it.
func (s *server) askObserved(ctx context.Context, h *Hooks, req *link.Request) (link.Reply, error) {
	info := OpInfo{Op: req.Op.String(), Server: s.addr.String(), Bytes: len(req.Value)}
	if keyed(req.Op) {
		info.Keys = 1
	}
	o := h.started(ctx, info)
	reply, err := s.exchange(ctx, req)
	result := OpResult{Bytes: len(reply.Value), Err: err}
	if err == nil {
		result.Hits = info.Keys
	}
	o.ended(result, time.Now())
	return reply, err
}

// keyed reports whether op is about a key, and not about the server.
func keyed(op link.Op) bool {
	switch op {
	case link.Version, link.FlushAll, link.Stats:
		return false
	}
	return true
}

// watch is one share of a batch that Hooks have been told of.
type watch struct {
	observed
	result OpResult
}

// started tells the hooks of each share of b; without hooks it returns nil.
func (b *batch) started() []watch {
	h := b.client.Hooks
	if h == nil {
		return nil
	}
	watches := make([]watch, len(b.shares))
	for i := range b.shares {
		if b.parts[i].size == 0 {
			continue
		}
		share := &b.shares[i]
		info := OpInfo{Op: b.operation(i, 0).String(), Server: b.parts[i].server.addr.String(), Keys: len(share.Keys)}
		for j := range share.Reqs {
			if keyed(share.Reqs[j].Op) {
				info.Keys++
			}
			info.Bytes += len(share.Reqs[j].Value)
		}
		if b.mixed {
			info.Op = "pipeline"
		}
		share.Timed = true
		watches[i].observed = h.started(b.ctx, info)
	}
	return watches
}

// ended tells the hooks what became of the shares.
func (b *batch) ended(watches []watch) {
	for i := range watches {
		w := &watches[i]
		if b.parts[i].size == 0 {
			continue
		}
		// A share that was given up in the last moment may have all its replies.
		share := &b.shares[i]
		if n := len(share.Replies); share.Err != nil && n < len(share.Keys)+len(share.Reqs) {
			w.result.Err = b.parts[i].server.failure(b.ctx, b.operation(i, n), b.why(i)(n))
		}
		if share.Ended.IsZero() { // it was not even asked
			share.Ended = time.Now()
		}
		w.ended(w.result, share.Ended)
	}
}

// count adds reply number j of share i to what the hooks will be told.
func (b *batch) count(w *watch, i, j int, reply *link.Reply) {
	switch reply.Status {
	case link.OK:
		w.result.Hits++
		w.result.Bytes += len(reply.Value)
	case link.Refused:
		if w.result.Err == nil {
			w.result.Err = b.parts[i].server.outcome(b.ctx, b.operation(i, j), reply)
		}
	}
}

// opened and closed are told by the link of its connections.
func (s *server) opened(took time.Duration, err error) {
	s.health.tell()
	if h := s.client.Hooks; h != nil && h.ConnOpened != nil {
		h.ConnOpened(ConnInfo{Server: s.addr.String(), Err: s.reason(err), Duration: took})
	}
}

func (s *server) closed(reason error) {
	s.health.tell()
	h := s.client.Hooks
	if h == nil || h.ConnClosed == nil {
		return
	}
	if errors.Is(reason, link.ErrClosed) {
		reason = nil
	}
	h.ConnClosed(ConnInfo{Server: s.addr.String(), Err: s.reason(reason)})
}
