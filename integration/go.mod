module github.com/vaquero-cache/memcache/integration

go 1.25.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/vaquero-cache/memcache v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

replace github.com/vaquero-cache/memcache => ../
