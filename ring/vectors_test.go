package ring

// Vectors made by running the other clients: every key of every case must be
// placed, and every continuum built, as the peer did it. The files say how they
// were obtained; testdata/ring/README.md describes their form.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type vectorFile struct {
	Peer     string       `json:"peer"`
	Version  string       `json:"version"`
	Config   string       `json:"config"`
	Obtained string       `json:"obtained"`
	Keys     []vectorKey  `json:"keys"`
	Cases    []vectorCase `json:"cases"`
	Split    []struct {
		Key             string  `json:"key"`
		RoutingPrefix   *string `json:"routing_prefix"`
		RoutingKey      *string `json:"routing_key"`
		AfterRoutingKey *string `json:"after_routing_key"`
	} `json:"split"`
}

type vectorKey struct {
	Key    *string `json:"key"`
	KeyHex *string `json:"key_hex"`
	Hash   *uint64 `json:"hash"`
}

type vectorCase struct {
	Set     string `json:"set"`
	Servers []struct {
		Addr   string  `json:"addr"`
		Weight float64 `json:"weight"`
		Node   string  `json:"node"`
	} `json:"servers"`
	Points      *vectorPoints `json:"points"`
	ServerIndex []*int        `json:"server_index"`
	Dead        []int         `json:"dead"`
	Sequence    [][]int       `json:"sequence"`
	SortedOrder []int         `json:"sorted_order"`
	Seed        string        `json:"seed"`
	SeedHash    *uint64       `json:"seed_hash"`
	Via         string        `json:"via"`
	WeightsUsed *bool         `json:"weights_used"`
}

type vectorPoints struct {
	Count           int         `json:"count"`
	PerServer       []int       `json:"per_server"`
	DuplicateValues int         `json:"duplicate_values"`
	First           [][2]uint32 `json:"first"`
	Last            [][2]uint32 `json:"last"`
	SHA256          string      `json:"sha256"`
}

// vectorDir returns the folder of the ring vectors.
func vectorDir() string {
	if dir := os.Getenv("MEMCACHE_VECTORS"); dir != "" {
		return filepath.Join(dir, "ring")
	}
	return filepath.Join("testdata", "ring")
}

// tally counts what was checked.
type tally struct {
	files, cases, keys, points, skipped int
	placements                          map[Placement]bool
}

func TestVectors(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(vectorDir(), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, names, "no vectors in %s", vectorDir())
	sum := tally{placements: map[Placement]bool{}}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			var file vectorFile
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(&file))
			require.True(t, len(file.Split) > 0 || len(file.Cases) > 0, "nothing to check in the file")
			for _, split := range file.Split {
				assert.Equal(t, *split.RoutingKey, routingKey(split.Key), split.Key)
				assert.Equal(t, split.Key, *split.RoutingPrefix+*split.RoutingKey+*split.AfterRoutingKey)
			}
			sum.files++
			for _, c := range file.Cases {
				t.Run(c.Set, func(t *testing.T) { checkVectorCase(t, &file, &c, &sum) })
			}
		})
	}
	t.Logf("%d files, %d cases checked (%d keys, %d of them with point checksums), %d placements, %d skipped",
		sum.files, sum.cases, sum.keys, sum.points, len(sum.placements), sum.skipped)
}

