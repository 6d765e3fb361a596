package memcache

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/vaquero-cache/memcache/internal/link"
)

// This file knows what may be sent as a key, and what is sent in its place.

// MaxKeyLength is the longest legal key, in bytes.
const MaxKeyLength = 250

// maxBinaryKey is the longest key with bytes that text cannot have: it is sent
// as base64, a third longer and in whole groups of four.
const maxBinaryKey = MaxKeyLength / 4 * 3

// KeySettings say which keys a client takes and how it sends them. The zero
// value sends keys as they are and refuses those that cannot be sent so. The
// settings are for all operations; results and errors hold the keys that the
// caller gave.
type KeySettings struct {
	// Namespace is put before every key. It counts against the lengths below.
	Namespace string

	// PlaceWithoutNamespace lets the ServerSelector see keys without Namespace,
	// so that all namespaces place a key alike. By default it sees what is sent:
	// keys are where callers who put the prefix before them by hand have them.
	PlaceWithoutNamespace bool

	// AnyBytes takes keys with spaces, control bytes and DEL, up to 186 bytes.
	// Meta sends them as base64 and the binary protocol as they are, which is
	// the same item to the server. Where classic is spoken they fail with
	// ErrNotSupported, and with Touch, where meta is, a stale item may be won:
	// see Metadata.Stale.
	AnyBytes bool

	// HashLong sends the SHA-256 of a key that is too long in its place, in the
	// 43 bytes of unpadded base64 for URLs.
	HashLong bool
}

// legalKey reports whether key may be sent as it is: 1 to MaxKeyLength bytes,
// none of them a space, a control byte or DEL. Bytes above 127 are legal, as
// UTF-8 or otherwise.
func legalKey(key string) bool {
	return len(key) > 0 && len(key) <= MaxKeyLength && link.IsText(key)
}

// wire returns what is sent for key, or ErrMalformedKey.
func (s *KeySettings) wire(key string) (string, error) {
	if *s == (KeySettings{}) {
		if !legalKey(key) {
			return "", ErrMalformedKey
		}
		return key, nil
	}
	var room [MaxKeyLength]byte
	sent, err := s.appendWire(room[:0], key)
	switch {
	case err != nil:
		return "", err
	case string(sent) == key:
		return key, nil
	}
	return string(sent), nil
}

// wireAll is wire for many keys, and keys itself if they are sent as they are.
func (s *KeySettings) wireAll(keys []string) ([]string, error) {
	if *s == (KeySettings{}) {
		for _, key := range keys {
			if !legalKey(key) {
				return nil, ErrMalformedKey
			}
		}
		return keys, nil
	}
	size := len(keys) * len(s.Namespace)
	for _, key := range keys {
		size += min(len(key), MaxKeyLength)
	}
	all, ends := make([]byte, 0, size), make([]int, len(keys))
	for i, key := range keys {
		var err error
		if all, err = s.appendWire(all, key); err != nil {
			return nil, err
		}
		ends[i] = len(all)
	}
	sent, text, start := make([]string, len(keys)), string(all), 0
	for i, end := range ends {
		sent[i], start = text[start:end], end
	}
	return sent, nil
}

// appendWire appends what is sent for key. The limits are those of the final
// key: its bytes, and its length.
func (s *KeySettings) appendWire(dst []byte, key string) ([]byte, error) {
	text, textKey := link.IsText(s.Namespace), link.IsText(key)
	if key == "" || !s.AnyBytes && !(text && textKey) {
		return dst, ErrMalformedKey
	}
	if len(s.Namespace)+len(key) <= limit(text && textKey) {
		return append(append(dst, s.Namespace...), key...), nil
	}
	digest := sha256.Sum256([]byte(key))
	if !s.HashLong || len(s.Namespace)+base64.RawURLEncoding.EncodedLen(len(digest)) > limit(text) {
		return dst, ErrMalformedKey
	}
	return base64.RawURLEncoding.AppendEncode(append(dst, s.Namespace...), digest[:]), nil
}

func limit(text bool) int {
	if text {
		return MaxKeyLength
	}
	return maxBinaryKey
}

// placed returns what the selector sees of a key that is sent as wire.
func (s *KeySettings) placed(wire string) string {
	if s.PlaceWithoutNamespace {
		return wire[len(s.Namespace):]
	}
	return wire
}
