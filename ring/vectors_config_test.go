package ring

// From a vector file's peer and configuration text to the placement it calls
// for. Nothing here looks at file or set names.

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// peerConfig is what a vector file's configuration means to this package.
type peerConfig struct {
	placement   Placement
	weighted    bool // the peer was given the weights of the case
	named       bool // the peer was given the texts of the case as names
	hashOfWhole bool // hashes in the file are of keys before any filter
}

var hashesByName = map[string]Hash{
	"default": HashOneAtATime, "one_at_a_time": HashOneAtATime, "md5": HashMD5, "crc": HashCRC, "crc32": HashCRC,
	"crc32a": HashCRC32a, "crc16": HashCRC16, "fnv1_64": HashFNV64, "fnv1a_64": HashFNV64a,
	"fnv1_32": HashFNV32, "fnv1a_32": HashFNV32a, "hsieh": HashHsieh, "murmur": HashMurmur,
	"murmur3": HashMurmur3, "jenkins": HashJenkins,
	"ketama_hash": HashMD5, "native_hash": HashNative, "crc_hash": HashCRC, "fnv1_64_hash": HashFNV64,
	"fnv1a_64_hash": HashFNV64a, "fnv1_32_hash": HashFNV32, "fnv1a_32_hash": HashFNV32a,
}

func hashNamed(t *testing.T, name string) Hash {
	t.Helper()
	h, ok := hashesByName[strings.ToLower(name)]
	require.True(t, ok, "hash %q", name)
	return h
}

// submatch returns the groups of pattern in text, or nil.
func submatch(pattern, text string) []string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return m[1:]
}

func placementOf(t *testing.T, file *vectorFile, c *vectorCase) peerConfig {
	t.Helper()
	config := file.Config
	switch file.Peer {
	case "gomemcache":
		return peerConfig{placement: Gomemcache, weighted: strings.Contains(config, "repeated weight times")}
	case "pior/memcache":
		return peerConfig{placement: Pior}
	case "grafana dskit":
		return peerConfig{placement: Dskit}
	case "aliexpressru/gomemcached":
		return peerConfig{placement: AliExpress}
	case "dalli":
		return peerConfig{placement: Dalli, weighted: true}
	case "pymemcache":
		if strings.Contains(config, "keys passed as bytes") {
			return peerConfig{placement: PymemcacheBytes}
		}
		require.Contains(t, config, "keys passed as str")
		return peerConfig{placement: PymemcacheStr}
	case "mcrouter":
		return mcrouterConfig(t, config)
	case "twemproxy":
		return twemproxyConfig(t, config)
	case "libmemcached":
		return peerConfig{placement: libmemcachedConfig(t, config), weighted: true}
	case "pylibmc":
		return peerConfig{placement: pylibmcConfig(t, config), weighted: true}
	case "php-memcached":
		return phpConfig(t, config)
	case "spymemcached":
		return spymemcachedConfig(t, config, c)
	case "memcached proxy":
		return peerConfig{placement: proxyConfig(t, config).Seed(c.Seed)}
	}
	require.FailNow(t, "unknown peer", "%s", file.Peer)
	return peerConfig{}
}

// mcrouterConfig: the files hash whole keys, without mcrouter's routing rule.
func mcrouterConfig(t *testing.T, config string) peerConfig {
	t.Helper()
	kind := submatch(`^(\w+)`, config)
	require.NotNil(t, kind, config)
	found := map[string]peerConfig{
		"Ch3":                {placement: McrouterCh3},
		"Crc32":              {placement: McrouterCRC32},
		"WeightedCh3":        {placement: McrouterWeightedCh3, weighted: true},
		"Rendezvous":         {placement: McrouterRendezvous},
		"WeightedRendezvous": {placement: McrouterWeightedRendezvous, weighted: true},
	}
	how, ok := found[kind[0]]
	require.True(t, ok, config)
	require.Contains(t, config, "the whole key is hashed")
	how.placement.filter = filter{}
	return how
}

func twemproxyConfig(t *testing.T, config string) peerConfig {
	t.Helper()
	m := submatch(`^distribution: (\w+), hash: (\w+)(?:, hash_tag: (\S\S))?`, config)
	require.NotNil(t, m, config)
	how := peerConfig{weighted: true, hashOfWhole: true, named: strings.Contains(config, "explicit server names")}
	switch m[0] {
	case "ketama":
		how.placement = TwemproxyKetama(hashNamed(t, m[1]))
	case "modula":
		how.placement = TwemproxyModula(hashNamed(t, m[1]))
	default:
		require.FailNow(t, "unknown distribution", "%s", config)
	}
	if m[2] != "" {
		how.placement = how.placement.HashTag(m[2])
	}
	return how
}

