package micro

// Writing requests, against package fmt.

import (
	"fmt"

	"github.com/vaquero-cache/memcache/classic"
	"github.com/vaquero-cache/memcache/meta"
)

func buildRows() ([]Row, error) {
	get := &meta.GetRequest{
		Common: meta.Common{Key: "user:12345:profile", Opaque: []byte("1a")},
		Want:   meta.FieldValue | meta.FieldClientFlags | meta.FieldCAS,
	}
	value := make([]byte, 100)
	set := &meta.SetRequest{Common: meta.Common{Key: get.Key, Opaque: get.Opaque}, Value: value}
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d:profile", i)
	}
	return []Row{
		buildRow("build mg", 1,
			func(dst []byte) ([]byte, error) { return meta.AppendGet(dst, get) },
			func(dst []byte) []byte { return fmt.Appendf(dst, "mg %s O%s c f v\r\n", get.Key, get.Opaque) }),
		buildRow("build ms, 100 bytes", 1,
			func(dst []byte) ([]byte, error) { return meta.AppendSet(dst, set) },
			func(dst []byte) []byte {
				return fmt.Appendf(dst, "ms %s %d O%s\r\n%s\r\n", set.Key, len(value), set.Opaque, value)
			}),
		buildRow("build gets of 100 keys, per key", len(keys),
			func(dst []byte) ([]byte, error) { return classic.AppendGets(dst, keys...) },
			func(dst []byte) []byte {
				dst = append(dst, "gets"...)
				for _, key := range keys {
					dst = fmt.Appendf(dst, " %s", key)
				}
				return append(dst, "\r\n"...)
			}),
	}, nil
}

// buildRow compares two ways to append a request; both must make as many bytes.
func buildRow(name string, items int, ours func([]byte) ([]byte, error), plain func([]byte) []byte) Row {
	want := len(plain(nil))
	contender := func(name string, build func([]byte) ([]byte, error)) *Contender {
		buf := make([]byte, 0, 2*want)
		return &Contender{
			Name: name,
			work: func() (err error) {
				for range repeat / items {
					if buf, err = build(buf[:0]); err != nil {
						return err
					}
				}
				return nil
			},
			check: func() error {
				if len(buf) != want {
					return fmt.Errorf("%q has %d bytes, want %d", buf, len(buf), want)
				}
				buf = buf[:0]
				return nil
			},
		}
	}
	return Row{Name: name, Items: repeat / items * items, Contenders: []*Contender{
		contender(Ours, ours),
		contender("fmt.Appendf", func(dst []byte) ([]byte, error) { return plain(dst), nil }),
	}}
}
