package main

// Values that prove themselves: a value carries a checksum over its key and its
// payload, so one that is damaged, cut short or another key's is known at once.

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

const (
	checksumSize           = 8 // hexadecimal digits of a CRC-32
	minPayload, maxPayload = 16, 512
)

// valueFor makes a value for key, other bytes on each call.
func valueFor(key string) []byte {
	value := make([]byte, checksumSize+minPayload+rand.IntN(maxPayload-minPayload+1))
	payload := value[checksumSize:]
	for i := range payload {
		payload[i] = byte(rand.Uint32()) // any byte, line ends too
	}
	copy(value, checksum(key, payload))
	return value
}

// holds reports whether value is one that valueFor made for key.
func holds(key string, value []byte) bool {
	return len(value) >= checksumSize+minPayload &&
		bytes.Equal(value[:checksumSize], checksum(key, value[checksumSize:]))
}

func checksum(key string, payload []byte) []byte {
	sum := crc32.Update(crc32.ChecksumIEEE([]byte(key)), crc32.IEEETable, payload)
	return fmt.Appendf(nil, "%0*x", checksumSize, sum)
}
