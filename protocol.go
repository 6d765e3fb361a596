package memcache

import "github.com/vaquero-cache/memcache/internal/link"

// Protocol is a way to speak to a memcached server. All operations mean the same
// in each; those that one has no command for fail with ErrNotSupported.
type Protocol uint8

const (
	// Auto asks each connection for the server's version, and speaks meta to
	// memcached 1.6.18 and later and classic to all else: older servers, most
	// proxies, and whatever does not answer. Batches of more than 8 keys for
	// one server are asked in one classic line, which memcached serves faster.
	Auto Protocol = iota

	// Meta speaks the meta protocol without asking, in batches too.
	Meta

	// Classic speaks the classic text protocol without asking. It cannot tell
	// an empty value from the stub that a meta client leaves while it computes
	// one.
	Classic

	// Binary speaks the binary protocol without asking. memcached calls it
	// deprecated, and its proxy does not speak it. About stubs it knows as
	// little as Classic.
	Binary
)

var linkProtocols = [...]link.Protocol{Auto: link.Auto, Meta: link.Meta, Classic: link.Classic, Binary: link.Binary}
