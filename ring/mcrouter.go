package ring

// mcrouter: the hash functions of its HashRoute and the key they see.

import "strings"

// Each of these is the value of "hash_func" of the same name in a HashRoute or
// PoolRoute of mcrouter; Ch3 is mcrouter's default. They hash the routing key:
// a key without its prefix of the form "/region/cluster/" and without what
// follows "|#|". [Placement.Salt] is the option "salt".
var (
	// McrouterCh3 is "Ch3": the key is hashed down a binary tree over the list
	// in its order, so servers may come and go at the end of the list only.
	McrouterCh3 = newMcrouter(&peer{name: "McrouterCh3", label: plainLabel, build: buildFurc})

	// McrouterWeightedCh3 is "WeightedCh3". Weights are above 0 and at most 1;
	// mcrouter takes one that is missing for 0.5.
	McrouterWeightedCh3 = newMcrouter(
		&peer{name: "McrouterWeightedCh3", label: plainLabel, weights: weightsUnit, build: buildWeightedFurc})

	// McrouterCRC32 is "Crc32": 31 bits of CRC-32 modulo the list.
	McrouterCRC32 = newMcrouter(&peer{name: "McrouterCRC32", label: plainLabel, build: buildModulo})

	// McrouterRendezvous is "Rendezvous". Name is the server's tag in the
	// option "tags"; without a name, Addr as given is.
	McrouterRendezvous = newMcrouter(
		&peer{name: "McrouterRendezvous", label: plainLabel, build: buildRendezvous})

	// McrouterWeightedRendezvous is "WeightedRendezvous", with tags likewise.
	McrouterWeightedRendezvous = newMcrouter(
		&peer{name: "McrouterWeightedRendezvous", label: plainLabel, weights: weightsAny, build: buildWeightedRendezvous})
)

func newMcrouter(p *peer) Placement {
	p.salt = true
	return Placement{peer: p, hash: hashCRC31, filter: filter{rule: filterRoutingKey}}
}

// routingKey returns the part of key that mcrouter hashes. It may be empty.
func routingKey(key string) string {
	if rest, ok := strings.CutPrefix(key, "/"); ok {
		if _, rest, ok = strings.Cut(rest, "/"); ok {
			if _, rest, ok = strings.Cut(rest, "/"); ok {
				key = rest
			}
		}
	}
	key, _, _ = strings.Cut(key, "|#|")
	return key
}
