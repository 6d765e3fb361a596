#!/bin/sh
# fuzz.sh BUDGET - run each fuzz target of the repository for BUDGET: a number of
# executions, such as 100000x, or a time, such as 10s. Before Go 1.27 a time may end
# in "context deadline exceeded" without any fault (go.dev/issue/75804).
# A target that exists is a target that runs: there is no list to forget.
set -eu
cd "$(dirname "$0")/.."
targets=0
for file in $(grep -rlE '^func Fuzz[A-Z_]' --include='*_test.go' --exclude-dir=.cache .); do
	for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "fuzz: ${file%/*} $name"
		go test -C "${file%/*}" -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 100x .
		targets=$((targets + 1))
	done
done
echo "fuzz: $targets targets, $1 each"
