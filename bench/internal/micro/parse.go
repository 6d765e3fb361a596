package micro

// Reading reply headers, against parsers that split the line first.

import (
	"bytes"
	stdbinary "encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vaquero-cache/memcache/binary"
	"github.com/vaquero-cache/memcache/classic"
	"github.com/vaquero-cache/memcache/meta"
)

// header is what all parsers have to find in a line.
type header struct {
	size        int
	flags       uint32
	cas         uint64
	opaque, key string
	length      int
}

// repeat is how often a line is parsed in a call.
const repeat = 1000

var errParse = errors.New("not parsed")

func parseRows() ([]Row, error) {
	rows := []Row{
		metaRow("VA 100 f0 O12 s100 kkey:123\r\n", header{size: 100, opaque: "12", key: "key:123"}),
		metaRow("VA 100 f0 c7654321 O12\r\n", header{size: 100, cas: 7654321, opaque: "12"}),
		metaRow("VA 100 f0 O12\r\n", header{size: 100, opaque: "12"}),
		metaRow("VA 100\r\n", header{size: 100}),
	}
	for _, line := range []string{"VALUE key:123 0 100\r\n", "VALUE key:123 0 100 7654321\r\n"} {
		want := header{size: 100, key: "key:123"}
		if strings.Count(line, " ") > 3 {
			want.cas = 7654321
		}
		rows = append(rows, classicRow(line, want))
	}
	return append(rows, binaryRow()), nil
}

// parser makes a Contender of parse, which must find want in line each time.
func parser(name, line string, want header, parse func(line []byte, h *header) error) *Contender {
	b, got := []byte(line), new(header)
	want.length = len(line)
	return &Contender{
		Name: name,
		work: func() error {
			for range repeat {
				if err := parse(b, got); err != nil {
					return err
				}
			}
			return nil
		},
		check: func() error {
			if *got != want {
				return fmt.Errorf("%q: got %+v, want %+v", line, *got, want)
			}
			*got = header{}
			return nil
		},
	}
}

// ours makes a Contender of a parser that leaves a reply in place. Only the last
// reply is turned into a header, so that nothing but the parser is measured.
func ours[R any](line string, want header, parse func([]byte, *R) (int, error), read func(*R) header) *Contender {
	b, reply := []byte(line), new(R)
	want.length = len(line)
	n := 0
	return &Contender{
		Name: Ours,
		work: func() (err error) {
			for range repeat {
				if n, err = parse(b, reply); err != nil {
					return err
				}
			}
			return nil
		},
		check: func() error {
			got := read(reply)
			if got.length = n; got != want {
				return fmt.Errorf("%q: got %+v, want %+v", line, got, want)
			}
			*reply = *new(R)
			return nil
		},
	}
}

func metaRow(line string, want header) Row {
	return Row{
		Name: fmt.Sprintf("parse `%s`", strings.TrimSpace(line)), Items: repeat,
		Contenders: []*Contender{
			ours(line, want, meta.Parse, func(r *meta.Reply) header {
				return header{size: r.Size, flags: r.ClientFlags, cas: r.CAS, opaque: string(r.Opaque()), key: string(r.Key())}
			}),
			parser("bytes.Fields", line, want, metaByFields),
			parser("strings.Split", line, want, metaBySplit),
		},
	}
}

func metaByFields(line []byte, h *header) error {
	end := bytes.IndexByte(line, '\n')
	fields := bytes.Fields(line[:end])
	if len(fields) < 2 || string(fields[0]) != "VA" {
		return errParse
	}
	var err error
	if h.size, err = strconv.Atoi(string(fields[1])); err != nil {
		return err
	}
	for _, f := range fields[2:] {
		if err := h.flag(f[0], string(f[1:])); err != nil {
			return err
		}
	}
	h.length = end + 1
	return nil
}

