#!/bin/sh
# module-hash.sh REVISION - the hash that go.sum and the checksum database have, or
# will have, for this module at a revision of this repository: of a tag before it is
# pushed, or of any commit. Nothing is fetched but from the folder that this is in.
set -eu
module=github.com/vaquero-cache/memcache
repository=$(cd "$(dirname "$0")/.." && git rev-parse --path-format=absolute --git-common-dir)
cache=$(mktemp -d)
trap 'chmod -R u+w "$cache" && rm -rf "$cache"' EXIT
cd "$cache"
GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=url."file://$repository".insteadOf GIT_CONFIG_VALUE_0=https://$module \
	GIT_CONFIG_KEY_1=safe.directory GIT_CONFIG_VALUE_1='*' \
	GOMODCACHE=$cache GOPROXY=direct GONOSUMDB=$module GOFLAGS=-mod=mod \
	go mod download -json "$module@$1" >answer || { cat answer; exit 1; }
grep -E '"(Version|Sum|GoModSum|Hash)"' answer
