#!/bin/sh
# setup-memcached.sh - have real memcached servers for the tests, as far as this
# machine allows. It never fails: what is missing is said here, and the tests that
# need it say so again when they are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${MEMCACHED_VERSIONS_DIR:-.cache/memcached}
mkdir -p .cache

say() { printf 'setup: %s\n' "$*"; }

# The system's package manager, only where that is apt and needs no password.
packages="memcached libmemcached-tools nutcracker sasl2-bin libsasl2-modules iproute2 iptables"
if ! command -v memcached >/dev/null || ! command -v memccapable >/dev/null || ! command -v nutcracker >/dev/null ||
	! command -v saslpasswd2 >/dev/null || ! command -v ip >/dev/null || ! command -v iptables >/dev/null; then
	if ! command -v apt-get >/dev/null; then
		say "not all of these are here, and there is no apt-get: please install $packages"
	elif [ "$(id -u)" != 0 ]; then
		say "not all that the tests use is here: as root, apt-get install $packages"
	else
		say "installing $packages"
		if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
			-o DPkg::Lock::Timeout=60 $packages; } >.cache/apt.log 2>&1 </dev/null; then
			say "apt-get failed; its log is .cache/apt.log"
		fi
	fi
fi

# Other versions, beside the system's own.
list=$(sh tools/memcached-versions.sh "$dir" 2>.cache/versions.log) ||
	say "not every memcached version could be had; why is in .cache/versions.log"
if [ -n "$list" ]; then
	printf '%s\n' "$list" | while IFS="$(printf '\t')" read -r version suite path; do
		say "memcached $version ($suite) $path"
	done
else
	say "no memcached here: tests against a real server will be skipped"
fi
