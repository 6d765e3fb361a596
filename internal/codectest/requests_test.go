// The requests of the transcripts, taken apart by hand and put together again
// by the builders. A request that no builder can express, because it is wrong
// on purpose or uses what the server merely ignores, is counted and left.

package codectest

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/vaquero-cache/memcache/classic"
	"github.com/vaquero-cache/memcache/meta"
)

func TestVectorsTranscriptRequests(t *testing.T) {
	cases, rebuilt, left := 0, map[string]int{}, 0
	for _, c := range transcripts(t) {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			cases++
			for _, b := range c.blocks(t, c.versions[len(c.versions)-1], false) {
				if !b.send {
					continue
				}
				for rest := b.bytes; len(rest) > 0; {
					want, name, got := rebuild(rest)
					rest = rest[len(want):]
					if got == nil {
						left++
						continue
					}
					rebuilt[name]++
					if want[0] != 0x80 {
						want, got = canonical(want), canonical(got)
					}
					assert.Equal(t, string(want), string(got))
				}
			}
		})
	}
	sum := 0
	for _, n := range rebuilt {
		sum += n
	}
	t.Logf("%d cases checked, 0 skipped; %d requests rebuilt, %d cannot be expressed: %v", cases, sum, left, rebuilt)
	assert.NotZero(t, sum)
}

// rebuild takes the first request from b and returns its bytes, the command
// and what a builder makes of it, nil if it can make nothing.
func rebuild(b []byte) (want []byte, name string, got []byte) {
	if b[0] == 0x80 {
		return rebuildPacket(b)
	}
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return b, "", nil // a part of a request, or a line end that builders do not write
	}
	want = b[:end+1]
	tokens := strings.FieldsFunc(string(b[:end-1]), func(r rune) bool { return r == ' ' })
	if len(tokens) == 0 || b[0] == ' ' {
		return want, "", nil
	}
	name = tokens[0]
	if at, ok := sizeAt[name]; ok {
		if len(tokens) <= at {
			return b, name, nil
		}
		size, err := strconv.ParseUint(tokens[at], 10, 31)
		if body := b[end+1:]; err != nil || len(body) < int(size)+2 || string(body[size:size+2]) != "\r\n" {
			return b, name, nil // whose value is not where it says
		}
		want = b[:end+1+int(size)+2]
	}
	value := want[end+1:]
	if len(value) > 0 {
		value = value[:len(value)-2]
	}
	if strings.HasPrefix(name, "m") && len(name) == 2 {
		return want, name, rebuildMeta(tokens, value)
	}
	return want, name, rebuildClassic(tokens, value)
}

// sizeAt tells which token of a command is the size of its value.
var sizeAt = map[string]int{"ms": 2, "set": 4, "add": 4, "replace": 4, "append": 4, "prepend": 4, "cas": 4}

// canonical sorts the flags of a meta request, whose order is the builder's
// own, and takes out extra spaces.
func canonical(b []byte) []byte {
	line, value, _ := bytes.Cut(b, []byte("\r\n"))
	tokens := strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' })
	fixed := 2
	switch tokens[0] {
	case "ms":
		fixed = 3
	case "mg", "md", "ma", "me":
	default:
		fixed = len(tokens)
	}
	if tokens[0] == "me" {
		// Any token after b makes newer servers find the key; only b counts.
		tokens = tokens[:min(len(tokens), 3)]
	}
	if tokens[0] == "ma" {
		tokens = slices.DeleteFunc(tokens, func(token string) bool { return token == "MI" || token == "M+" })
		for i, token := range tokens {
			if token == "M-" {
				tokens[i] = "MD"
			}
		}
	}
	if len(tokens) > fixed {
		slices.Sort(tokens[fixed:])
	}
	return []byte(strings.Join(tokens, " ") + "\r\n" + string(value))
}

// metaFlags is what the flags of a meta request mean, in the words of the
// builders.
type metaFlags struct {
	common                             meta.Common
	want                               meta.Fields
	args                               meta.Args
	ttl, vivify, recache               int32
	cas, newCAS, delta, initial, flags uint64
	mode                               string
	noBump, invalidate, drop, ttlLast  bool
}

var metaFields = map[byte]meta.Fields{
	'v': meta.FieldValue, 'f': meta.FieldClientFlags, 'c': meta.FieldCAS, 's': meta.FieldSize, 't': meta.FieldTTL,
	'h': meta.FieldHit, 'l': meta.FieldLastAccess, 'k': meta.FieldKey,
}

