module github.com/vaquero-cache/memcache/bench

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/QuangTung97/go-memcache v0.3.5
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/google/pprof v0.0.0-20261105003125-4bf881d7fb0b
	github.com/grafana/gomemcache v0.0.0-20251127154401-74f93547077b
	github.com/rainycape/memcache v0.0.0-20150622160815-1031fa0ce2f2
	github.com/stretchr/testify v1.12.1
	github.com/vaquero-cache/memcache v0.0.0
)

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.32.0 // indirect
)

replace github.com/vaquero-cache/memcache => ../