func metaBySplit(line []byte, h *header) error {
	text, _, _ := strings.Cut(string(line), "\n")
	fields := strings.Split(strings.TrimSuffix(text, "\r"), " ")
	if len(fields) < 2 || fields[0] != "VA" {
		return errParse
	}
	var err error
	if h.size, err = strconv.Atoi(fields[1]); err != nil {
		return err
	}
	for _, f := range fields[2:] {
		if err := h.flag(f[0], f[1:]); err != nil {
			return err
		}
	}
	h.length = len(text) + 1
	return nil
}

// flag takes what a flag of a meta reply says.
func (h *header) flag(letter byte, argument string) error {
	switch letter {
	case 'f':
		n, err := strconv.ParseUint(argument, 10, 32)
		h.flags = uint32(n)
		return err
	case 'c':
		n, err := strconv.ParseUint(argument, 10, 64)
		h.cas = n
		return err
	case 'O':
		h.opaque = argument
	case 'k':
		h.key = argument
	}
	return nil
}

func classicRow(line string, want header) Row {
	return Row{
		Name: fmt.Sprintf("parse `%s`", strings.TrimSpace(line)), Items: repeat,
		Contenders: []*Contender{
			ours(line, want, classic.Parse, func(r *classic.Reply) header {
				return header{size: r.Size, flags: r.ClientFlags, cas: r.CAS, key: string(r.Key())}
			}),
			parser("bytes.Fields", line, want, classicByFields),
			parser("fmt.Sscanf", line, want, classicByScan),
		},
	}
}

func classicByFields(line []byte, h *header) error {
	end := bytes.IndexByte(line, '\n')
	fields := bytes.Fields(line[:end])
	if len(fields) < 4 || string(fields[0]) != "VALUE" {
		return errParse
	}
	h.key = string(fields[1])
	flags, err := strconv.ParseUint(string(fields[2]), 10, 32)
	if err != nil {
		return err
	}
	h.flags = uint32(flags)
	if h.size, err = strconv.Atoi(string(fields[3])); err != nil {
		return err
	}
	if len(fields) > 4 {
		if h.cas, err = strconv.ParseUint(string(fields[4]), 10, 64); err != nil {
			return err
		}
	}
	h.length = end + 1
	return nil
}

// classicByScan is how early clients did it.
func classicByScan(line []byte, h *header) error {
	pattern, into := "VALUE %s %d %d %d\r\n", []any{&h.key, &h.flags, &h.size, &h.cas}
	if bytes.Count(line, []byte(" ")) == 3 {
		pattern, into = "VALUE %s %d %d\r\n", into[:3]
	}
	if _, err := fmt.Sscanf(string(line), pattern, into...); err != nil {
		return err
	}
	h.length = len(line)
	return nil
}

// binaryRow parses the header of a hit: 4 bytes of flags and 100 of value follow.
func binaryRow() Row {
	reply := []byte{23: 0}
	reply[0], reply[1], reply[4] = 0x81, byte(binary.OpGet), 4
	stdbinary.BigEndian.PutUint32(reply[8:], 4+100)
	stdbinary.BigEndian.PutUint64(reply[16:], 7654321)
	line, want := string(reply), header{size: 100, cas: 7654321}
	return Row{
		Name: "parse a binary header", Items: repeat,
		Contenders: []*Contender{
			ours(line, want, binary.ParseHeader, func(h *binary.Header) header {
				return header{size: h.ValueLen(), cas: h.CAS}
			}),
			parser("binary.Read", line, want, binaryByReflection),
		},
	}
}

// binaryByReflection is the short way to read a struct.
func binaryByReflection(b []byte, h *header) error {
	var fields struct {
		Magic, Opcode       uint8
		KeyLen              uint16
		ExtrasLen, DataType uint8
		Status              uint16
		BodyLen, Opaque     uint32
		CAS                 uint64
	}
	if err := stdbinary.Read(bytes.NewReader(b), stdbinary.BigEndian, &fields); err != nil {
		return err
	}
	if fields.Magic != 0x81 {
		return errParse
	}
	h.size = int(fields.BodyLen) - int(fields.KeyLen) - int(fields.ExtrasLen)
	h.cas, h.length = fields.CAS, 24
	return nil
}