// readFlags is false for flags that no builder writes: doubled, unknown,
// malformed, or in an order that means something else than the builder's.
func readFlags(tokens []string) (f metaFlags, ok bool) {
	seen := ""
	for _, token := range tokens {
		letter, arg := token[0], token[1:]
		if strings.IndexByte(seen, letter) >= 0 {
			return f, false
		}
		seen += string(letter)
		good := arg == ""
		switch letter {
		case 'b':
			f.common.Base64 = true
		case 'q':
			f.common.Quiet = true
		case 'u':
			f.noBump = true
		case 'I':
			f.invalidate = true
		case 'x':
			f.drop = true
		case 'O':
			f.common.Opaque, good = []byte(arg), true
		case 'P':
			f.common.ProxyP, good = arg, arg != ""
		case 'L':
			f.common.ProxyL, good = arg, arg != ""
		case 'M':
			f.mode, good = arg, len(arg) == 1
		case 'T':
			f.ttl, good = f.signed(meta.ArgTTL, arg)
		case 'N':
			f.vivify, good = f.signed(meta.ArgVivify, arg)
		case 'R':
			f.recache, good = f.signed(meta.ArgRecache, arg)
		case 'C':
			f.cas, good = f.unsigned(meta.ArgCAS, arg)
		case 'E':
			f.newCAS, good = f.unsigned(meta.ArgNewCAS, arg)
		case 'D':
			f.delta, good = f.unsigned(meta.ArgDelta, arg)
		case 'J':
			f.initial, good = f.unsigned(meta.ArgInitial, arg)
		case 'F':
			f.flags, good = f.unsigned(0, arg)
			good = good && f.flags <= 1<<32-1 && f.flags != 0
		default:
			field, known := metaFields[letter]
			f.want |= field
			good = good && known
		}
		if !good {
			return f, false
		}
	}
	// t, R, N and T act from left to right.
	order := strings.Map(func(r rune) rune {
		if strings.ContainsRune("tRNT", r) {
			return r
		}
		return -1
	}, seen)
	builders := strings.TrimLeft(order, "t")
	f.ttlLast = len(order) > 1 && strings.HasSuffix(order, "t")
	builders = strings.TrimRight(builders, "t")
	return f, strings.Contains("RNT RN RT NT R N T ", builders+" ")
}

func (f *metaFlags) signed(arg meta.Args, s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	f.args |= arg
	return int32(n), err == nil && strconv.FormatInt(n, 10) == s
}

func (f *metaFlags) unsigned(arg meta.Args, s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	f.args |= arg
	return n, err == nil && strconv.FormatUint(n, 10) == s
}

func rebuildMeta(tokens []string, value []byte) []byte {
	if tokens[0] == "mn" && len(tokens) == 1 {
		return meta.AppendNoop(nil)
	}
	flagsAt := 2
	if tokens[0] == "ms" {
		flagsAt = 3
	}
	if len(tokens) < flagsAt {
		return nil
	}
	if tokens[0] == "me" {
		r := meta.DebugRequest{Key: tokens[1], Base64: len(tokens) > 2 && tokens[2] == "b"}
		if len(tokens) > 2 && !r.Base64 || !decode(&r.Key, r.Base64) {
			return nil
		}
		return expressed(meta.AppendDebug(nil, &r))
	}
	f, ok := readFlags(tokens[flagsAt:])
	f.common.Key = tokens[1]
	if !ok || !decode(&f.common.Key, f.common.Base64) {
		return nil
	}
	switch tokens[0] {
	case "mg":
		if f.mode != "" || f.invalidate || f.drop || f.flags != 0 {
			return nil
		}
		return expressed(meta.AppendGet(nil, &meta.GetRequest{
			Common: f.common, Want: f.want, Args: f.args, TTL: f.ttl, Vivify: f.vivify, Recache: f.recache,
			CAS: f.cas, NewCAS: f.newCAS, TTLLast: f.ttlLast, NoBump: f.noBump,
		}))
	case "ms":
		mode, known := map[string]meta.SetMode{"": meta.Set, "E": meta.Add, "R": meta.Replace, "A": meta.Append, "P": meta.Prepend}[f.mode]
		if !known || f.noBump || f.drop || f.args&meta.ArgTTL != 0 && f.ttl == 0 {
			return nil
		}
		return expressed(meta.AppendSet(nil, &meta.SetRequest{
			Common: f.common, Value: value, Mode: mode, Want: f.want, Args: f.args &^ meta.ArgTTL, ClientFlags: uint32(f.flags),
			TTL: f.ttl, Vivify: f.vivify, CAS: f.cas, NewCAS: f.newCAS, Invalidate: f.invalidate,
		}))
	case "md":
		if f.mode != "" || f.noBump || f.flags != 0 {
			return nil
		}
		return expressed(meta.AppendDelete(nil, &meta.DeleteRequest{
			Common: f.common, Want: f.want, Args: f.args, TTL: f.ttl, CAS: f.cas, NewCAS: f.newCAS,
			Invalidate: f.invalidate, DropValue: f.drop,
		}))
	case "ma":
		if !slices.Contains([]string{"", "I", "+", "D", "-"}, f.mode) || f.noBump || f.invalidate || f.drop || f.flags != 0 {
			return nil
		}
		return expressed(meta.AppendArithmetic(nil, &meta.ArithmeticRequest{
			Common: f.common, Want: f.want, Args: f.args, Decrement: f.mode == "D" || f.mode == "-", Delta: f.delta,
			Initial: f.initial, TTL: f.ttl, Vivify: f.vivify, CAS: f.cas, NewCAS: f.newCAS, TTLLast: f.ttlLast,
		}))
	}
	return nil
}