func checkVectorCase(t *testing.T, file *vectorFile, c *vectorCase, sum *tally) {
	how := placementOf(t, file, c)
	servers := make([]Server, len(c.Servers))
	for i, s := range c.Servers {
		servers[i] = Server{Addr: s.Addr, Weight: s.Weight}
		if !how.weighted {
			servers[i].Weight = 1
		}
		if s.Node == "" {
			continue
		}
		label, err := how.placement.rules().label(s.Addr)
		switch {
		case how.named || errors.Is(err, ErrNoName):
			servers[i].Name = s.Node
		default:
			require.NoError(t, err)
			assert.Equal(t, s.Node, label, "text of %s", s.Addr)
		}
	}
	r := mustNew(t, how.placement, servers...)
	if c.SeedHash != nil {
		assert.Equal(t, *c.SeedHash, r.seed, "seed")
	}
	if c.Points != nil {
		checkVectorPoints(t, r, c.Points)
		sum.points++
	}
	if c.SortedOrder != nil {
		checkSortedOrder(t, r, c.SortedOrder)
	}
	require.Len(t, c.ServerIndex, len(file.Keys))
	for i, k := range file.Keys {
		key := k.text(t)
		if k.Hash != nil {
			hashed := key
			if !how.hashOfWhole {
				hashed = how.placement.filter.apply(key)
			}
			require.Equal(t, *k.Hash, how.placement.hash.sum(hashed, r.seed), "hash of %q", key)
		}
		if c.ServerIndex[i] == nil {
			assert.False(t, utf8.ValidString(key), "peer does not take key %q", key)
			continue
		}
		sum.keys++
		got := r.Pick(key)
		if c.Dead != nil {
			got = firstAlive(r, key, c.Dead)
		}
		require.Equal(t, *c.ServerIndex[i], got, "server of %q", key)
		require.Equal(t, r.Pick(key), r.PickBytes([]byte(key)))
		if c.Sequence != nil {
			require.Equal(t, c.Sequence[i], picksOf(r, key), "sequence of %q", key)
		}
	}
	sum.cases++
	sum.placements[how.placement] = true
}

func (k vectorKey) text(t *testing.T) string {
	t.Helper()
	if k.Key != nil {
		return *k.Key
	}
	require.NotNil(t, k.KeyHex)
	b, err := hex.DecodeString(*k.KeyHex)
	require.NoError(t, err)
	return string(b)
}

func firstAlive(r *Ring, key string, dead []int) int {
	for server := range r.Next(key) {
		if !slices.Contains(dead, server) {
			return server
		}
	}
	return -1
}

// picksOf returns spymemcached's picks, repetitions and all.
func picksOf(r *Ring, key string) []int {
	var picks []int
	hash := uint32(r.placement.hash.sum(key, 0))
	for pick := range spymemcachedPicks {
		picks = append(picks, r.lookUp(uint64(hash)))
		hash = r.repick(hash, pick, key)
	}
	return picks
}

func checkVectorPoints(t *testing.T, r *Ring, want *vectorPoints) {
	t.Helper()
	list := r.continuum.list()
	require.Len(t, list, want.Count)
	perServer := make([]int, r.Len())
	var plain [][2]uint32
	digest := sha256.New()
	duplicates := 0
	for i, p := range list {
		perServer[p.server()]++
		plain = append(plain, [2]uint32{p.value(), uint32(p.server())})
		_ = binary.Write(digest, binary.BigEndian, uint64(p))
		if i > 0 && list[i-1].value() == p.value() {
			duplicates++
		}
	}
	assert.Equal(t, want.PerServer, perServer)
	assert.Equal(t, want.DuplicateValues, duplicates)
	assert.Equal(t, want.First, plain[:len(want.First)])
	assert.Equal(t, want.Last, plain[len(plain)-len(want.Last):])
	assert.Equal(t, want.SHA256, hex.EncodeToString(digest.Sum(nil)))
}

// checkSortedOrder compares the peer's order of its list with ours.
func checkSortedOrder(t *testing.T, r *Ring, want []int) {
	t.Helper()
	rules := r.placement.rules()
	require.NotNil(t, rules.sort)
	var members []member
	for i, s := range r.servers {
		label := s.Name
		if label == "" {
			label, _ = rules.label(s.Addr)
		}
		members = append(members, member{index: i, label: label})
	}
	slices.SortStableFunc(members, rules.sort)
	var got []int
	for _, m := range members {
		got = append(got, m.index)
	}
	assert.Equal(t, want, got)
}
