package link

// codec is one protocol on one connection. It turns calls into request bytes
// and reply bytes into replies; it does no I/O. append is called with the
// connection's lock held, consume by the reader alone.
type codec interface {
	// append appends the requests of k to dst. It refuses what would not be a
	// request, and leaves dst as it was then. With ErrUnsupported k.sayable tells
	// how many requests stand before the one that the protocol cannot say.
	append(dst []byte, k *call) ([]byte, error)

	// consume takes the replies of k, the oldest call, from the start of b,
	// as many as are there. It reports how many bytes it used and whether k
	// is complete. With k.body == inBody all that follows belongs to the value.
	// An error means that nothing that comes can be trusted any more.
	consume(k *call, b []byte) (used int, done bool, err error)
}