func rebuildClassic(tokens []string, value []byte) []byte {
	name, args := tokens[0], tokens[1:]
	noReply := len(args) > 0 && args[len(args)-1] == "noreply"
	if noReply {
		args = args[:len(args)-1]
	}
	good := true
	signed := func(i int) int32 {
		n, err := strconv.ParseInt(args[i], 10, 32)
		good = good && err == nil && strconv.FormatInt(n, 10) == args[i]
		return int32(n)
	}
	unsigned := func(i, size int) uint64 {
		n, err := strconv.ParseUint(args[i], 10, size)
		good = good && err == nil && strconv.FormatUint(n, 10) == args[i]
		return n
	}
	var got []byte
	mode := slices.Index([]string{"set", "add", "replace", "append", "prepend", "cas"}, name)
	switch {
	case mode >= 0 && (len(args) == 4 && name != "cas" || len(args) == 5 && name == "cas"):
		r := classic.StoreRequest{
			Key: args[0], Value: value, Mode: classic.StoreMode(mode), ClientFlags: uint32(unsigned(1, 32)), Expiration: signed(2), NoReply: noReply,
		}
		if name == "cas" {
			r.CAS = unsigned(4, 64)
		}
		got = expressed(classic.AppendStore(nil, &r))
	case noReply && (name == "get" || name == "gets" || name == "stats" || name == "version"):
	case name == "get":
		got = expressed(classic.AppendGet(nil, args...))
	case name == "gets":
		got = expressed(classic.AppendGets(nil, args...))
	case name == "gat" && len(args) > 0 && !noReply:
		got = expressed(classic.AppendGetAndTouch(nil, signed(0), args[1:]...))
	case name == "gats" && len(args) > 0 && !noReply:
		got = expressed(classic.AppendGetsAndTouch(nil, signed(0), args[1:]...))
	case name == "delete" && len(args) == 1:
		got = expressed(classic.AppendDelete(nil, &classic.DeleteRequest{Key: args[0], NoReply: noReply}))
	case (name == "incr" || name == "decr") && len(args) == 2:
		got = expressed(classic.AppendArithmetic(nil, &classic.ArithmeticRequest{
			Key: args[0], Delta: unsigned(1, 64), Decrement: name == "decr", NoReply: noReply,
		}))
	case name == "touch" && len(args) == 2:
		got = expressed(classic.AppendTouch(nil, &classic.TouchRequest{Key: args[0], Expiration: signed(1), NoReply: noReply}))
	case name == "flush_all" && len(args) == 0:
		got = classic.AppendFlushAll(nil, &classic.FlushAllRequest{NoReply: noReply})
	case name == "flush_all" && len(args) == 1 && args[0] != "0":
		got = classic.AppendFlushAll(nil, &classic.FlushAllRequest{Delay: uint32(unsigned(0, 32)), NoReply: noReply})
	case name == "verbosity" && len(args) == 1:
		got = classic.AppendVerbosity(nil, &classic.VerbosityRequest{Level: uint32(unsigned(0, 32)), NoReply: noReply})
	case name == "version" && len(args) == 0:
		got = classic.AppendVersion(nil)
	case name == "quit" && len(args) == 0 && !noReply:
		got = classic.AppendQuit(nil)
	case name == "stats":
		got = expressed(classic.AppendStats(nil, strings.Join(args, " ")))
	}
	if !good {
		return nil
	}
	return got
}

// decode puts the raw bytes of a base64 key in the place of the text.
func decode(key *string, encoded bool) bool {
	if !encoded {
		return true
	}
	raw, err := base64.StdEncoding.DecodeString(*key)
	*key = string(raw)
	return err == nil
}

func expressed(b []byte, err error) []byte {
	if err != nil {
		return nil
	}
	return b
}
