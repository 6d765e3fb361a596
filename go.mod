module github.com/vaquero-cache/memcache

go 1.25.0
