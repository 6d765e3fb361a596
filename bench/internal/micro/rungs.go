package micro

// What a GET consists of before and after the wire, each part alone.

import (
	"errors"
	"fmt"

	"github.com/vaquero-cache/memcache/meta"
	"github.com/vaquero-cache/memcache/ring"
)

var errRung = errors.New("not what it should be")

// The rungs.
const (
	RungParse = "parse"
	RungRoute = "hash + ring"
	RungBuild = "encode"
)

// Rungs returns them as one row: as many keys as there are in a GET of each, one.
func Rungs() (Row, error) {
	const reply = "VA 100 f0 c7654321 O1a\r\n"
	line, parsed := []byte(reply), new(meta.Reply)
	keys := ringKeys(repeat, 20)
	r, err := ring.New(ring.Default, equalServers(16)...)
	if err != nil {
		return Row{}, err
	}
	want := picks(r, keys)
	get := &meta.GetRequest{
		Common: meta.Common{Key: keys[0], Opaque: []byte("1a")},
		Want:   meta.FieldValue | meta.FieldClientFlags | meta.FieldCAS,
	}
	plain := fmt.Appendf(nil, "mg %s v f c O1a\r\n", keys[0])
	buf := make([]byte, 0, 2*len(plain))
	return Row{Name: "rungs", Items: repeat, Contenders: []*Contender{
		{Name: RungParse, work: func() error {
			for range repeat {
				if _, err := meta.Parse(line, parsed); err != nil {
					return err
				}
			}
			return nil
		}, check: func() error {
			if parsed.Size != 100 || parsed.CAS != 7654321 || string(parsed.Opaque()) != "1a" {
				return errRung
			}
			*parsed = meta.Reply{}
			return nil
		}},
		placer(RungRoute, keys, want, r.Pick),
		{Name: RungBuild, work: func() (err error) {
			for range repeat {
				if buf, err = meta.AppendGet(buf[:0], get); err != nil {
					return err
				}
			}
			return nil
		}, check: func() error {
			if len(buf) != len(plain) {
				return fmt.Errorf("%q: %w", buf, errRung)
			}
			buf = buf[:0]
			return nil
		}},
	}}, nil
}
