//go:build !unix

package link

// socket is empty where sockets have no portable non-blocking calls.
type socket struct{}

func (*socket) init() {}

// tryWrite writes nothing: the caller goes on with a write that may block.
func (*wire) tryWrite([]byte) (int, error) { return 0, nil }

// read leaves it to the runtime when to park.
func (w *wire) read(b []byte, _ bool) (int, error) { return w.Read(b) }

// quiet cannot tell here; a connection that died is found by its next use.
func (*wire) quiet() bool { return true }