func libmemcachedConfig(t *testing.T, config string) Placement {
	t.Helper()
	hash := HashOneAtATime
	weighted := strings.Contains(config, "KETAMA_WEIGHTED=1")
	if m := submatch(`HASH=(?:MEMCACHED_HASH_)?(\w+)`, config); m != nil {
		hash = hashNamed(t, m[0])
	} else if weighted {
		hash = HashMD5
	}
	switch {
	case weighted && strings.Contains(config, "CONSISTENT_KETAMA_SPY"):
		return LibmemcachedKetamaSpyWeighted(hash)
	case strings.Contains(config, "CONSISTENT_KETAMA_SPY"):
		return LibmemcachedKetamaSpy(hash)
	case weighted, strings.Contains(config, "DISTRIBUTION_CONSISTENT_WEIGHTED"):
		return LibmemcachedKetamaWeighted(hash)
	case strings.Contains(config, "BEHAVIOR_KETAMA=1"), strings.Contains(config, "DISTRIBUTION_CONSISTENT"):
		return LibmemcachedKetama(hash)
	case strings.Contains(config, "SORT_HOSTS=1"):
		return LibmemcachedSortedModula(hash)
	}
	require.Contains(t, config, "distribution modula")
	return LibmemcachedModula(hash)
}

func pylibmcConfig(t *testing.T, config string) Placement {
	t.Helper()
	_, text, _ := strings.Cut(config, "-> ")
	var behaviors struct {
		Distribution   string `json:"distribution"`
		Hash           string `json:"hash"`
		Ketama         int    `json:"ketama"`
		KetamaWeighted int    `json:"ketama_weighted"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &behaviors))
	hash := hashNamed(t, behaviors.Hash)
	switch behaviors.Distribution {
	case "modula":
		return PylibmcModula(hash)
	case "consistent", "consistent ketama":
		return PylibmcKetama(hash)
	case "consistent weighted":
		return PylibmcKetamaWeighted(hash)
	}
	require.FailNow(t, "unknown distribution", "%s", config)
	return Placement{}
}

// phpConfig reads the numbers of libmemcached's enumerations.
func phpConfig(t *testing.T, config string) peerConfig {
	t.Helper()
	m := submatch(`DISTRIBUTION=(\d+) HASH=(\d+)`, config)
	require.NotNil(t, m, config)
	number, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	hash := []Hash{
		HashOneAtATime, HashMD5, HashCRC, HashFNV64, HashFNV64a, HashFNV32, HashFNV32a,
		HashHsieh, HashMurmur, HashJenkins, HashMurmur3,
	}[number]
	switch m[0] {
	case "0":
		return peerConfig{placement: PHPModula(hash), weighted: true}
	case "1", "2":
		after := strings.Contains(config, "set-after-servers")
		return peerConfig{placement: PHPConsistent(hash), weighted: !after}
	case "5":
		return peerConfig{placement: PHPLibketama(hash), weighted: true}
	}
	require.FailNow(t, "unknown distribution", "%s", config)
	return peerConfig{}
}

func spymemcachedConfig(t *testing.T, config string, c *vectorCase) peerConfig {
	t.Helper()
	if m := submatch(`arraymod-(\w+)`, config); m != nil {
		return peerConfig{placement: SpymemcachedArrayMod(hashNamed(t, m[0]))}
	}
	m := submatch(`ketama-(SPYMEMCACHED|LIBMEMCACHED)-(\w+)((?:-\w+)*)`, config)
	require.NotNil(t, m, config)
	hash := hashNamed(t, m[1])
	how := peerConfig{named: strings.Contains(m[2], "-resolved")}
	how.weighted = strings.Contains(m[2], "-weighted")
	if c.WeightsUsed != nil {
		how.weighted = *c.WeightsUsed
	}
	switch format := m[0]; {
	case format == "SPYMEMCACHED" && how.weighted:
		how.placement = SpymemcachedKetamaWeighted(hash)
	case format == "SPYMEMCACHED":
		how.placement = SpymemcachedKetama(hash)
	case how.weighted:
		how.placement = SpymemcachedLibmemcachedWeighted(hash)
	default:
		how.placement = SpymemcachedLibmemcached(hash)
	}
	return how
}

func proxyConfig(t *testing.T, config string) Placement {
	t.Helper()
	if strings.HasPrefix(config, "default pool") {
		return ProxyJump(HashXXH3)
	}
	if strings.HasPrefix(config, "jump") {
		p := ProxyJump(HashXXH3)
		if m := submatch(`filter='(\w+)', filter_conf='([^']*)'`, config); m != nil {
			filters := map[string]func(string) Placement{"stop": p.FilterStop, "tags": p.FilterTags}
			require.Contains(t, filters, m[0])
			p = filters[m[0]](m[1])
		}
		return p
	}
	m := submatch(`^dist_ring_hash, ring-(\w+)-(md5key|xxh3|xxh3key)((?:-\w+)*)$`, config)
	require.NotNil(t, m, config)
	modes := map[string]func(Hash) Placement{
		"default": ProxyRing, "ketama": ProxyRingKetama, "twemproxy": ProxyRingTwemproxy, "evcache": ProxyRingEVCache,
	}
	require.Contains(t, modes, m[0])
	hash := HashXXH3
	if m[1] == "md5key" {
		hash = HashMD5
	}
	p := modes[m[0]](hash)
	for _, option := range strings.Split(m[2], "-")[1:] {
		switch {
		case option == "seed": // the case holds it
		case option == "tags":
			p = p.FilterTags("{}")
		case option == "tagsdollar":
			p = p.FilterTags("$$")
		case option == "stop":
			p = p.FilterStop("|#|")
		default:
			count, ok := strings.CutPrefix(option, "obuckets")
			require.True(t, ok, config)
			n, err := strconv.Atoi(count)
			require.NoError(t, err)
			p = p.Buckets(n)
		}
	}
	return p
}
