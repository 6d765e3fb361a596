package table

// Codec and ring alone: operations of a few nanoseconds, no I/O.

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/vaquero-cache/memcache/bench/internal/micro"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/run"
)

type micros struct{ only words }

func newMicro(fs *flag.FlagSet) Work {
	var t micros
	var groups []string
	for _, g := range micro.Groups {
		groups = append(groups, g.Name)
	}
	t.only = groups
	fs.Var(&t.only, "only", "groups of rows, of "+strings.Join(groups, ", "))
	return t.work
}

func (t *micros) work(ctx context.Context, s *Session) error {
	s.Report.Small, s.Report.Floor = true, micro.HashAlone
	for _, name := range t.only {
		if !slices.ContainsFunc(micro.Groups, func(g micro.Group) bool { return g.Name == name }) {
			return fmt.Errorf("no group %q", name)
		}
	}
	s.Report.Ratios = []report.Ratio{{Figure: report.P25, Base: micro.Ours}}
	for _, group := range micro.Groups {
		if !slices.Contains(t.only, group.Name) {
			continue
		}
		rows, err := group.Rows()
		if err != nil {
			return err
		}
		for _, r := range rows {
			row := run.Row{Name: r.Name, Callers: 1, Items: r.Items}
			for _, c := range r.Contenders {
				row.Contenders = append(row.Contenders, run.Contender{
					Name:   c.Name,
					Caller: func(int) (run.Caller, error) { return c, nil },
				})
			}
			if err := s.measure(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}
