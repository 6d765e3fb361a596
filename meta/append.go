// What the builders share: the checks that keep a request on one line, and the
// pieces of that line.

package meta

import (
	"bytes"
	"encoding/base64"
	"math/bits"
	"strconv"
)

// maxRawKey is how many bytes fit in MaxKey characters of base64.
const maxRawKey = MaxKey / 4 * 3

// check refuses what would break the line or what the command would silently
// ignore.
func (c *Common) check(want, fields Fields, args, taken Args) error {
	if err := checkKey(c.Key, c.Base64); err != nil {
		return err
	}
	if want&^fields != 0 {
		return ErrField
	}
	if args&^taken != 0 {
		return ErrArgument
	}
	if len(c.Opaque) > MaxOpaque {
		return ErrOpaqueTooLong
	}
	for _, b := range c.Opaque {
		if !isToken(b) {
			return ErrOpaqueByte
		}
	}
	if c.tagged() {
		return c.checkTags()
	}
	return nil
}

func (c *Common) tagged() bool { return len(c.ProxyP)+len(c.ProxyL) > 0 }

func (c *Common) checkTags() error {
	if len(c.ProxyP) > MaxOpaque || len(c.ProxyL) > MaxOpaque {
		return ErrTagTooLong
	}
	for _, tag := range [...]string{c.ProxyP, c.ProxyL} {
		for i := range len(tag) {
			if !isToken(tag[i]) {
				return ErrTagByte
			}
		}
	}
	return nil
}

func checkKey(key string, encoded bool) error {
	limit := MaxKey
	if encoded {
		limit = maxRawKey
	}
	if len(key)-1 >= limit {
		return ErrKeyTooLong
	}
	if len(key) == 0 {
		return ErrKeyEmpty
	}
	if !encoded {
		if !IsText(key) {
			return ErrKeyByte
		}
	}
	return nil
}

// isToken tells whether b may stand in a token that this package sends. The
// server itself takes control bytes, but no reader of a line should have to.
func isToken(b byte) bool { return b > ' ' && b != 0x7f }

func appendBase64(dst []byte, key string) []byte {
	var raw [maxRawKey]byte
	return base64.StdEncoding.AppendEncode(dst, raw[:copy(raw[:], key)])
}

func (c *Common) appendStart(dst []byte, command string) []byte {
	dst = append(dst, command...)
	if c.Base64 {
		return append(appendBase64(dst, c.Key), " b"...)
	}
	return append(dst, c.Key...)
}

// appendStartSize is appendStart for ms, where the size must come right after
// the key.
func (c *Common) appendStartSize(dst []byte, command string, size int) []byte {
	dst = append(dst, command...)
	if c.Base64 {
		dst = appendBase64(dst, c.Key)
	} else {
		dst = append(dst, c.Key...)
	}
	dst = strconv.AppendUint(append(dst, ' '), uint64(size), 10)
	if c.Base64 {
		dst = append(dst, " b"...)
	}
	return dst
}

func (c *Common) appendTags(dst []byte) []byte {
	if c.Opaque != nil {
		dst = append(append(dst, " O"...), c.Opaque...)
	}
	if c.Quiet {
		dst = append(dst, " q"...)
	}
	if c.ProxyP != "" {
		dst = append(append(dst, " P"...), c.ProxyP...)
	}
	if c.ProxyL != "" {
		dst = append(append(dst, " L"...), c.ProxyL...)
	}
	return dst
}

// end closes the line that line holds behind dst, unless it has more tokens
// than every server takes.
func (c *Common) end(dst, line []byte) ([]byte, error) {
	if c.tagged() && bytes.Count(line[len(dst):], []byte{' '}) >= maxTokens {
		return dst, ErrTooManyFlags
	}
	return append(line, '\r', '\n'), nil
}

// fieldLetters has the letter of each field at the field's bit.
const fieldLetters = "vfcsthlk"

func appendFields(dst []byte, want Fields) []byte {
	for ; want != 0; want &= want - 1 {
		dst = append(dst, ' ', fieldLetters[bits.TrailingZeros16(uint16(want))&7])
	}
	return dst
}

func appendInt(dst []byte, given Args, flag string, n int32) []byte {
	if given == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, flag...), int64(n), 10)
}

func appendUint(dst []byte, given Args, flag string, n uint64) []byte {
	if given == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, flag...), n, 10)
}
