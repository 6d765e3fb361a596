package memcachetest

// The meta commands: a line and its flags.

import (
	"strings"
)

const (
	maxMetaTokens = 20 // of a line, the command included; one less on 1.6.18
	maxOpaque     = 32 // bytes with the letter O
)

const (
	errInvalidFlag     = "CLIENT_ERROR invalid flag"
	errDuplicateFlag   = "CLIENT_ERROR duplicate flag"
	errAnyFlag         = "CLIENT_ERROR invalid or duplicate flag"
	errToken           = "CLIENT_ERROR bad token in command line format"
	errBase64          = "CLIENT_ERROR error decoding key"
	errOpaque          = "CLIENT_ERROR opaque token too long"
	errTooManyFlags    = "CLIENT_ERROR options flags are too long"
	errTooManyFlagsOld = "CLIENT_ERROR options flags too long"
	errModeLength      = "CLIENT_ERROR incorrect length for M token"
	errSetMode         = "CLIENT_ERROR invalid mode for ms M token"
	errArithmeticMode  = "CLIENT_ERROR invalid mode for ma M token"
	errDeltaFlag       = "CLIENT_ERROR invalid numeric delta value"
	errInitialFlag     = "CLIENT_ERROR invalid numeric initial value"
)

// metaRequest is a meta command line, parsed.
type metaRequest struct {
	key     []byte   // the key, base64 undone
	flags   [][]byte // in the order of the request
	binary  bool     // b
	value   bool     // v
	quiet   bool     // q
	noBump  bool     // u
	invalid bool     // I
	drop    bool     // x

	hasT, hasN, hasC bool
	ttl, vivify      int64  // T, N: as sent
	recache          int64  // R: as sent
	cas              uint64 // C
	newCAS           newCAS // E
	delta, initial   uint64 // D, J
	clientFlags      uint32 // F
	mode             byte   // M: its first byte; modeNone for none; 0 when there is no M
}

// modeNone stands for an M flag without an argument.
const modeNone = ' '

// meta answers the line when it is a meta command.
func (c *conn) meta() bool {
	switch string(c.tokens[0]) {
	case "mg":
		c.metaGet()
	case "ms":
		c.metaSet()
	case "md":
		c.metaDelete()
	case "ma":
		c.metaArithmetic()
	case "me":
		c.metaDebug()
	case "mn":
		c.reply("MN")
		c.urgent = true
	default:
		return false
	}
	return true
}

// errMissing answers a line without what the command cannot do without.
func (c *conn) errMissing() string {
	if c.old {
		return errUnknown
	}
	return errFormat
}

// parseMeta takes the key and the flags, which begin at token number first. It
// returns an error line, or "". A letter that is unknown or comes twice ends the
// reading; of other mistakes the last one is told.
func (c *conn) parseMeta(r *metaRequest, first int) string {
	r.key = c.tokens[1]
	r.delta = 1
	r.flags = c.tokens[first:]
	var seen [256]bool
	wrong, last := false, errFormat
	for _, f := range r.flags {
		letter := f[0]
		switch {
		case seen[letter] || c.old && letter >= 127:
			return errDuplicateFlag
		case !c.knownFlag(letter):
			return errInvalidFlag
		}
		seen[letter] = true
		if e, ok := c.parseFlag(r, letter, f[1:]); !ok {
			wrong = true
			if e != "" {
				last = e
			}
		}
	}
	if wrong {
		return last
	}
	return ""
}

// knownFlag tells whether the letter means something to any meta command.
func (c *conn) knownFlag(letter byte) bool {
	known := "CDEFIJLMNOPRTbcfhklqstuvx"
	if c.old {
		known = "CDFIJLMNOPRTbcfhklqstuv"
	}
	return strings.IndexByte(known, letter) >= 0
}

// lettersAlone tells whether each flag begins with a letter, a digit, or one of the
// signs that ASCII has between the letters.
func lettersAlone(flags [][]byte) bool {
	for _, f := range flags {
		if !(f[0] >= '0' && f[0] <= '9' || f[0] >= 'A' && f[0] <= 'z') {
			return false
		}
	}
	return true
}

// parseFlag takes one flag. When its argument is no good, e is the error line for
// it, or "" for the line that all flags begin with.
func (c *conn) parseFlag(r *metaRequest, letter byte, arg []byte) (e string, ok bool) {
	var n int32
	ok = true
	switch letter {
	case 'b':
		r.binary = true
		r.key, ok = decodeKey(c.tokens[1])
		return errBase64, ok
	case 'v':
		r.value = true
	case 'q':
		r.quiet = true
	case 'u':
		r.noBump = true
	case 'I':
		r.invalid = true
	case 'x':
		r.drop = true
	case 'T':
		n, ok = c.num.i32(arg)
		r.hasT, r.ttl = true, int64(n)
	case 'N':
		n, ok = c.num.i32(arg)
		r.hasN, r.vivify = true, int64(n)
	case 'R':
		n, ok = c.num.i32(arg)
		r.recache = int64(n)
	case 'C':
		r.hasC = true
		r.cas, ok = c.num.u64(arg)
	case 'E':
		r.newCAS.given = true
		r.newCAS.value, ok = c.num.u64(arg)
	case 'D':
		r.delta, ok = c.num.u64(arg)
		return errDeltaFlag, ok
	case 'J':
		r.initial, ok = c.num.u64(arg)
		return errInitialFlag, ok
	case 'F':
		r.clientFlags, ok = c.num.u32(arg)
		return "", ok
	case 'M':
		r.mode = modeNone
		if len(arg) > 0 {
			r.mode = arg[0]
		}
		return errModeLength, !c.old || len(arg) == 1
	}
	return errToken, ok
}

// opaqueFits tells whether the O flag, if any, is within its limit.
func (r *metaRequest) opaqueFits() bool {
	for _, f := range r.flags {
		if f[0] == 'O' && len(f) > maxOpaque {
			return false
		}
	}
	return true
}

// metaLine checks what mg, md and ma have in common and parses the line. It returns
// an error line or "", and whether that came from the flags.
func (c *conn) metaLine(r *metaRequest) (e string, ofFlags bool) {
	limit := maxMetaTokens
	if c.old {
		limit--
	}
	switch {
	case len(c.tokens) < 2:
		return c.errMissing(), false
	case !c.old && !lettersAlone(c.tokens[2:]):
		return errFormat, false
	case len(c.tokens[1]) > maxKey:
		return errFormat, false
	case len(c.tokens) > limit:
		return errTooManyFlags, false
	}
	e = c.parseMeta(r, 2)
	return e, e != ""
}
