package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/vaquero-cache/memcache/bench/internal/child"
	"github.com/vaquero-cache/memcache/bench/internal/report"
	"github.com/vaquero-cache/memcache/bench/internal/table"
	"github.com/vaquero-cache/memcache/internal/realserver"
)

func TestMain(m *testing.M) {
	child.Serve(roles...)
	os.Exit(m.Run())
}

// TestTables runs each table in its smallest form. Nothing is said about how
// fast anything is: a test machine does other things too.
func TestTables(t *testing.T) {
	for _, table := range table.Tables {
		if table.Name == "counts" {
			continue // compiles the standard library; package counts tests it
		}
		t.Run(table.Name, func(t *testing.T) {
			if table.Name != "memory" && table.Name != "micro" {
				realserver.Start(t, realserver.Config{}).Close() // skips where there is none
			}
			raw := filepath.Join(t.TempDir(), "raw.json")
			args := append([]string{table.Name, "-rounds", "2", "-slice", "1ms", "-json", raw}, table.Smallest...)
			var out, progress strings.Builder
			err := vbench(t.Context(), args, &out, &progress)
			t.Log(progress.String())
			require.NoError(t, err)
			for _, has := range []string{"## " + table.Help, "go run ./cmd/vbench " + table.Name, "load average", "### "} {
				assert.Contains(t, out.String(), has)
			}
			assert.NotContains(t, out.String(), "NaN")

			var again strings.Builder
			require.NoError(t, vbench(t.Context(), []string{"show", raw}, &again, &progress))
			assert.Equal(t, out.String(), again.String(), "the report made of the raw rounds")
			again.Reset()
			require.NoError(t, vbench(t.Context(), []string{"show", "-brief", raw, raw}, &again, &progress))
			assert.Contains(t, again.String(), "### ")
			again.Reset()
			require.NoError(t, vbench(t.Context(), []string{"show", "-against", raw, raw}, &again, &progress))
			assert.Contains(t, again.String(), "## Change against "+raw)
			assert.NotContains(t, again.String(), "**", "nothing has changed")
			checkRounds(t, raw)
		})
	}
}

// checkRounds checks that every client took part in every round of every row.
func checkRounds(t *testing.T, raw string) {
	f, err := os.Open(raw)
	require.NoError(t, err)
	defer f.Close()
	r, err := report.Read(f)
	require.NoError(t, err)
	require.NotEmpty(t, r.Rows)
	for _, row := range r.Rows {
		assert.Empty(t, row.Error, row.Name)
		require.NotEmpty(t, row.Slices, row.Name)
		turns := 2 // -rounds
		if strings.HasPrefix(row.Name, "GET while all is well") {
			turns *= 25 // of which each is made
		}
		assert.Equal(t, turns*len(row.Clients), len(row.Slices), row.Name)
		for _, s := range row.Slices {
			assert.Contains(t, row.Clients, s.Client)
			assert.Positive(t, s.Ops, "%s: %s", row.Name, s.Client)
			if !r.Events {
				assert.Positive(t, s.P25, "%s: %s", row.Name, s.Client)
			}
		}
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	var out, progress strings.Builder
	raw := filepath.Join(dir, "micro-1.json")
	require.NoError(t, vbench(t.Context(), []string{"micro", "-smoke", "-json", raw}, &out, &progress))
	out.Reset()
	require.NoError(t, vbench(t.Context(), []string{"report", "-plots", filepath.Join(dir, "plots"), dir}, &out, &progress))
	for _, has := range []string{"## What stands", "parse a binary header, ns | at most 5", "## codec and ring alone"} {
		assert.Contains(t, out.String(), has)
	}
	out.Reset()
	require.NoError(t, vbench(t.Context(), []string{"report", "-against", dir, dir}, &out, &progress))
	assert.Contains(t, out.String(), "## Change against "+dir)
}

func TestProfile(t *testing.T) {
	realserver.Start(t, realserver.Config{}).Close() // skips where there is none
	var out, progress strings.Builder
	require.NoError(t, vbench(t.Context(), []string{"profile", "-servers", "2", "-time", "500ms"}, &out, &progress))
	assert.Contains(t, out.String(), "## Processor time of GetMulti, 2 × 100 keys, vaquero")
	assert.Contains(t, out.String(), "| write |")
}

func TestMistakes(t *testing.T) {
	for name, args := range map[string][]string{
		"no table":         nil,
		"unknown table":    {"what"},
		"unknown flag":     {"get", "-what"},
		"no rounds":        {"get", "-rounds", "0"},
		"an argument":      {"get", "set"},
		"no number":        {"get", "-servers", "1,x"},
		"unknown client":   {"getmulti", "-clients", "nobody"},
		"unknown op":       {"get", "-ops", "delete"},
		"too many keys":    {"getmulti", "-keys", "100000"},
		"unknown group":    {"micro", "-only", "what"},
		"nothing to show":  {"show", "-brief"},
		"file not there":   {"show", "/nowhere/raw.json"},
		"no such rate":     {"open", "-rates", "0"},
		"no such share":    {"getmulti", "-hits", "101"},
		"no such trip":     {"getmulti", "-trips", "soon"},
		"unknown way":      {"routing", "-ops", "touch"},
		"nothing older":    {"show", "-against", "/nowhere/raw.json", "/nowhere/raw.json"},
		"no folder":        {"report"},
		"no rounds there":  {"report", "/nowhere"},
		"nobody's time":    {"profile", "-client", "nobody"},
		"not our process":  {"profile", "-client", "dalli"},
		"nothing to write": {"micro", "-only", "build", "-rounds", "1", "-slice", "1ms", "-json", "/nowhere/raw.json"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, progress strings.Builder
			assert.Error(t, vbench(t.Context(), args, &out, &progress))
		})
	}
}
