package ring

// Dalli, the Ruby client.

import (
	"crypto/sha1"
	"encoding/binary"
	"strconv"
)

// Dalli places keys as the Ruby client Dalli does: CRC-32 of the key, SHA-1
// points, some 160 a server by its weight (a whole number), and the last point
// at or before the hash, where the ketama family takes the next one. A
// namespace is hashed, being part of the key that Dalli sends. Dalli shortens
// keys of more than 250 characters; no such key reaches a server as it is.
var Dalli = Placement{
	hash: HashCRC32a,
	peer: &peer{
		name: "Dalli", label: hostPortLabel, weights: weightsWhole,
		failover: failoverDalli, build: buildDalli,
	},
}

func buildDalli(r *Ring, members []member) error {
	total := totalWeight(members)
	var points []point
	for i, m := range members {
		n := int(float64(len(members)*160) * m.weight / total)
		text := numberable(m.label, ":")
		for k := range n {
			digest := sha1.Sum(strconv.AppendInt(text, int64(k), 10))
			points = append(points, newPoint(binary.BigEndian.Uint32(digest[:]), i))
		}
	}
	if err := setPoints(r, members, points); err != nil {
		return err
	}
	r.table = tablePointsDown
	return nil
}
