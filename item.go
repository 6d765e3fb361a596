package memcache

// MaxValueSize is the longest value in bytes that any server can be told to
// take, 1 GiB. By default a server takes 1 MiB.
const MaxValueSize = 1 << 30

// Item is what a server keeps under a key.
type Item struct {
	// Key names the Item: 1 to MaxKeyLength bytes, none of them a space, a
	// control byte or DEL.
	Key string

	// Value holds the data, at most MaxValueSize bytes. A nil Value is stored as
	// an empty one, and an empty one comes back as an empty slice that is not
	// nil. Stores neither keep nor modify it; in an Item returned by the client
	// it belongs to the caller.
	Value []byte

	// Flags are opaque to the server, and come back as they were stored.
	// Append and Prepend ignore them.
	Flags uint32

	// Expiration is what the server takes: seconds from now up to 30 days
	// (2,592,000), above that a Unix time, 0 = the Item never expires,
	// negative = at once. The client leaves it 0 in the Items it returns, since
	// the server does not tell. Append and Prepend ignore it.
	Expiration int32

	// CasID is the version of the Item as of the Get, GetMulti or GetAndTouch
	// that returned it. CompareAndSwap compares it. No store changes it.
	CasID uint64
}
