module github.com/vaquero-cache/memcache/integration

go 1.25.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/vaquero-cache/memcache v0.0.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/vaquero-cache/memcache => ../
