package ring

// github.com/bradfitz/gomemcache: CRC-32 of the key modulo the list.

// Gomemcache places keys as ServerList of github.com/bradfitz/gomemcache does
// (and grafana/gomemcache, its fork): CRC-32 of the key, or of its first 256
// bytes, modulo the number of servers. The order of the list is all that
// counts. A server of weight 3, a whole number, stands in the list three times
// in a row, which is how that client expresses weights.
var Gomemcache = Placement{
	hash: hashCRC256,
	peer: &peer{name: "Gomemcache", label: plainLabel, weights: weightsWhole, build: buildWeightedModulo},
}
